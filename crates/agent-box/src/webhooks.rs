//! The webhook programs: verbs, the daemon, the MCP server and the hook of agents.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use agent_box_session::env;
use agent_box_session_store::Place;
use agent_box_webhook::cli::{self, Context};
use agent_box_webhook::inbox::InboxError;
use agent_box_webhook::serve::ServeError;
use agent_box_webhook::{hook, mcp, serve};
use anyhow::Result;
use tokio::sync::watch;

use crate::print;
use crate::surroundings::variable;
use crate::up;

/// For whom the webhook programs run.
pub(crate) fn context() -> Result<Context> {
    let place = Place::find(rustix::process::getuid().as_raw(), &|name| variable(name))?;
    let variables = env::TABLE.iter().filter_map(|it| Some((it.name.into(), variable(it.name)?)));
    Ok(Context::new(place.home, place.user, variables))
}

/// A verb of `agent-box webhook`.
pub(crate) fn run(words: Vec<OsString>) -> Result<ExitCode> {
    if words.first().is_some_and(|word| word == "serve") {
        up::be_thrifty();
        up::log();
    }
    Ok(cli::run(words, &context()?))
}

/// The hook that claude calls when a turn begins or ends: silent whatever happens.
pub(crate) fn turn() -> ExitCode {
    if let Ok(context) = context() {
        hook::turn(&context);
    }
    ExitCode::from(print::DONE)
}

/// The MCP server that an agent starts.
pub(crate) fn mcp() -> Result<ExitCode> {
    Ok(mcp::serve(&context()?))
}

/// How long after its end the receiver is started again.
const AGAIN: Duration = Duration::from_secs(5);
/// The same while another receiver has this user's inbox.
const HELD: Duration = Duration::from_secs(30);

/// A receiver on a thread of its own, beside the supervisor: neither ends the other.
#[derive(Debug)]
pub(crate) struct Beside {
    over: watch::Sender<bool>,
    wake: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Beside {
    /// Starts it. Call it before any other thread is started.
    pub(crate) fn start() -> Result<Self> {
        let settings = serve::settings(&context()?)?;
        let (over, shutdown) = watch::channel(false);
        let (wake, woken) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("webhook".to_owned())
            .spawn(move || keep_serving(&settings, &shutdown, &woken))?;
        Ok(Self { over, wake, thread })
    }

    /// Ends it; what it is at gets its time.
    pub(crate) fn end(self) {
        self.over.send_replace(true);
        let _ = self.wake.send(());
        let _ = self.thread.join();
    }
}

fn keep_serving(
    settings: &serve::Settings,
    shutdown: &watch::Receiver<bool>,
    woken: &mpsc::Receiver<()>,
) {
    let mut said = String::new();
    while !*shutdown.borrow() {
        let run = AssertUnwindSafe(|| serve::run(settings, shutdown.clone(), || {}));
        let pause = match catch_unwind(run) {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => {
                let is_held = matches!(error, ServeError::Inbox(InboxError::Held { .. }));
                let text = format!("{:#}", anyhow::Error::from(error));
                if text != said {
                    tracing::warn!("no webhooks are received: {text}");
                    said = text;
                }
                if is_held { HELD } else { AGAIN }
            }
            Err(_) => {
                tracing::error!("the webhook receiver failed; it is started again");
                AGAIN
            }
        };
        let _ = woken.recv_timeout(pause);
    }
}
