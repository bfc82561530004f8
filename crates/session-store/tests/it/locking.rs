//! Writers in many processes, and one that does not let go.

use std::fs::File;
use std::time::Duration;

use agent_box_session_store::{LockError, TransactError};
use agent_box_testkit::within;
use rustix::process::{Pid, Signal, kill_process};

use crate::child;
use crate::home::{Home, name, open, operator};

#[test]
fn six_hundred_edits_of_two_processes_are_all_there() {
    let home = Home::new();
    home.add("a");
    home.add("b");
    let children = ["count a 300", "count b 300"].map(|task| child::spawn(home.path(), task));
    children.into_iter().for_each(child::succeed);
    let registry = home.store.read().unwrap().registry;
    for key in ["a", "b"] {
        assert_eq!(registry.entry(&name(key)).unwrap().spec.limits.tasks_max, Some(300));
    }
    let text: serde_json::Value = serde_json::from_str(&home.text()).unwrap();
    assert_eq!(text["total"], 600);
}

#[test]
fn fifty_parallel_adds_are_all_listed_and_fifty_removals_leave_nothing() {
    let home = Home::new();
    for verb in ["add", "rm"] {
        let spawn = |number| child::spawn(home.path(), &format!("{verb} s{number}"));
        let children: Vec<_> = (0..50).map(spawn).collect();
        children.into_iter().for_each(child::succeed);
        assert_eq!(home.names().len(), if verb == "add" { 50 } else { 0 });
    }
    assert_eq!(home.store.tombstones().unwrap().len(), 50);
}

#[test]
fn a_stopped_lock_holder_is_named_and_nobody_writes() {
    let home = Home::new();
    home.add("one");
    let before = home.text();
    let mut holder = child::spawn(home.path(), child::HOLD);
    child::wait_locked(&mut holder);
    let pid = Pid::from_child(&holder);
    kill_process(pid, Signal::STOP).unwrap();
    let impatient = open(home.path()).with_lock_wait(Duration::from_millis(300));
    let waiters: Vec<_> = (0..3)
        .map(|_| {
            let store = impatient.clone();
            std::thread::spawn(move || {
                store.transact(operator("stop"), |tx| tx.stop(&name("one"), "test")).unwrap_err()
            })
        })
        .collect();
    for waiter in waiters {
        let error = waiter.join().unwrap();
        let program = std::env::current_exe().unwrap();
        let program = program.file_name().unwrap().to_str().unwrap();
        let words = format!("is locked by pid {} ({program})", holder.id());
        assert!(error.to_string().contains(&words), "{error}");
        assert!(matches!(error, TransactError::Lock(LockError::Held { .. })));
    }
    assert_eq!(home.text(), before);
    // Reading needs no lock.
    assert_eq!(home.names(), ["one"]);
    kill_process(pid, Signal::CONT).unwrap();
    drop(holder.stdin.take());
    child::succeed(holder);
    home.stop("one");
}

#[test]
fn a_dead_lock_holder_does_not_matter() {
    let home = Home::new();
    let mut holder = child::spawn(home.path(), child::HOLD);
    child::wait_locked(&mut holder);
    holder.kill().unwrap();
    holder.wait().unwrap();
    home.add("one");
}

#[test]
fn a_transaction_inside_a_transaction_is_an_error_and_does_not_hang() {
    let home = Home::new();
    let store = home.store.clone();
    let result = store.transact(operator("outer"), |_| {
        home.store.transact(operator("inner"), |tx| tx.stop(&name("x"), "test"))
    });
    let text = format!("{}", result.unwrap_err());
    assert!(text.contains("do not nest transactions"), "{text}");
    home.add("one");
}

#[test]
fn the_reference_system_lock_is_respected() {
    let home = Home::new();
    let path = home.store.paths().registry_lock();
    let theirs = File::create(&path).unwrap();
    theirs.lock().unwrap();
    let impatient = open(home.path()).with_lock_wait(Duration::from_millis(50));
    let add = |store: &agent_box_session_store::Store| {
        let spec = agent_box_session::SessionSpec::new(agent_box_session::Agent::Shell);
        store.transact(operator("add"), |tx| tx.add(name("one"), spec, "test"))
    };
    assert!(matches!(add(&impatient), Err(TransactError::Lock(LockError::Held { .. }))));
    // A lock file that was replaced meanwhile is another lock: the old one counts for nothing.
    std::fs::remove_file(&path).unwrap();
    assert!(add(&impatient).is_ok());
}

#[test]
fn a_lifetime_lock_is_held_by_one_and_freed_by_death() {
    let home = Home::new();
    let id = home.store.mint_session();
    assert!(home.store.lifetime_is_free(id).unwrap());
    let lock = home.store.lifetime_lock(id).unwrap().unwrap();
    let other = open(home.path());
    let (free, taken) = std::thread::spawn(move || {
        (other.lifetime_is_free(id).unwrap(), other.lifetime_lock(id).unwrap().is_some())
    })
    .join()
    .unwrap();
    assert!(!free && !taken);
    assert!(home.store.lifetime_lock(id).unwrap().is_none(), "not even for its own holder");
    // It may move: the launcher waits in one thread and ends in another.
    std::thread::spawn(move || drop(lock)).join().unwrap();
    assert!(home.store.lifetime_is_free(id).unwrap());
}

#[test]
fn there_is_one_supervisor_of_a_state_directory_and_of_a_socket() {
    let home = Home::new();
    assert!(!home.store.is_supervised());
    let claim = home.store.claim_supervisor().unwrap();
    let elsewhere = Home::new();
    let socket = home.store.paths().socket().to_owned();
    let paths = agent_box_session::paths::Paths::new(elsewhere.path(), socket);
    let same_socket = agent_box_session_store::Store::open(paths).unwrap();
    let (same_state, error) = std::thread::spawn({
        let store = home.store.clone();
        move || {
            let error = same_socket.claim_supervisor().unwrap_err().to_string();
            (store.claim_supervisor().is_ok(), error)
        }
    })
    .join()
    .unwrap();
    assert!(!same_state);
    let me = format!("pid {}", std::process::id());
    assert!(error.contains("another supervisor runs here") && error.contains(&me), "{error}");
    drop(claim);
    within(5).until("the claim is free", || home.store.claim_supervisor().is_ok());
}
