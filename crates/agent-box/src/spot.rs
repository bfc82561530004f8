//! The last two minutes of a spot machine: people are told, and then nothing starts any more.
//!
//! It powers nothing off: a machine that shuts itself down counts as stopped by its owner, and the
//! cloud does not start it again.

mod metadata;

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use agent_box_session::env;
use anyhow::{Context as _, Result};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::cli::SpotMonitor;
use crate::print;
use crate::surroundings::variable;
use crate::up::log;
use metadata::Metadata;

/// How often a machine is asked how it was bought before it counts as none of a cloud.
const LOOKS: u32 = 3;

/// How long one user's sessions may take to be told.
const TELLING: Duration = Duration::from_secs(5);

/// How long the units may take to stop.
const STOPPING: Duration = Duration::from_secs(30);

/// Waits for the notice of the cloud; ends at once on a machine that gets none.
pub(crate) fn monitor(arguments: &SpotMonitor) -> Result<ExitCode> {
    log();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("cannot start the event loop")?.block_on(watch(arguments))?;
    Ok(ExitCode::from(print::DONE))
}

async fn watch(arguments: &SpotMonitor) -> Result<()> {
    let metadata = Metadata::new(arguments.metadata);
    let poll = Duration::from_secs(arguments.poll);
    match life_cycle(metadata, poll).await.as_deref() {
        Some("spot") => tracing::info!("this is a spot machine; waiting for the cloud's notice"),
        Some(_) => {
            tracing::info!("this is no spot machine; nothing to wait for");
            return Ok(());
        }
        None => {
            tracing::info!("no cloud answers; nothing to wait for");
            return Ok(());
        }
    }
    loop {
        match metadata.is_taken_back().await {
            Ok(true) => break,
            Ok(false) => {}
            Err(error) => tracing::debug!(%error, "the cloud does not answer"),
        }
        sleep(poll).await;
    }
    tracing::warn!("the cloud takes this machine back; telling the sessions");
    tell(arguments).await;
    rustix::fs::sync();
    sleep(Duration::from_secs(arguments.grace)).await;
    stop(&arguments.units).await;
    rustix::fs::sync();
    tracing::info!("everything is on disk; nothing starts any more");
    Ok(())
}

async fn life_cycle(metadata: Metadata, poll: Duration) -> Option<String> {
    for look in 1..=LOOKS {
        match metadata.life_cycle().await {
            Ok(life_cycle) => return Some(life_cycle),
            Err(error) => tracing::debug!(%error, "the cloud does not answer"),
        }
        if look < LOOKS {
            sleep(poll).await;
        }
    }
    None
}

/// All users at once: one whose tmux hangs takes no time from the others.
async fn tell(arguments: &SpotMonitor) {
    let mut started = Vec::new();
    for runtime in &arguments.runtimes {
        match announce(runtime, &arguments.message) {
            Ok(child) => started.push((runtime, child)),
            Err(error) => tracing::warn!(?runtime, "cannot tell its sessions: {error:#}"),
        }
    }
    for (runtime, mut child) in started {
        match timeout(TELLING, child.wait()).await {
            Ok(Ok(status)) if status.success() => tracing::info!(?runtime, "its sessions are told"),
            Ok(Ok(status)) => tracing::warn!(?runtime, %status, "cannot tell its sessions"),
            Ok(Err(error)) => tracing::warn!(?runtime, %error, "cannot tell its sessions"),
            Err(_) => tracing::warn!(?runtime, "telling its sessions takes too long"),
        }
    }
}

/// `agent-box announce` as the owner of the runtime directory: root obeys no user's tmux server.
fn announce(runtime: &Path, message: &str) -> Result<Child> {
    let owner = runtime.metadata().context("it has no sessions yet")?;
    let program = std::env::current_exe().context("cannot find the agent-box program itself")?;
    let mut command = Command::new(program);
    command.args(["announce", "--", message]).env_clear();
    command.env(env::RUNTIME_DIR, runtime).env(env::PATH, variable(env::PATH).unwrap_or_default());
    // Where the server is a unit of its own, clients speak to it with its own program.
    let tmux = runtime.join("tmux");
    if tmux.exists() {
        command.env(env::TMUX, tmux);
    }
    command.uid(owner.uid()).gid(owner.gid()).kill_on_drop(true);
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().context("cannot start agent-box")
}

async fn stop(units: &[String]) {
    if units.is_empty() {
        return;
    }
    let mut command = Command::new("systemctl");
    command.arg("stop").arg("--").args(units).stdin(Stdio::null()).kill_on_drop(true);
    match timeout(STOPPING, command.status()).await {
        Ok(Ok(status)) if status.success() => {}
        Ok(Ok(status)) => tracing::warn!(%status, "systemctl could not stop the supervisors"),
        Ok(Err(error)) => tracing::warn!(%error, "systemctl cannot be run"),
        Err(_) => tracing::warn!("stopping the supervisors takes too long"),
    }
}
