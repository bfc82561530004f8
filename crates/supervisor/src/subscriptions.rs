//! The filter files of sessions: they go with their session, and come back with it.
//!
//! What a removed session was subscribed to is kept under its id, where no session of its name
//! finds it, for as long as the rest of what `undo` needs.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_box_disk::{IoError, remove, rename_if_any, sync_parent};
use agent_box_session::{Registry, SessionId, SessionName, Timestamp, WebhookPaths};
use agent_box_session_store::{Change, Store, TransactError};

/// How long they are kept, as launch records are.
const KEPT: Duration = Duration::from_hours(7 * 24);
/// No filter's name begins so.
const KEPT_PREFIX: &str = "removed.";

/// The subscriptions of one user's sessions, kept as files by the webhook programs.
#[derive(Clone, Debug)]
pub struct Subscriptions {
    /// Where they are.
    pub paths: WebhookPaths,
    /// Whose sessions they are of.
    pub user: String,
}

impl Subscriptions {
    /// Puts away what a removed session was subscribed to, unless one of its name is listed
    /// (again).
    ///
    /// # Errors
    /// When the file cannot be moved.
    pub fn forget(
        &self,
        store: &Store,
        name: &SessionName,
        id: Option<SessionId>,
    ) -> Result<(), IoError> {
        match store.read() {
            Ok(document) if !document.registry.is_taken(name.as_str()) => {
                self.put_away(store, name, id)
            }
            // Unreadable is not unlisted.
            _ => Ok(()),
        }
    }

    /// [`Subscriptions::forget`] for one whose name another session has by now.
    ///
    /// # Errors
    /// When the file cannot be moved.
    pub(crate) fn put_away(
        &self,
        store: &Store,
        name: &SessionName,
        id: Option<SessionId>,
    ) -> Result<(), IoError> {
        self.sweep_kept(store.now());
        let filter = self.filter(name);
        match id {
            Some(id) => rename(&filter, &self.kept(id)),
            None => remove(&filter),
        }
    }

    /// Gives a session that was removed what it was subscribed to, unless it is subscribed again.
    ///
    /// # Errors
    /// When the file cannot be moved.
    pub fn bring_back(&self, name: &SessionName, id: SessionId) -> Result<(), IoError> {
        let filter = self.filter(name);
        if filter.exists() {
            return Ok(());
        }
        rename(&self.kept(id), &filter)
    }

    /// Removes what was kept long enough.
    fn sweep_kept(&self, now: Timestamp) {
        let entries = std::fs::read_dir(self.paths.state()).into_iter().flatten().flatten();
        for entry in entries {
            let file = entry.file_name();
            let id =
                file.to_str().and_then(|it| it.strip_prefix(KEPT_PREFIX)?.strip_suffix(".json"));
            let is_kept = id.is_some_and(|id| id.parse::<SessionId>().is_ok());
            // Being put away changed no content, but it changed the entry.
            let put = entry.metadata().ok().and_then(|it| u64::try_from(it.ctime()).ok());
            let age = put.map(|seconds| now.since(Timestamp::from_millis(seconds * 1000)));
            if is_kept && age.is_some_and(|age| age > KEPT) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Removes the filters of sessions that are not listed; returns how many.
    ///
    /// RACE: a spawn wrapper writes a session's filter just before its entry, under the registry's
    /// lock; so this looks under it too (`a_filter_written_just_before_its_entry_is_not_swept`).
    ///
    /// # Errors
    /// When the registry is damaged or locked: nothing is removed then.
    pub fn sweep(&self, store: &Store) -> Result<usize, TransactError<std::convert::Infallible>> {
        store.transact(Change::Mirror, |tx| {
            let orphans = self.orphans(&tx.registry);
            Ok(orphans.into_iter().filter(|path| std::fs::remove_file(path).is_ok()).count())
        })
    }

    fn orphans(&self, registry: &Registry) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.paths.state()).into_iter().flatten().flatten();
        let prefix = format!("filter.{}-", self.user);
        entries
            .filter_map(|entry| {
                let file = entry.file_name();
                let name = file.to_str()?.strip_prefix(&prefix)?.strip_suffix(".json")?;
                let name = SessionName::parse(name).ok()?;
                (!registry.is_taken(name.as_str())).then(|| entry.path())
            })
            .collect()
    }

    fn kept(&self, id: SessionId) -> PathBuf {
        self.paths.state().join(format!("{KEPT_PREFIX}{id}.json"))
    }

    fn filter(&self, name: &SessionName) -> PathBuf {
        self.paths.filter(Some(&WebhookPaths::session_key(&self.user, name)))
    }
}

