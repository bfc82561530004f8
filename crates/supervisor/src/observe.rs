//! The look: everything that one pass decides from.
//!
//! One registry read (only its metadata when it did not change), the launch records that changed,
//! and one tmux round trip. Processes are asked about only where tmux shows no terminal for a
//! launch that should have one: in a quiet box that is nobody.
//!
//! Order matters: records before terminals. A launch that its record calls started has had a
//! terminal before, so a terminal that is missing afterwards is really gone.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use agent_box_session::{LaunchRecord, LaunchState, Registry, SessionId, Timestamp, is_settled};
use agent_box_session_store::{Document, Store};
use agent_box_tmux_driver::{Session, Tmux, TmuxError};

use crate::plan::{Intent, Known, LaunchView, Observed, Terminal};
use crate::process::{Scan, Stat, is_alive};
use crate::tasks::chain;

/// Looks, and remembers what cannot have changed since the last look.
#[derive(Debug)]
pub struct Observer {
    store: Store,
    tmux: Tmux,
    registry: Option<(Fingerprint, Arc<Known<Intent>>)>,
    records: BTreeMap<SessionId, Known<LaunchRecord>>,
    stale: Stale,
    adoptable: BTreeMap<String, Option<String>>,
}

/// Which cached records may be out of date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stale {
    /// All.
    Everything,
    /// Only these.
    Records(BTreeSet<SessionId>),
}

/// What identifies the bytes of a file without reading them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fingerprint {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

/// What one look saw.
#[derive(Debug)]
pub struct Look {
    /// What is wanted.
    pub intent: Arc<Known<Intent>>,
    /// What is there.
    pub observed: Observed,
    /// Launchers that run, by number and start time, to be watched until they end. A launcher that
    /// has not passed its gate stands in no record; it is the process in its terminal.
    pub launchers: BTreeSet<(i32, u64)>,
    /// The tmux server, to be watched likewise.
    pub server: Option<i32>,
    /// The registry's document, if it was read anew: the history may lack it.
    pub unseen: Option<Document>,
}

impl Observer {
    /// An observer that knows nothing yet.
    pub fn new(store: Store, tmux: Tmux) -> Self {
        Self {
            store,
            tmux,
            registry: None,
            records: BTreeMap::new(),
            stale: Stale::Everything,
            adoptable: BTreeMap::new(),
        }
    }

    /// Says that files may have changed; the next look reads them again.
    pub fn forget(&mut self, stale: Stale) {
        match (&mut self.stale, stale) {
            (Stale::Everything, _) => {}
            (mine, Stale::Everything) => *mine = Stale::Everything,
            (Stale::Records(mine), Stale::Records(more)) => mine.extend(more),
        }
    }

    /// Looks at everything.
    ///
    /// `busy` and `attempts` are the caller's own memory and passed through.
    pub fn look(
        &mut self,
        busy: BTreeSet<SessionId>,
        attempts: BTreeMap<SessionId, (u64, Timestamp)>,
    ) -> Look {
        self.refresh_records();
        let (terminals, server) = self.terminals();
        let (intent, unseen) = self.intent();
        let panes = panes(&terminals);
        let launches = self.launches(&terminals, &panes, &intent, &busy);
        let on_record = self.records.values().filter_map(|record| record.known()?.launcher());
        let launchers = on_record.map(|it| (it.pid, it.start_time)).chain(panes).collect();
        let terminals = self.with_conversations(terminals, &intent);
        let observed = Observed { terminals, launches, attempts, busy };
        Look { intent, observed, launchers, server, unseen }
    }

