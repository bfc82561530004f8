//! What the agent printed last: kept for the post-mortem and searched for sign-in texts.

use agent_box_disk::{IoError, make_private_directory, parent, read, replace};
use agent_box_session::SessionId;
use agent_box_session::paths::Paths;
use agent_box_tmux_driver::{Server, SessionTarget, StartPolicy, Tmux, TmuxError, TmuxId};

use crate::place::TmuxVariable;

const LINES: u32 = 50;

/// The last lines on this pane; `None` outside tmux.
///
/// # Errors
/// When tmux cannot be asked or does not answer in time.
pub(crate) fn capture() -> Result<Option<String>, TmuxError> {
    let Some(pane) = TmuxVariable::own() else { return Ok(None) };
    let tmux = Tmux::new(Server {
        // The server's own program, wherever it is installed and even if it was replaced since.
        binary: format!("/proc/{}/exe", pane.server).into(),
        socket: pane.socket,
        start: StartPolicy::Never,
        environment: Vec::new(),
    });
    let id = TmuxId::new(&format!("${}", pane.session)).expect("BUG: `$` and digits are an id");
    tmux.capture(&SessionTarget::Id(id), LINES).map(Some)
}

/// Keeps the words for whoever asks later. Agents print secrets: nobody else reads them.
pub(crate) fn keep(paths: &Paths, session: SessionId, words: &str) -> Result<(), IoError> {
    let file = paths.last_words(session);
    make_private_directory(parent(&file))?;
    replace(&file, &paths.state(), words.as_bytes())
}

/// What was kept, if anything was.
pub(crate) fn kept(paths: &Paths, session: SessionId) -> Option<String> {
    // Some lines of one screen.
    let bytes = read(&paths.last_words(session), 1).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether the words hold one of the texts that mean: sign in again.
pub(crate) fn ask_to_sign_in(words: &str, hints: &[String]) -> bool {
    let words = words.to_lowercase();
    hints.iter().any(|hint| !hint.is_empty() && words.contains(&hint.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn a_pipe_in_the_place_of_the_last_words_holds_no_launcher_up() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::new(home.path(), home.path().join("socket"));
        let session = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
        let file = paths.last_words(session);
        make_private_directory(parent(&file)).unwrap();
        mknodat(CWD, &file, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(kept(&paths, session), None);
        keep(&paths, session, "all is lost").unwrap();
        assert_eq!(kept(&paths, session).as_deref(), Some("all is lost"));
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn sign_in_texts_are_found_in_any_case() {
        let hints = ["please run /login".to_owned(), String::new()];
        assert!(ask_to_sign_in("Error 401\nPlease run /LOGIN now", &hints));
        assert!(!ask_to_sign_in("all is well", &hints));
    }
}
