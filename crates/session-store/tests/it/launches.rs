//! Launch records, rotation records and the store's own id.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use agent_box_session::{
    Agent, Ending, Exit, LaunchRecord, LaunchState, Limits, ProcessRef, SessionId, Trouble,
    TroubleKind,
};
use agent_box_session_store::LaunchError;

use crate::home::{Home, name, open, put};

fn record(home: &Home, id: SessionId) -> LaunchRecord {
    let (launch, now) = (home.store.mint_launch(), home.store.now());
    let mut record = LaunchRecord::blank(id, name("one"), launch, Agent::Claude, 3, now);
    record.argv = vec!["claude".to_owned(), "--".to_owned(), "a \"b\"\n\\".to_owned()];
    record.environment = vec![("A".to_owned(), "1=2".to_owned()), ("A".to_owned(), String::new())];
    "/home/ä b".clone_into(&mut record.directory);
    record.prompt = Some("长".repeat(400_000));
    record.carries_prompt = true;
    record.conversation = Some("talk".to_owned());
    record.notes = vec!["started fresh".to_owned()];
    record.login_hints = vec!["Please run /login".to_owned()];
    record.limits = Limits { memory_max: Some(u64::MAX), ..Limits::default() };
    record.cgroup = Some("/sys/fs/cgroup/x".to_owned());
    record.quick_deaths = 4;
    record.trouble = Some(Trouble {
        kind: TroubleKind::BadDirectory,
        text: "gone".to_owned(),
        at: now,
        attempts: 2,
    });
    record
}

#[test]
fn a_record_is_read_as_it_was_written_in_every_state() {
    let home = Home::new();
    let id = home.store.mint_session();
    assert!(home.store.launch(id).unwrap().is_none());
    let mut record = record(&home, id);
    let process = |pid| ProcessRef { pid, start_time: u64::MAX, boot_id: "boot".to_owned() };
    let at = home.store.now();
    let ended =
        |exit, ending| LaunchState::Ended { started: at, at, exit, ending, needs_login: true };
    let states = [
        LaunchState::Prepared,
        LaunchState::Starting {
            launcher: process(1),
            at,
            agent: Some(process(2)),
            suspended: true,
        },
        ended(Exit::Code(1), Ending::PostMortem),
        ended(Exit::Signal(9), Ending::Respawn),
        ended(Exit::OutOfMemory, Ending::Respawn),
        ended(Exit::NotStarted("no such file".to_owned()), Ending::Respawn),
        ended(Exit::Unseen, Ending::Interrupted),
        ended(Exit::Code(0), Ending::Parked),
    ];
    for state in states {
        record.state = state;
        home.store.write_launch(&record).unwrap();
        assert_eq!(home.store.launch(id).unwrap().as_ref(), Some(&record));
    }
    let mode = fs::metadata(home.store.paths().launch(id)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    home.store.remove_launch(id).unwrap();
    assert!(home.store.launch(id).unwrap().is_none());
    assert!(home.store.launches().unwrap().is_empty());
}

#[test]
fn a_damaged_or_newer_record_is_an_error_and_never_none() {
    let home = Home::new();
    let (good, bad) = (home.store.mint_session(), home.store.mint_session());
    home.store.write_launch(&record(&home, good)).unwrap();
    let text = fs::read_to_string(home.store.paths().launch(good)).unwrap();
    let path = home.store.paths().launch(bad);
    for end in [0, 1, 20, text.len() / 2, text.len() - 3] {
        put(&path, &text.as_bytes()[..end]);
        let error = home.store.launch(bad).unwrap_err();
        assert!(matches!(error, LaunchError::Damaged { .. }), "cut at {end}: {error}");
    }
    put(&path, text.replace("\"version\": 1", "\"version\": 2").as_bytes());
    let error = home.store.launch(bad).unwrap_err();
    assert!(matches!(error, LaunchError::Newer { version: 2, .. }), "{error}");
    put(&path, text.replace("\"version\": 1", "\"version\": 1, \"later\": {}").as_bytes());
    assert!(home.store.launch(bad).is_ok(), "unknown fields are passed over");
    put(&path, b"{");
    let list = home.store.launches().unwrap();
    assert_eq!(list.len(), 2);
    assert!(list[0].1.is_ok() && list[1].0 == bad && list[1].1.is_err());
}

#[test]
fn a_held_lifetime_lock_survives_the_removal_of_its_record() {
    let home = Home::new();
    let id = home.store.mint_session();
    let lock = home.store.lifetime_lock(id).unwrap().unwrap();
    let store = home.store.clone();
    std::thread::spawn(move || store.remove_launch(id).unwrap()).join().unwrap();
    let store = home.store.clone();
    let free = std::thread::spawn(move || store.lifetime_is_free(id).unwrap()).join().unwrap();
    assert!(!free);
    drop(lock);
    home.store.remove_launch(id).unwrap();
    assert!(!home.store.paths().lifetime_lock(id).exists());
}

#[test]
fn rotation_records_are_shared_with_the_reference_system() {
    let home = Home::new();
    let from = "6f1c2d7e-0f5d-4a0e-9f57-0f8f3f6f0001";
    let to = "6f1c2d7e-0f5d-4a0e-9f57-0f8f3f6f0002";
    assert_eq!(home.store.rotation(from).unwrap(), None);
    home.store.write_rotation(from, to).unwrap();
    assert_eq!(home.store.rotation(from).unwrap().as_deref(), Some(to));
    put(&home.store.paths().rotation(from), b"nonsense\n");
    assert_eq!(home.store.rotation(from).unwrap(), None);
    assert_eq!(home.store.rotation("../../secret").unwrap(), None);
    assert!(home.store.write_rotation("../x", to).is_err());
    let side = home.store.paths().reference_side_file("main");
    assert_eq!(home.store.reference_conversation(&name("main")).unwrap(), None);
    fs::create_dir_all(side.parent().unwrap()).unwrap();
    put(&side, format!("{{\"launchSessionId\":\"{from}\"}}").as_bytes());
    assert_eq!(home.store.reference_conversation(&name("main")).unwrap().as_deref(), Some(from));
}

#[test]
fn the_store_id_is_made_once_whoever_comes_first() {
    let directory = tempfile::tempdir().unwrap();
    let open_all = || {
        let opened: Vec<_> = (0..8)
            .map(|_| {
                let path = directory.path().to_owned();
                std::thread::spawn(move || open(&path).store_id())
            })
            .collect();
        opened.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    };
    let mut ids = open_all();
    ids.extend(open_all());
    ids.dedup();
    assert_eq!(ids.len(), 1);
    let file = open(directory.path()).paths().store_id();
    put(&file, b"");
    let paths = open_fails(directory.path());
    assert!(paths.contains("does not hold a store id"), "{paths}");
    assert_eq!(fs::read(&file).unwrap(), b"");
}

fn open_fails(home: &std::path::Path) -> String {
    let paths = agent_box_session::paths::Paths::new(home, home.join("s"));
    agent_box_session_store::Store::open(paths).unwrap_err().to_string()
}

#[test]
fn temporary_files_of_dead_writers_are_removed_and_those_of_living_ones_stay() {
    let home = Home::new();
    let config = home.store.paths().config();
    // Process ids end at 4194304.
    let dead = config.join(".agent-box-4194305-sessions.json.abc");
    let alive = config.join(format!(".agent-box-{}-sessions.json.abc", std::process::id()));
    put(&dead, b"x");
    put(&alive, b"x");
    open(home.path());
    assert!(!dead.exists() && alive.exists());
}
