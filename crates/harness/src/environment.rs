//! The agent's environment: an allow-list plus what names its session.

use agent_box_session::{SessionName, env};

use crate::Surroundings;

/// The variables of one launch; the launcher adds the terminal's, the env file's and the launch
/// id.
pub(crate) fn of(
    surroundings: &Surroundings,
    name: &SessionName,
    conversation: &str,
) -> Vec<(String, String)> {
    let mut variables: Vec<(String, String)> = surroundings
        .inherited
        .iter()
        .filter(|(key, _)| {
            env::INHERITED.contains(&key.as_str()) || surroundings.inherit.contains(key)
        })
        .cloned()
        .collect();
    let home = surroundings.paths.home().to_string_lossy();
    let mut set = |key: &str, value: &str| {
        variables.retain(|(present, _)| present != key);
        variables.push((key.to_owned(), value.to_owned()));
    };
    set(env::HOME, &home);
    set(env::USER, &surroundings.user);
    set(env::LOGNAME, &surroundings.user);
    set(env::SHELL, &surroundings.shell.to_string_lossy());
    set(env::PATH, &surroundings.search_path.to_string_lossy());
    set(env::SESSION_ID, conversation);
    set(env::SESSION_NAME, name.as_str());
    // Under systemd nothing sets a locale, and programs then print `?` for wide characters.
    let locales = [env::LANG, env::LC_ALL, env::LC_CTYPE];
    if !variables.iter().any(|(key, _)| locales.contains(&key.as_str())) {
        variables.push((env::LANG.to_owned(), "C.UTF-8".to_owned()));
    }
    variables
}
