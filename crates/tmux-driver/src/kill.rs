//! Ending a session, optionally only if it still is the one that was meant.

use crate::command::Commands;
use crate::error::TmuxError;
use crate::server::Tmux;
use crate::tag::Tag;
use crate::target::SessionTarget;

/// What became of a kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kill {
    /// tmux dropped the session. Only the leader of its pane got a SIGHUP: ending the processes
    /// is the caller's work.
    Killed,
    /// There is no such session, or no server that could hold it.
    NotThere,
    /// The session carries another value; it was left alone.
    OtherHolder,
}

impl Tmux {
    /// Drops a session; with `only_if`, only while it carries this tag, checked in the same
    /// server turn.
    ///
    /// # Errors
    /// When it is unknown whether the session is gone.
    pub fn kill_session(
        &self,
        target: &SessionTarget,
        only_if: Option<(Tag, &str)>,
    ) -> Result<Kill, TmuxError> {
        const KILL: &str = "kill-session";
        let answer = match only_if {
            None => {
                let mut commands = Commands::new(KILL);
                commands.args(target.session());
                self.call(&commands).map(|_| Kill::Killed)
            }
            Some((tag, value)) => {
                tag.check(KILL, value)?;
                // `if-shell` takes the other branch for a missing target, hence the first command.
                let mut commands = Commands::named(KILL, "has-session");
                commands.args(target.session());
                commands.then("if-shell").arg("-F").args(target.pane());
                commands.args([
                    format!("#{{==:#{{{}}},{value}}}", tag.option()),
                    format!("kill-session {} ; display-message -p killed", target.session_quoted()),
                    "display-message -p other".into(),
                ]);
                self.call(&commands).map(|answer| {
                    if answer.starts_with(b"killed") { Kill::Killed } else { Kill::OtherHolder }
                })
            }
        };
        match answer {
            Err(TmuxError::NoServer { .. } | TmuxError::NoSuchSession { .. }) => Ok(Kill::NotThere),
            answer => answer,
        }
    }
}
