//! The user options that tie a tmux session to whoever created it.

use crate::command::Commands;
use crate::error::TmuxError;
use crate::server::Tmux;
use crate::target::{SessionTarget, is_word};

/// One of the three user options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// Which store's sessions these are.
    Store,
    /// Which session this is.
    Id,
    /// Which start of it this is.
    Launch,
}

impl Tag {
    /// The option's name in tmux.
    pub fn option(self) -> &'static str {
        match self {
            Self::Store => "@agent_box_store",
            Self::Id => "@agent_box_id",
            Self::Launch => "@agent_box_launch",
        }
    }

    /// Refuses a value that would not come back from a snapshot as it was written.
    pub(crate) fn check(self, command: &'static str, value: &str) -> Result<(), TmuxError> {
        if is_word(value) {
            return Ok(());
        }
        let argument = format!("{} {value}", self.option());
        Err(TmuxError::Unfit { command, argument, reason: "a tag is 1 to 150 of A-Z a-z 0-9 _ -" })
    }
}

/// The three values a session carries; each `[A-Za-z0-9_-]{1,150}`, as ids are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tags {
    /// Value of [`Tag::Store`].
    pub store: String,
    /// Value of [`Tag::Id`].
    pub id: String,
    /// Value of [`Tag::Launch`].
    pub launch: String,
}

impl Tags {
    /// Appends the commands that write all three.
    pub(crate) fn set(
        &self,
        commands: &mut Commands,
        target: &SessionTarget,
    ) -> Result<(), TmuxError> {
        let values = [(Tag::Store, &self.store), (Tag::Id, &self.id), (Tag::Launch, &self.launch)];
        for (tag, value) in values {
            tag.check(commands.name(), value)?;
            commands.then("set-option").args(target.pane()).args([tag.option(), value]);
        }
        Ok(())
    }
}

impl Tmux {
    /// Tags an existing session, all three values in one server turn.
    ///
    /// # Errors
    /// When the session is gone ([`TmuxError::NoSuchSession`]), a value is not well-formed, or the
    /// call fails.
    pub fn set_tags(&self, target: &SessionTarget, tags: &Tags) -> Result<(), TmuxError> {
        // The first command names the list in errors and proves that the target exists.
        let mut commands = Commands::new("has-session");
        commands.args(target.session());
        tags.set(&mut commands, target)?;
        self.call(&commands).map(drop)
    }
}
