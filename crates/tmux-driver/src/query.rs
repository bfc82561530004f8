//! Questions about one session: its screen, its environment, any format.

use crate::command::Commands;
use crate::error::TmuxError;
use crate::server::Tmux;
use crate::target::SessionTarget;

impl Tmux {
    /// The last `lines` lines of the session's screen and scrollback as plain text, without the
    /// empty lines below the last output.
    ///
    /// # Errors
    /// When the session is gone or the call fails.
    pub fn capture(&self, target: &SessionTarget, lines: u32) -> Result<String, TmuxError> {
        let mut commands = Commands::new("capture-pane");
        commands.arg("-p").args(target.pane()).args(["-S", &format!("-{lines}")]);
        let screen = self.call(&commands)?;
        let screen = String::from_utf8_lossy(&screen);
        let screen: Vec<&str> = screen.trim_end().lines().collect();
        let lines = usize::try_from(lines).unwrap_or(usize::MAX);
        Ok(screen[screen.len().saturating_sub(lines)..].join("\n"))
    }

    /// The value that the session's own environment (not the server's) gives to `variable`.
    ///
    /// # Errors
    /// When the session is gone or the call fails.
    pub fn session_environment(
        &self,
        target: &SessionTarget,
        variable: &str,
    ) -> Result<Option<String>, TmuxError> {
        let mut commands = Commands::new("show-environment");
        commands.args(target.session()).args(["--", variable]);
        match self.call(&commands) {
            Ok(answer) => {
                let answer = String::from_utf8_lossy(&answer);
                let value = answer.strip_prefix(variable).and_then(|rest| rest.strip_prefix('='));
                // `-VARIABLE` says that it is hidden from the session.
                Ok(value.map(|value| value.strip_suffix('\n').unwrap_or(value).to_owned()))
            }
            Err(TmuxError::Other { message, .. }) if message.starts_with("unknown variable") => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// What `format` expands to for this session. The format is code: `#()` in it runs a command,
    /// so it must never hold text from elsewhere.
    ///
    /// # Errors
    /// When the session is gone or the call fails.
    pub fn display_message(
        &self,
        target: &SessionTarget,
        format: &'static str,
    ) -> Result<String, TmuxError> {
        // `display-message` alone prints an empty line with status 0 for an unknown session.
        let mut commands = Commands::named("display-message", "has-session");
        commands.args(target.session());
        commands.then("display-message").arg("-p").args(target.pane()).arg(format);
        let answer = self.call(&commands)?;
        Ok(String::from_utf8_lossy(&answer).trim_end_matches('\n').to_owned())
    }
}