    fn refresh_records(&mut self) {
        let stale = std::mem::replace(&mut self.stale, Stale::Records(BTreeSet::new()));
        match stale {
            Stale::Everything => match self.store.launches() {
                Ok(records) => {
                    self.records = records
                        .into_iter()
                        .map(|(id, record)| match record {
                            Ok(record) => (id, Known::Known(record)),
                            Err(error) => (id, Known::Unknown(chain(&error))),
                        })
                        .collect();
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot list the launch records; keeping what is known");
                    self.stale = Stale::Everything;
                }
            },
            Stale::Records(ids) => {
                for id in ids {
                    match self.store.launch(id) {
                        Ok(Some(record)) => self.records.insert(id, Known::Known(record)),
                        Ok(None) => self.records.remove(&id),
                        Err(error) => self.records.insert(id, Known::Unknown(chain(&error))),
                    };
                }
            }
        }
    }

    /// The wanted sessions; read again only if the file's metadata changed.
    fn intent(&mut self) -> (Arc<Known<Intent>>, Option<Document>) {
        let fingerprint = self.fingerprint();
        if let (Some((known, intent)), Some(now)) = (&self.registry, fingerprint)
            && *known == now
        {
            return (Arc::clone(intent), None);
        }
        let (intent, document) = match self.store.read() {
            Ok(document) => (self.intent_of(document.registry.clone()), Some(document)),
            Err(error) => (Known::Unknown(chain(&error)), None),
        };
        let intent = Arc::new(intent);
        // Damage is read again each time: editors that write in place finish within moments.
        self.registry = match (&*intent, fingerprint) {
            (Known::Known(intent_now), Some(now)) if !intent_now.unsettled => {
                Some((now, Arc::clone(&intent)))
            }
            _ => None,
        };
        (intent, document)
    }

    fn intent_of(&self, registry: Registry) -> Known<Intent> {
        let identities = match self.store.identities(&registry) {
            Ok(identities) => identities,
            Err(error) => return Known::Unknown(chain(&error)),
        };
        let removed: BTreeSet<SessionId> = registry
            .entries()
            .filter_map(|(_, entry)| entry.id)
            .filter(|id| identities.is_removed(*id))
            .collect();
        let unsettled = !removed.is_empty() || !is_settled(&registry, &identities);
        Known::Known(Intent { registry, removed, unsettled })
    }

    fn fingerprint(&self) -> Option<Fingerprint> {
        let metadata = std::fs::metadata(self.store.paths().registry()).ok()?;
        Some(Fingerprint {
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        })
    }

    fn terminals(&self) -> (Known<Vec<Terminal>>, Option<i32>) {
        match self.tmux.snapshot() {
            Ok(snapshot) => {
                let store = self.store.store_id().to_string();
                let terminals =
                    snapshot.sessions.iter().map(|session| terminal(session, &store)).collect();
                (Known::Known(terminals), i32::try_from(snapshot.server.pid).ok())
            }
            // The driver has looked for a server whose socket was unlinked: there is none.
            Err(TmuxError::NoServer { .. }) => (Known::Known(Vec::new()), None),
            Err(error) => (Known::Unknown(chain(&error)), None),
        }
    }

    fn launches(
        &self,
        terminals: &Known<Vec<Terminal>>,
        panes: &BTreeMap<i32, u64>,
        intent: &Known<Intent>,
        busy: &BTreeSet<SessionId>,
    ) -> BTreeMap<SessionId, LaunchView> {
        let seen: BTreeMap<(SessionId, _), i32> = terminals
            .known()
            .into_iter()
            .flatten()
            .filter_map(|terminal| Some(((terminal.session?, terminal.launch?), terminal.pane_pid)))
            .collect();
        let mut scan: Option<BTreeMap<_, BTreeSet<i32>>> = None;
        let mut views = BTreeMap::new();
        for (id, record) in self.records.iter().filter(|(id, _)| !busy.contains(id)) {
            let view = match record {
                Known::Unknown(_) => LaunchView {
                    record: record.clone(),
                    lock_free: self.is_free(*id),
                    launcher_alive: false,
                    leftovers: false,
                },
                Known::Known(known) if seen.contains_key(&(*id, known.launch)) => LaunchView {
                    record: record.clone(),
                    lock_free: false,
                    launcher_alive: watcher_lives(known, seen.get(&(*id, known.launch)), panes),
                    leftovers: false,
                },
                Known::Known(known) => {
                    // A removed session that is not on record as running needs no look.
                    let listed = intent.known().is_none_or(|it| it.registry.lists(*id));
                    if !listed && !matches!(known.state, LaunchState::Starting { .. }) {
                        continue;
                    }
                    let marked = scan.get_or_insert_with(|| Scan::now().marked());
                    let launcher = known.launcher().filter(|launcher| is_alive(launcher));
                    let launcher_pid = launcher.map(|launcher| launcher.pid);
                    LaunchView {
                        record: record.clone(),
                        lock_free: self.is_free(*id),
                        launcher_alive: launcher.is_some(),
                        leftovers: marked
                            .get(&known.launch)
                            .is_some_and(|pids| pids.iter().any(|pid| Some(*pid) != launcher_pid)),
                    }
                }
            };
            views.insert(*id, view);
        }
        views
    }