/// Durably; one that is gone is fine.
fn rename(from: &Path, to: &Path) -> Result<(), IoError> {
    if rename_if_any(from, to)? { sync_parent(to) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use agent_box_session::paths::Paths;
    use agent_box_session::{Agent, SessionSpec};

    use super::*;

    struct Scene {
        _home: tempfile::TempDir,
        store: Store,
        subscriptions: Subscriptions,
    }

    impl Scene {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let store = Store::open(Paths::new(home.path(), home.path().join("s"))).unwrap();
            let paths = WebhookPaths::new(home.path().join("webhook"));
            std::fs::create_dir(paths.state()).unwrap();
            let subscriptions = Subscriptions { paths, user: "ann".to_owned() };
            Self { _home: home, store, subscriptions }
        }

        fn add(&self, name: &str) {
            let change = Change::Operator { by: "test".to_owned(), summary: "add".to_owned() };
            let name = SessionName::parse(name).unwrap();
            let spec = SessionSpec::new(Agent::Shell);
            self.store.transact(change, |tx| tx.add(name, spec, "test")).unwrap();
        }

        fn put(&self, files: &[&str]) {
            for file in files {
                File::create(self.subscriptions.paths.state().join(file)).unwrap();
            }
        }

        fn files(&self) -> Vec<String> {
            let entries = std::fs::read_dir(self.subscriptions.paths.state()).unwrap().flatten();
            let mut names: Vec<String> =
                entries.map(|it| it.file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    /// What belongs to nobody's session of this user.
    const KEPT: [&str; 7] = [
        "filter.ann-.json",
        "filter.ann-a.b.json",
        "filter.ann.json",
        "filter.bob-gone.json",
        "filter.dispatch.json",
        "filter.json",
        "filters.lock",
    ];

    #[test]
    fn only_filters_of_unlisted_sessions_are_swept() {
        let scene = Scene::new();
        scene.add("main");
        scene.put(&KEPT);
        scene.put(&["filter.ann-main.json", "filter.ann-gone.json", "filter.ann-gone-2.json"]);
        assert_eq!(scene.subscriptions.sweep(&scene.store).unwrap(), 2);
        let mut kept: Vec<&str> = KEPT.to_vec();
        kept.insert(2, "filter.ann-main.json");
        assert_eq!(scene.files(), kept);
    }

    #[test]
    fn a_registry_that_cannot_be_read_sweeps_and_forgets_nothing() {
        let scene = Scene::new();
        scene.put(&["filter.ann-gone.json"]);
        for text in ["{", "", "[]"] {
            use std::io::Write as _;
            let mut file = File::create(scene.store.paths().registry()).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            scene.subscriptions.sweep(&scene.store).unwrap_err();
            let gone = SessionName::parse("gone").unwrap();
            scene.subscriptions.forget(&scene.store, &gone, None).unwrap();
            assert_eq!(scene.files(), ["filter.ann-gone.json"], "{text:?}");
        }
    }

    #[test]
    fn a_removed_session_is_forgotten_and_a_listed_one_is_not() {
        let scene = Scene::new();
        scene.add("main");
        scene.put(&["filter.ann-main.json", "filter.ann-gone.json", "filter.ann-gone-2.json"]);
        for name in ["main", "gone", "gone"] {
            let name = SessionName::parse(name).unwrap();
            scene.subscriptions.forget(&scene.store, &name, None).unwrap();
        }
        assert_eq!(scene.files(), ["filter.ann-gone-2.json", "filter.ann-main.json"]);
    }

    #[test]
    fn what_a_removed_session_was_subscribed_to_is_kept_a_week_under_its_id() {
        let scene = Scene::new();
        let (one, two) = (scene.store.mint_session(), scene.store.mint_session());
        let name = SessionName::parse("gone").unwrap();
        // A box without webhooks has not even the directory.
        std::fs::remove_dir(scene.subscriptions.paths.state()).unwrap();
        scene.subscriptions.forget(&scene.store, &name, Some(one)).unwrap();
        std::fs::create_dir(scene.subscriptions.paths.state()).unwrap();
        scene.put(&["filter.ann-gone.json", "removed.txt"]);
        scene.subscriptions.forget(&scene.store, &name, Some(one)).unwrap();
        scene.subscriptions.bring_back(&name, two).unwrap();
        let kept = format!("removed.{one}.json");
        assert_eq!(scene.files(), [kept.as_str(), "removed.txt"], "another one has the name");
        scene.subscriptions.bring_back(&name, one).unwrap();
        assert_eq!(scene.files(), ["filter.ann-gone.json", "removed.txt"]);

        // An old filter is kept from when it was put away; what is no file is kept as well.
        let filter = scene.subscriptions.filter(&name);
        let file = File::options().write(true).open(&filter).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        scene.subscriptions.forget(&scene.store, &name, Some(one)).unwrap();
        std::fs::create_dir(&filter).unwrap();
        scene.subscriptions.forget(&scene.store, &name, Some(two)).unwrap();
        let both = [format!("removed.{one}.json"), format!("removed.{two}.json")];
        assert_eq!(scene.files(), [&both[0], &both[1], "removed.txt"]);
        let after = |time| Timestamp::from_millis(scene.store.now().as_millis() + time);
        let week = u64::try_from(super::KEPT.as_millis()).unwrap();
        scene.subscriptions.sweep_kept(after(week - 60_000));
        assert_eq!(scene.files().len(), 3);
        scene.subscriptions.sweep_kept(after(week + 60_000));
        assert_eq!(scene.files(), [&both[1], "removed.txt"]);
    }

    #[test]
    fn a_filter_written_just_before_its_entry_is_not_swept() {
        let scene = Scene::new();
        let change = Change::Operator { by: "test".to_owned(), summary: "add".to_owned() };
        let name = SessionName::parse("hook-a").unwrap();
        let sweeper = std::thread::scope(|threads| {
            let sweeper = scene.store.transact(change, |tx| {
                scene.put(&["filter.ann-hook-a.json"]);
                let (began, begins) = std::sync::mpsc::channel();
                let scene = &scene;
                let sweeper = threads.spawn(move || {
                    began.send(()).unwrap();
                    scene.subscriptions.sweep(&scene.store).unwrap()
                });
                begins.recv().unwrap();
                tx.add(name, SessionSpec::new(Agent::Shell), "test").map(|_| sweeper)
            });
            sweeper.unwrap().join().unwrap()
        });
        assert_eq!(sweeper, 0);
        assert_eq!(scene.files(), ["filter.ann-hook-a.json"]);
    }
}
