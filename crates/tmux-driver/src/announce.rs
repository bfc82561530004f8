//! A line for everybody who looks at any session.

use crate::command::Commands;
use crate::error::TmuxError;
use crate::server::Tmux;

impl Tmux {
    /// Shows one line to every client of the server until its person presses a key, and returns
    /// how many there were. The text is shown as it is; control characters become blanks. Nothing
    /// reaches a pane.
    ///
    /// # Errors
    /// When no server answers. A client that left meanwhile is no error.
    pub fn announce(&self, text: &str) -> Result<usize, TmuxError> {
        let mut commands = Commands::new("list-clients");
        commands.args(["-F", "#{client_name}"]);
        let answer = self.call(&commands)?;
        let mut shown = 0;
        for client in String::from_utf8_lossy(&answer).lines() {
            let mut commands = Commands::new("display-message");
            commands.args(["-c", client, "-d", "0", "--", &literal(text)]);
            if self.call(&commands).is_ok() {
                shown += 1;
            }
        }
        Ok(shown)
    }
}

/// The format that expands to this text: tmux takes `%` for a time and `#` for a format, in which
/// `#()` runs a command (`an_announcement_is_shown_as_it_is_and_runs_nothing`).
fn literal(text: &str) -> String {
    let mut format = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '#' | '%' => format.extend([c, c]),
            c if c.is_control() => format.push(' '),
            c => format.push(c),
        }
    }
    format
}
