//! The command line: what can be said, with examples. No behaviour.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use agent_box_session::SessionId;
use clap::{Args, Parser, Subcommand};

/// Keeps coding agents running in tmux sessions, exactly those you asked for.
#[derive(Debug, Parser)]
#[command(
    name = "agent-box",
    version,
    arg_required_else_help = true,
    after_help = "\
Examples:
  agent-box up                                   keep this user's sessions running (foreground)
  agent-box add fix --agent claude --cwd ~/src/app --prompt 'fix the failing test'
  agent-box ls                                   what runs, and why what does not
  agent-box attach fix                           its terminal; detach with Ctrl-b d
  agent-box rm fix                               end it and everything it started

Exit codes: 0 done, 1 something failed, 2 refused or misused, 3 the session store is damaged."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Manages the sessions of this user's box.
#[derive(Debug, Parser)]
#[command(name = "agent-box-session", version, arg_required_else_help = true)]
pub(crate) struct SessionCli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Keep this user's sessions running, with tmux beside it, until Ctrl-C
    ///
    /// Ctrl-C ends the supervisor only: the sessions go on, and the next `up` takes them over.
    /// It also goes on when its terminal is closed; end it with Ctrl-C or SIGTERM.
    Up,
    /// Keep this user's sessions running under a service manager
    Supervise,
    /// Manage sessions (all verbs also work without the word `session`)
    Session {
        #[command(subcommand)]
        verb: Verb,
    },
    #[command(flatten)]
    Verb(Verb),
    /// Show one line to everybody who looks at a session, until they press a key
    Announce {
        /// The line
        text: String,
    },
    /// Called by its unit, not by people
    #[command(hide = true)]
    SpotMonitor(SpotMonitor),
    /// Signed events from outside: who may send, who is told, and what starts a session
    #[command(disable_help_flag = true)]
    Webhook {
        /// The verb and its arguments; none shows them all
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "VERB")]
        words: Vec<OsString>,
    },
    /// The MCP server that an agent starts
    #[command(hide = true)]
    Mcp,
    /// Called by agents, not by people
    #[command(subcommand, hide = true)]
    Hook(Hook),
}

