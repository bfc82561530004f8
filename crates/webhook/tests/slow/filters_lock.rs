//! Somebody who holds the filters' lock and does not let go.

use std::fs::File;

use crate::verbs::{Scene, read_json};

#[test]
fn a_writer_gives_up_after_5_s_names_the_holder_and_changes_nothing() {
    let scene = Scene::in_session();
    scene.run(&["subscribe", "o/r"]).expect(0);
    let path = scene.paths().state().join("filter.alice-main.json");
    let before = read_json(&path);
    let lock = File::open(scene.paths().filters_lock()).unwrap();
    lock.lock().unwrap();
    let done = scene.run(&["subscribe", "o/s"]).expect(1);
    let holder = format!("filters.lock is locked by pid {} (", std::process::id());
    assert!(done.stderr.contains(&holder), "{}", done.stderr);
    assert!(done.stderr.contains("after 5 s"), "{}", done.stderr);
    assert_eq!(read_json(&path), before);
    assert_eq!(scene.list()["topics"].as_array().unwrap().len(), 1, "reading needs no lock");
    drop(lock);
    scene.run(&["subscribe", "o/s"]).expect(0);
}
