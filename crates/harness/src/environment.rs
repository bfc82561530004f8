//! The agent's environment: an allow-list plus what names its session.

use agent_box_session::{WebhookPaths, env};

use crate::{Request, Surroundings};

/// The variables of one launch; the launcher adds the terminal's, the env file's and the launch
/// id.
pub(crate) fn of(
    surroundings: &Surroundings,
    request: &Request<'_>,
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
    set(env::SESSION_NAME, request.name.as_str());
    if let Some(id) = request.entry.id {
        set(env::SESSION_UUID, &id.to_string());
    }
    // Its subscriptions, as older peers find them too; none of those may open a port of its own.
    set(env::WEBHOOK_SESSION, &WebhookPaths::session_key(&surroundings.user, request.name));
    set(env::WEBHOOK_STATE_DIR, &surroundings.webhook.state().to_string_lossy());
    set(env::WEBHOOK_PORT, "0");
    // Under systemd nothing sets a locale, and programs then print `?` for wide characters.
    let locales = [env::LANG, env::LC_ALL, env::LC_CTYPE];
    if !variables.iter().any(|(key, _)| locales.contains(&key.as_str())) {
        variables.push((env::LANG.to_owned(), "C.UTF-8".to_owned()));
    }
    variables
}
