//! A file that was opened before an `rm` and saved after it brings the removed entry back.
//!
//! Seen red with tombstones that nobody looks at: the removed session is started again.

use super::stage::{IN_LAUNCHER, IN_SUPERVISOR, QUEST, at_each};

const REGISTRY: &str = ".config/agent-box/sessions.json";

at_every_point_of_a_start! {
    p3_a_removed_session_that_a_stale_editor_brings_back_starts_anew_without_its_prompt: |stage| {
        let opened = stage.test_box.read(REGISTRY);
        let id = stage.session.unwrap();
        stage.remove(QUEST);
        stage.test_box.put(REGISTRY, &opened);
        stage.release();
        stage.settle();
        let registry = stage.oracle.store.read().unwrap().registry;
        let [(_, entry)] = registry.entries().collect::<Vec<_>>()[..] else { panic!("one entry") };
        assert_ne!(entry.id, Some(id), "the old id stays buried");
        assert_eq!(entry.spec.initial_prompt, None, "its prompt was for the removed session");
    };
}
