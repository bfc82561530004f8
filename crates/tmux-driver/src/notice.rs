//! A line in the status line of whoever looks at a session.

use crate::command::Commands;
use crate::error::TmuxError;
use crate::server::Tmux;
use crate::target::SessionTarget;

/// How long it is shown, in milliseconds; a key press ends it earlier and still reaches the pane.
const SHOWN: &str = "10000";

impl Tmux {
    /// Shows `text` to every client of the session and returns how many there were.
    ///
    /// The text is a format, and `#()` in it runs a command, so it must never hold text from
    /// elsewhere. Nothing reaches the pane.
    ///
    /// # Errors
    /// When the session is gone or the call fails. A client that left meanwhile is no error.
    pub fn notice(&self, target: &SessionTarget, text: &'static str) -> Result<usize, TmuxError> {
        let mut commands = Commands::new("list-clients");
        commands.args(target.session()).args(["-F", "#{client_name}"]);
        let answer = self.call(&commands)?;
        let mut shown = 0;
        for client in String::from_utf8_lossy(&answer).lines() {
            let mut commands = Commands::new("display-message");
            commands.args(["-c", client, "-d", SHOWN, text]);
            if self.call(&commands).is_ok() {
                shown += 1;
            }
        }
        Ok(shown)
    }
}
