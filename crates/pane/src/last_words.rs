//! What the agent printed last: kept for the post-mortem and searched for sign-in texts.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

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

/// Keeps the words for whoever asks later.
pub(crate) fn keep(file: &Path, words: &str) -> io::Result<()> {
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut options = OpenOptions::new();
    // Agents print secrets; nobody else reads them.
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(file)?;
    file.write_all(words.as_bytes())
}

/// Whether the words hold one of the texts that mean: sign in again.
pub(crate) fn ask_to_sign_in(words: &str, hints: &[String]) -> bool {
    let words = words.to_lowercase();
    hints.iter().any(|hint| !hint.is_empty() && words.contains(&hint.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_in_texts_are_found_in_any_case() {
        let hints = ["please run /login".to_owned(), String::new()];
        assert!(ask_to_sign_in("Error 401\nPlease run /LOGIN now", &hints));
        assert!(!ask_to_sign_in("all is well", &hints));
    }
}
