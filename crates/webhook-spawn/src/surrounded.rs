//! What the wrapper works on, read once from the environment it was given.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use agent_box_event::contract::{Request, RequestError};
use agent_box_session::paths::Paths;
use agent_box_session::{WebhookPaths, env};
use agent_box_session_store::{Place, PlaceError, Store};
use agent_box_tmux_driver::{Server, StartPolicy, Tmux};
use thiserror::Error;

use crate::agent::Choice;
use crate::arguments::{self, Arguments};
use crate::cap::{Cap, cap};

/// How long the registry's lock is waited for: with ten wrappers at once on a slow disk the last
/// one waits for nine.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// How long tmux may take; the cap then counts without it.
const TMUX_DEADLINE: Duration = Duration::from_secs(1);

/// One user's box, as the wrapper sees it.
#[derive(Debug)]
pub struct Surrounded {
    pub(crate) store: Store,
    pub(crate) tmux: Tmux,
    pub(crate) webhook: WebhookPaths,
    pub(crate) user: String,
    settings: Settings,
}

/// Variables that decide how sessions start.
#[derive(Clone, Debug, Default)]
struct Settings {
    max: Option<String>,
    arguments: Option<String>,
    agent: Option<String>,
    programs: Option<String>,
    search_path: OsString,
}

/// The wrapper cannot work here.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The box cannot be found.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The files cannot be prepared.
    #[error("cannot open the session store")]
    Store(#[from] agent_box_session_store::OpenError),
}

impl Surrounded {
    /// Finds the box; `variable` reads the program's environment.
    ///
    /// # Errors
    /// When there is no home, or its files cannot be opened.
    pub fn open(variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, OpenError> {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty());
        let text = |name: &str| given(name).map(|value| value.to_string_lossy().into_owned());
        let place = Place::find(rustix::process::getuid().as_raw(), variable)?;
        let webhook = given(env::WEBHOOK_STATE_DIR)
            .map_or_else(|| WebhookPaths::of_home(&place.home), WebhookPaths::new);
        let tmux = Tmux::new(Server {
            binary: given(env::TMUX).map_or_else(|| PathBuf::from("tmux"), PathBuf::from),
            socket: place.socket.clone(),
            start: StartPolicy::Never,
            environment: [env::HOME, env::PATH, env::LANG]
                .into_iter()
                .filter_map(|name| Some((OsString::from(name), given(name)?)))
                .collect(),
        });
        Ok(Self {
            store: Store::open(place.paths())?.with_lock_wait(LOCK_WAIT),
            tmux: tmux.with_deadline(TMUX_DEADLINE),
            webhook,
            user: place.user,
            settings: Settings {
                max: text(env::HOOK_SESSION_MAX),
                arguments: text(env::HOOK_SESSION_ARGS),
                agent: text(env::DEFAULT_AGENT),
                programs: text(env::AGENT_BINS),
                search_path: given(env::PATH).unwrap_or_default(),
            },
        })
    }

    /// Where everything of the box is.
    pub fn paths(&self) -> &Paths {
        self.store.paths()
    }

    /// What the receiver asks for.
    ///
    /// # Errors
    /// When a variable holds what the receiver never writes.
    pub fn request(variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Request, RequestError> {
        Request::read(|name| variable(name).map(|value| value.to_string_lossy().into_owned()))
    }

    pub(crate) fn cap(&self) -> Cap {
        cap(self.settings.max.as_deref())
    }

    pub(crate) fn arguments(&self) -> Arguments {
        let path = self.store.paths().env_file();
        arguments::resolve(self.settings.arguments.as_deref(), &self.store.env(), &path)
    }

    pub(crate) fn choice(&self) -> Choice<'_> {
        Choice {
            default: self.settings.agent.as_deref(),
            programs: self.settings.programs.as_deref(),
            search_path: OsStr::new(&self.settings.search_path),
        }
    }
}
