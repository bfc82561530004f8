//! The command line of a person's terminal.

use std::process::Command;

use crate::server::{StartPolicy, Tmux};
use crate::target::SessionTarget;

impl Tmux {
    /// A command that shows the session on the terminal it is run on; it never starts a server.
    ///
    /// The environment is the caller's: tmux needs the terminal's variables, and refuses to show
    /// a session inside itself only if it sees `TMUX`. The socket is explicit, so nothing there
    /// can lead elsewhere. `hyperlinks` cannot be learned from terminfo, and without it tmux
    /// would redraw a link's label only.
    pub fn attach_command(&self, target: &SessionTarget) -> Command {
        let mut command = Command::new(self.binary());
        command.args(self.flags(StartPolicy::Never)).args(["-T", "hyperlinks", "attach-session"]);
        command.args(target.session());
        command
    }
}