    fn is_free(&self, id: SessionId) -> bool {
        // Not to be told is not to be free.
        self.store.lifetime_is_free(id).unwrap_or(false)
    }

    /// Looks up the conversation of untagged terminals that bear a listed session's name.
    fn with_conversations(
        &mut self,
        terminals: Known<Vec<Terminal>>,
        intent: &Known<Intent>,
    ) -> Known<Vec<Terminal>> {
        let (Known::Known(mut terminals), Known::Known(intent)) = (terminals.clone(), intent)
        else {
            return terminals;
        };
        for terminal in &mut terminals {
            if terminal.session.is_some()
                || terminal.foreign
                || !intent.registry.is_taken(&terminal.name)
            {
                continue;
            }
            let known = self.adoptable.entry(terminal.tmux_id.clone()).or_insert_with(|| {
                let target = agent_box_tmux_driver::SessionTarget::id(&terminal.tmux_id).ok()?;
                self.tmux
                    .session_environment(&target, agent_box_session::env::SESSION_ID)
                    .ok()
                    .flatten()
            });
            terminal.conversation.clone_from(known);
        }
        Known::Known(terminals)
    }
}

/// Whether the launcher that the record names lives or, before it passed its gate, the process in
/// its terminal. A terminal may outlive its launcher: a person can have split it.
fn watcher_lives(record: &LaunchRecord, pane: Option<&i32>, panes: &BTreeMap<i32, u64>) -> bool {
    let in_pane = |pid: i32| panes.get(&pid).copied();
    match (record.launcher(), pane) {
        (Some(launcher), Some(pane)) if launcher.pid == *pane => in_pane(*pane).is_some(),
        (Some(launcher), _) => is_alive(launcher),
        (None, pane) => pane.is_some_and(|pane| in_pane(*pane).is_some()),
    }
}

/// The living processes in our terminals, with their start times.
fn panes(terminals: &Known<Vec<Terminal>>) -> BTreeMap<i32, u64> {
    let ours = terminals.known().into_iter().flatten().filter(|it| it.session.is_some());
    ours.filter_map(|terminal| Stat::read(terminal.pane_pid))
        .filter(Stat::is_alive)
        .map(|stat| (stat.pid, stat.start_time))
        .collect()
}

fn terminal(session: &Session, store: &str) -> Terminal {
    let ours = session.store.as_deref() == Some(store);
    let parsed = |text: &Option<String>| text.as_deref().filter(|_| ours).map(str::to_owned);
    Terminal {
        tmux_id: session.tmux_id.to_string(),
        name: session.name.clone(),
        session: parsed(&session.id).and_then(|id| id.parse().ok()),
        launch: parsed(&session.launch).and_then(|id| id.parse().ok()),
        pane_pid: i32::try_from(session.pane.pid).unwrap_or(0),
        foreign: session.store.is_some() && !ours,
        conversation: None,
    }
}
