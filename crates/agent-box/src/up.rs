//! `up` and `supervise`: the supervisor in the foreground.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use agent_box_session::{LaunchId, env};
use agent_box_supervisor::run::run;
use anyhow::{Context as _, Result, bail};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::print;
use crate::surroundings::{Surrounded, variable};
use crate::webhooks;

/// For a person at a terminal.
pub(crate) fn up() -> Result<ExitCode> {
    be_thrifty();
    let surrounded = Surrounded::open()?;
    print::line("agent-box keeps your sessions running; Ctrl-C stops the keeper, not the sessions");
    print::line("  agent-box add NAME --agent shell     ask for a session (claude, codex, shell)");
    print::line("  agent-box ls                         see how they are");
    print::line("  agent-box attach NAME                open one here");
    print::line(
        "  agent-box webhook                    let events from outside reach or start them",
    );
    let done = keep(&surrounded, true)?;
    print::line("agent-box: stopped; the sessions go on, `agent-box up` takes them over again");
    Ok(done)
}

/// For a service manager.
pub(crate) fn supervise() -> Result<ExitCode> {
    be_thrifty();
    keep(&Surrounded::open()?, false)
}

/// The C library's memory pools: one per thread would keep tens of megabytes after a busy moment.
/// There is no safe function for it, and it is read before `main`.
const MEMORY: (&str, &str) = (
    "GLIBC_TUNABLES",
    "glibc.malloc.arena_max=1:glibc.malloc.trim_threshold=131072:glibc.malloc.mmap_threshold=131072",
);

/// Starts this program again with thrifty memory pools; the process stays the same.
pub(crate) fn be_thrifty() {
    if variable(MEMORY.0).is_some() {
        return;
    }
    if let Ok(program) = std::env::current_exe() {
        let mut again = Command::new(program);
        // It only returns if it failed; thrift is not worth failing for.
        let _ = again.args(std::env::args_os().skip(1)).env(MEMORY.0, MEMORY.1).exec();
    }
}

/// Whether this program runs in a session of its own box: it would end with that session.
fn is_inside(surrounded: &Surrounded) -> bool {
    let launch = variable(env::LAUNCH_ID).and_then(|id| id.to_str()?.parse().ok());
    launch.is_some_and(|launch: LaunchId| {
        let records = surrounded.store.launches().unwrap_or_default();
        records.iter().any(|(_, record)| record.as_ref().is_ok_and(|it| it.launch == launch))
    })
}

/// Keeps sessions until told to end; with webhooks it takes in events too, where no service does.
fn keep(surrounded: &Surrounded, with_webhooks: bool) -> Result<ExitCode> {
    if is_inside(surrounded) {
        bail!(
            "this is a session of the box itself, and its supervisor would end with it; start it \
             from another terminal"
        );
    }
    log();
    raise_file_limit();
    if let Some(seed) = variable(env::SESSIONS_SEED) {
        let seeded = surrounded
            .store
            .seed(seed.as_ref())
            .context("cannot add the sessions that the system configuration declares");
        match seeded {
            Ok(seeded) => {
                for (name, reason) in seeded.unusable {
                    tracing::warn!(name, reason, "a declared session cannot be used");
                }
            }
            // What is listed must be kept running all the same.
            Err(error) => tracing::error!("{error:#}"),
        }
    }
    let starter = surrounded.starter()?;
    let webhooks = with_webhooks.then(webhooks::Beside::start).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(128)
        .thread_keep_alive(std::time::Duration::from_secs(2))
        .thread_stack_size(512 * 1024)
        .build()
        .context("cannot start the event loop")?;
    let done = runtime.block_on(run(starter));
    // A hung start must not keep the program from ending.
    runtime.shutdown_background();
    if let Some(webhooks) = webhooks {
        webhooks.end();
    }
    done?;
    Ok(ExitCode::from(print::DONE))
}

/// Logs to standard error from here on.
pub(crate) fn log() {
    let level = variable(env::LOG)
        .and_then(|level| level.to_str()?.parse().ok())
        .unwrap_or(tracing::Level::INFO);
    let builder = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_target(false)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()));
    // The journal of a service manager has its own clock.
    if variable(env::NOTIFY_SOCKET).is_some() {
        builder.without_time().init();
    } else {
        builder.init();
    }
}

/// One descriptor per pane in tmux, one pidfd per launcher here: the usual soft limit of 1024
/// ends near 1000 sessions.
fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(%error, "cannot raise the limit of open files");
    }
}
