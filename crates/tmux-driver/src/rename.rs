//! Giving a session another name.

use crate::command::Commands;
use crate::error::TmuxError;
use crate::server::Tmux;
use crate::target::{Name, SessionTarget};

impl Tmux {
    /// Renames a session. tmux expands formats in the new name, which a [`Name`] cannot hold.
    ///
    /// # Errors
    /// [`TmuxError::Duplicate`] when the name is taken; nothing is changed then.
    pub fn rename_session(&self, target: &SessionTarget, name: &Name) -> Result<(), TmuxError> {
        let mut commands = Commands::new("rename-session");
        commands.args(target.session());
        commands.args(["--", name.as_str()]);
        self.call(&commands).map(drop)
    }
}
