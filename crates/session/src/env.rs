//! Every environment variable that agent-box reads or sets, each once.

/// One variable of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// What it is called here and in the Nix module.
    pub constant: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

macro_rules! variables {
    ($($(#[$doc:meta])* $constant:ident = $name:literal: $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $constant: &str = $name;)*

        /// The whole table, for documents and checks.
        pub const TABLE: &[Variable] = &[
            $(Variable { constant: stringify!($constant), name: $name, meaning: $meaning }),*
        ];
    };
}

variables! {
    RUNTIME_DIR = "AGENT_BOX_RUNTIME_DIR": "Directory below which the tmux socket lives.";
    AGENT_BINS = "AGENT_BOX_AGENT_BINS": "Agent programs as `kind=/path`, separated by spaces.";
    DEFAULT_AGENT = "AGENT_BOX_DEFAULT_AGENT": "The agent that `add` uses when none is named.";
    TMUX = "AGENT_BOX_TMUX": "The tmux program.";
    TMUX_INSTALLED = "AGENT_BOX_TMUX_INSTALLED": "The tmux program that the next server will run, where it is not the clients' one.";
    TMUX_EXTERNAL = "AGENT_BOX_TMUX_EXTERNAL": "Set when the tmux server is a unit of its own; clients then never start one.";
    HOST_LABEL = "AGENT_BOX_HOST_LABEL": "The host part of remote-control names.";
    AGENTS_POINTER = "AGENT_BOX_AGENTS_POINTER": "File to install as AGENTS.md where a session's directory has none.";
    CLAUDE_GUIDE_TARGET = "AGENT_BOX_CLAUDE_GUIDE_TARGET": "Guide that ~/.claude/CLAUDE.md links to when there is none.";
    CODEX_FULL_ACCESS = "AGENT_BOX_CODEX_FULL_ACCESS": "Set when the system configuration gives codex full access.";
    SESSIONS_SEED = "AGENT_BOX_SESSIONS_SEED": "File with the sessions declared by the system configuration.";
    INHERIT = "AGENT_BOX_INHERIT": "Names of further variables that agents inherit, separated by spaces.";
    SESSION_ID = "AGENT_BOX_SESSION_ID": "In an agent: the conversation id it was launched with.";
    SESSION_UUID = "AGENT_BOX_SESSION_UUID": "In an agent: its session's id, which outlives its conversations.";
    SESSION_NAME = "AGENT_BOX_SESSION_NAME": "In an agent: its session's name.";
    LAUNCH_ID = "AGENT_BOX_LAUNCH_ID": "In an agent and its descendants: the launch they belong to.";
    URL = "AGENT_BOX_URL": "The box's public address, for agents.";
    WEBHOOK_URL = "AGENT_BOX_WEBHOOK_URL": "The address to register at webhook senders, for agents.";
    BATCH_ID = "AGENT_BOX_BATCH_ID": "For the spawn wrapper: the batch to start a session for.";
    BATCH_LOWEST = "AGENT_BOX_BATCH_LOWEST": "For the spawn wrapper: claims on batches below this one are pruned.";
    BATCH_ASSIGNED = "AGENT_BOX_BATCH_ASSIGNED": "For the spawn wrapper: set when an event of the batch assigns something to this box.";
    BATCH_OBJECTS = "AGENT_BOX_BATCH_OBJECTS": "For the spawn wrapper: what the events are about (`pr:7`, `run:99`), one in a line.";
    BATCH_ASKER = "AGENT_BOX_BATCH_ASKER": "For the spawn wrapper: the receiver that asks, as `pid:start`.";
    HOOK_SESSION_MAX = "AGENT_BOX_HOOK_SESSION_MAX": "How many hook sessions there may be; 4 when unset.";
    HOOK_SESSION_ARGS = "AGENT_BOX_HOOK_SESSION_ARGS": "Further arguments of hook sessions' agents, a JSON array of strings; the env file may override it.";
    WEBHOOK_POLICY = "AGENT_BOX_WEBHOOK_POLICY": "File with the rules that the system configuration declares for standing watches.";
    CHANNEL = "AGENT_BOX_CHANNEL": "In an agent: set when it was started so that it takes channel messages of our MCP server.";
    WEBHOOK_STATE_DIR = "LOCAL_WEBHOOK_STATE_DIR": "Directory of the webhook files.";
    WEBHOOK_SESSION = "LOCAL_WEBHOOK_SESSION": "In an agent: the key of its subscriptions, `<user>-<session>`.";
    WEBHOOK_SELF = "LOCAL_WEBHOOK_SELF": "The login that this box acts as at GitHub; `@self` in filters.";
    WEBHOOK_PORT = "LOCAL_WEBHOOK_PORT": "The receiver's port on loopback; 0 is none, as in every agent.";
    WEBHOOK_HTTP_SOCK = "LOCAL_WEBHOOK_HTTP_SOCK": "The receiver's unix socket, where nobody else made one for it.";
    WEBHOOK_SPAWN_CMD = "LOCAL_WEBHOOK_SPAWN_CMD": "The command that starts a session for a batch; the wrapper beside the program when unset.";
    SPAWN_SOURCE = "LOCAL_WEBHOOK_SPAWN_SOURCE": "For the spawn wrapper: who sent the events.";
    SPAWN_KEY = "LOCAL_WEBHOOK_SPAWN_KEY": "For the spawn wrapper: what the events are about.";
    SPAWN_TOPIC = "LOCAL_WEBHOOK_SPAWN_TOPIC": "For the spawn wrapper: the watch that wanted them.";
    SPAWN_NOTE = "LOCAL_WEBHOOK_SPAWN_NOTE": "For the spawn wrapper: the watch's note.";
    SPAWN_COUNT = "LOCAL_WEBHOOK_SPAWN_COUNT": "For the spawn wrapper: how many events.";
    SPAWN_WINDOW = "LOCAL_WEBHOOK_SPAWN_WINDOW": "Seconds between two batches of one topic; 60 when unset.";
    SPAWN_TIMEOUT = "LOCAL_WEBHOOK_SPAWN_TIMEOUT": "Seconds that the spawn wrapper may take; 60 when unset.";
    GH_TOKEN = "GH_TOKEN": "The token that gh uses.";
    GITHUB_TOKEN = "GITHUB_TOKEN": "The token that gh uses, the older spelling.";
    GH_CONFIG_DIR = "GH_CONFIG_DIR": "Where gh keeps its logins.";
    GH_PROMPT_DISABLED = "GH_PROMPT_DISABLED": "Set for gh, which must not ask anybody.";
    XDG_CONFIG_HOME = "XDG_CONFIG_HOME": "Where programs keep their configuration, for gh.";
    DBUS_SESSION_BUS_ADDRESS = "DBUS_SESSION_BUS_ADDRESS": "Where gh finds the keyring.";
    HTTPS_PROXY = "HTTPS_PROXY": "The proxy that gh uses.";
    LOG = "AGENT_BOX_LOG": "How much the programs log: error, warn, info, debug or trace.";
    TESTPOINTS = "AGENT_BOX_TESTPOINTS": "Test builds only: directory that steers named pause and kill points.";
    GRACE_MS = "AGENT_BOX_GRACE_MS": "Milliseconds between asking a session to end and killing it.";
    HOME = "HOME": "The user's home.";
    USER = "USER": "The user's name.";
    LOGNAME = "LOGNAME": "The user's name, the older spelling.";
    SHELL = "SHELL": "The user's login shell.";
    PATH = "PATH": "Where programs are found.";
    LANG = "LANG": "The locale.";
    LC_ALL = "LC_ALL": "The locale, overriding.";
    LC_CTYPE = "LC_CTYPE": "The locale's character set.";
    TZ = "TZ": "The time zone.";
    TERM = "TERM": "The terminal type, set by tmux.";
    COLORTERM = "COLORTERM": "The terminal's colours, set by tmux.";
    TERM_PROGRAM = "TERM_PROGRAM": "The terminal program, set by tmux.";
    TERM_PROGRAM_VERSION = "TERM_PROGRAM_VERSION": "Its version, set by tmux.";
    TMUX_SERVER = "TMUX": "The tmux server of a pane, set by tmux.";
    TMUX_PANE = "TMUX_PANE": "The pane, set by tmux.";
    XDG_RUNTIME_DIR = "XDG_RUNTIME_DIR": "The user's runtime directory.";
    XDG_DATA_DIRS = "XDG_DATA_DIRS": "Where programs find shared data.";
    NIX_PATH = "NIX_PATH": "Where Nix finds expressions.";
    NIX_PROFILES = "NIX_PROFILES": "The Nix profiles in use.";
    NIX_SSL_CERT_FILE = "NIX_SSL_CERT_FILE": "Certificate authorities, the Nix spelling.";
    SSL_CERT_FILE = "SSL_CERT_FILE": "Certificate authorities.";
    TERMINFO_DIRS = "TERMINFO_DIRS": "Where terminal descriptions are found.";
    LOCALE_ARCHIVE = "LOCALE_ARCHIVE": "Where glibc of Nix finds locales.";
    IS_SANDBOX = "IS_SANDBOX": "Set by the owner of a container: agents may run unattended as root.";
    GLIBC_TUNABLES = "GLIBC_TUNABLES": "How the C library pools memory; set for the programs themselves, never for agents.";
    NOTIFY_SOCKET = "NOTIFY_SOCKET": "Where systemd waits for readiness.";
}

/// What an agent may inherit from the supervisor's environment; nothing else passes.
pub const INHERITED: &[&str] = &[
    HOME,
    USER,
    LOGNAME,
    SHELL,
    PATH,
    LANG,
    LC_ALL,
    LC_CTYPE,
    TZ,
    XDG_RUNTIME_DIR,
    XDG_DATA_DIRS,
    NIX_PATH,
    NIX_PROFILES,
    NIX_SSL_CERT_FILE,
    SSL_CERT_FILE,
    TERMINFO_DIRS,
    LOCALE_ARCHIVE,
    IS_SANDBOX,
    URL,
    WEBHOOK_URL,
];

/// What only the pane's terminal knows; the launcher adds these from its own environment.
pub const TERMINAL: &[&str] =
    &[TERM, COLORTERM, TERM_PROGRAM, TERM_PROGRAM_VERSION, TMUX_SERVER, TMUX_PANE];