/// Wait until the cloud takes this machine back, and let its sessions end well
#[derive(Debug, Args)]
pub(crate) struct SpotMonitor {
    /// A user's runtime directory; its owner's sessions are told
    #[arg(long = "runtime", value_name = "DIR")]
    pub(crate) runtimes: Vec<PathBuf>,
    /// A unit to stop at the end of the grace time
    #[arg(long = "unit", value_name = "UNIT")]
    pub(crate) units: Vec<String>,
    /// What the sessions are told
    #[arg(long, value_name = "LINE")]
    pub(crate) message: String,
    /// Seconds between telling them and stopping the units
    #[arg(long, value_name = "SECONDS")]
    pub(crate) grace: u64,
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS")]
    pub(crate) poll: u64,
    /// Where the cloud tells a machine about itself
    #[arg(long, value_name = "IP:PORT", default_value = "169.254.169.254:80")]
    pub(crate) metadata: SocketAddr,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Hook {
    /// Record which conversation claude is in (JSON on stdin)
    SessionStart,
    /// Hand over the events that wait for this session (JSON on stdin)
    Turn,
    /// Hand a message to a session's agent (on stdin)
    Tell {
        /// The session's id
        #[arg(long, value_name = "ID")]
        session_id: SessionId,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Ask for a new session
    #[command(after_help = "\
Examples:
  agent-box add                                  a session of the default agent in your home
  agent-box add review --agent codex --cwd ~/src/app --prompt-file task.md
  git diff | agent-box add look --agent claude --prompt-file -
  agent-box add tools --agent claude -- --add-dir ~/notes

Agents are claude and codex where they are on the supervisor's PATH, and shell. Another program
becomes an agent by naming it for both `up` and `add`: AGENT_BOX_AGENT_BINS='kind=/path …' (which
then lists all but shell). Such a program cannot resume a conversation: after a death it is told
its task again, and that it ran before, until it ends by itself with code 0.")]
    Add(Add),
    /// List sessions with their state
    #[command(visible_alias = "list")]
    Ls {
        #[command(flatten)]
        output: Output,
    },
    /// Remove a session and end everything of it
    #[command(after_help = "\
Returns once nothing of the session runs; it never comes back unless you `undo`.
Exit codes: 0 gone, 1 something of it could not be ended (named), 2 no such session.")]
    Rm {
        /// Its name
        name: String,
        #[command(flatten)]
        output: Output,
    },
    /// Stop a session; it stays listed until `restart` or `rm`
    Stop {
        /// Its name
        name: String,
        #[command(flatten)]
        output: Output,
    },
    /// Start a session anew, resuming its conversation
    Restart(Restart),
    /// Tell how the box itself is: supervisor, tmux server, session list
    Status {
        #[command(flatten)]
        output: Output,
    },
    /// Show all that is known of a session
    Show {
        /// Its name
        name: String,
        /// Print only the command line of its last launch
        #[arg(long)]
        command: bool,
        #[command(flatten)]
        output: Output,
    },
    /// Explain why a session is as it is
    Why {
        /// Its name
        name: String,
        #[command(flatten)]
        output: Output,
    },
    /// Show what happened, newest last
    Log {
        /// Only this session
        name: Option<String>,
        /// How many lines
        #[arg(short = 'n', long, default_value_t = 50)]
        lines: usize,
        #[command(flatten)]
        output: Output,
    },
    /// Take back the last changes of the session list
    Undo {
        /// How many changes
        #[arg(default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        steps: u32,
        #[command(flatten)]
        output: Output,
    },
    /// List the kept versions of the session list
    History {
        #[command(flatten)]
        output: Output,
    },
    /// Restore the newest good session list when the file is damaged
    #[command(after_help = "The damaged bytes are kept beside it. Without --yes it asks first.")]
    Repair {
        /// Do not ask
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        output: Output,
    },
    /// Open a session's terminal here
    Attach {
        /// Its name; without one `main`, or the first live one
        name: Option<String>,
    },
    /// Variables that every session gets at its next start
    #[command(subcommand)]
    Env(Env),
    /// Show or set a session's resource limits
    Limits(Limits),
}

#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// Its name (letters, digits, `_`, `-`; at most 150 characters); one is chosen without it
    pub(crate) name: Option<String>,
    /// claude, codex, shell, or another kind this box knows
    #[arg(long, value_name = "KIND")]
    pub(crate) agent: Option<String>,
    /// Its directory; your home without it
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Make that directory if it is missing
    #[arg(long, requires = "cwd")]
    pub(crate) mkdir: bool,
    /// The kickoff prompt, handed over once and unchanged (a long one as a file that is named)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) prompt: Option<String>,
    /// Read the kickoff prompt from a file (`-`: stdin)
    #[arg(long, value_name = "FILE", conflicts_with = "prompt")]
    pub(crate) prompt_file: Option<PathBuf>,
    /// What to say to the conversation when it is resumed, instead of the built-in text
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) resume_prompt: Option<String>,
    /// Let the agent ask before it acts; without this it acts without asking
    #[arg(long)]
    pub(crate) ask_permissions: bool,
    /// Do not open the session to its vendor's apps; without this claude is open to them
    #[arg(long)]
    pub(crate) no_remote_control: bool,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Further arguments for the agent
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Restart {
    /// Its name
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) name: Option<String>,
    /// Every session that is not stopped
    #[arg(long)]
    pub(crate) all: bool,
    /// With --all: the stopped ones too
    #[arg(long, requires = "all", conflicts_with = "name")]
    pub(crate) include_stopped: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Env {
    /// List the names (never the values)
    Ls {
        #[command(flatten)]
        output: Output,
    },
    /// Set one; `-` reads the value from stdin, so that no secret is seen in the process list
    #[command(after_help = "Example:\n  pass show api-key | agent-box env set ANTHROPIC_API_KEY -")]
    Set {
        /// Letters, digits and `_`, not starting with a digit
        key: String,
        /// The value, or `-` for stdin
        #[arg(default_value = "", hide_default_value = true, allow_hyphen_values = true)]
        value: String,
    },
    /// Remove one
    Rm {
        /// Its name
        key: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Limits {
    /// The session's name
    pub(crate) name: String,
    /// Bytes above which it is slowed down (suffixes K, M, G; `none` lifts the limit)
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory_high: Option<String>,
    /// Bytes above which it is killed
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory_max: Option<String>,
    /// Most processes and threads
    #[arg(long, value_name = "N")]
    pub(crate) tasks_max: Option<String>,
    /// Share of the processor, 1 to 10000 (100 is everybody's)
    #[arg(long, value_name = "N")]
    pub(crate) cpu_weight: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_grammar_is_sound() {
        Cli::command().debug_assert();
        SessionCli::command().debug_assert();
    }

    #[test]
    fn the_reference_s_calls_are_understood() {
        for call in [
            "agent-box-session ls",
            "agent-box-session add",
            "agent-box-session add helper --agent codex",
            "agent-box-session add x --agent claude --cwd /tmp --prompt p --resume-prompt r -- -a b",
            "agent-box-session rm x",
            "agent-box-session stop x",
            "agent-box-session restart x",
            "agent-box-session restart --all",
            "agent-box-session env ls",
            "agent-box-session env set KEY value",
            "agent-box-session env set KEY",
            "agent-box-session env rm KEY",
        ] {
            SessionCli::try_parse_from(call.split(' ')).unwrap();
        }
        assert!(SessionCli::try_parse_from(["agent-box-session", "restart"]).is_err());
        assert!(SessionCli::try_parse_from(["agent-box-session", "add", "--nonsense"]).is_err());
    }
}
