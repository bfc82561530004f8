//! Which session a command hits.

use agent_box_tmux_driver::{Kill, SessionTarget, StartPolicy, Tag, TmuxError};

use crate::rig::{Rig, name, tags};

#[test]
fn deleting_a_name_twice_leaves_longer_names_alive() {
    // A prefix that several names share is an error in tmux; one that a single name has is a hit.
    for others in [["a-1"].as_slice(), &["a*", "a-1", "a-10"]] {
        let rig = Rig::new();
        rig.idle("a");
        for other in others {
            rig.raw(&["new-session", "-d", "-s", other, "sleep", "1000000"]);
        }
        let kill = |only_if| rig.tmux.kill_session(&name("a"), only_if).unwrap();
        assert_eq!(kill(None), Kill::Killed);
        assert_eq!(kill(None), Kill::NotThere);
        assert_eq!(kill(Some((Tag::Id, "a"))), Kill::NotThere);
        assert_eq!(rig.names(), others);
    }
}

#[test]
fn no_other_operation_matches_a_longer_name_either() {
    let rig = Rig::new();
    rig.idle("quest-two");
    let quest = name("quest");
    let missing = [
        rig.tmux.capture(&quest, 1).map(drop),
        rig.tmux.set_tags(&quest, &tags("x")),
        rig.tmux.session_environment(&quest, "A").map(drop),
        rig.tmux.display_message(&quest, "#{session_name}").map(drop),
    ];
    for result in missing {
        assert!(matches!(result, Err(TmuxError::NoSuchSession { .. })), "{result:?}");
    }
}

#[test]
fn a_session_is_killed_only_while_it_carries_the_expected_tag() {
    let rig = Rig::new();
    rig.idle("a");
    rig.idle("b");
    let kill = |launch| rig.tmux.kill_session(&name("a"), Some((Tag::Launch, launch))).unwrap();
    assert_eq!(kill("launch-of-b"), Kill::OtherHolder);
    assert_eq!(kill("launch-of"), Kill::OtherHolder);
    assert_eq!(rig.names(), ["a", "b"]);
    assert_eq!(kill("launch-of-a"), Kill::Killed);
    assert_eq!(kill("launch-of-a"), Kill::NotThere);
    assert_eq!(rig.names(), ["b"]);
}

#[test]
fn an_id_survives_a_rename_and_does_not_hit_the_next_holder_of_the_name() {
    let rig = Rig::new();
    let first = SessionTarget::from(rig.idle("a").session);
    rig.raw(&["rename-session", "-t", "=a", "moved"]);
    rig.idle("a");
    let only = Some((Tag::Id, "a"));
    assert_eq!(rig.tmux.display_message(&first, "#{session_name}").unwrap(), "moved");
    assert_eq!(rig.tmux.kill_session(&first, only).unwrap(), Kill::Killed);
    assert_eq!(rig.tmux.kill_session(&first, only).unwrap(), Kill::NotThere);
    assert_eq!(rig.names(), ["a"]);
}

#[test]
fn killing_without_a_server_is_success_and_starts_none() {
    let rig = Rig::new();
    assert_eq!(rig.tmux.kill_session(&name("a"), None).unwrap(), Kill::NotThere);
    assert!(!rig.tmux.socket().exists());
}

#[test]
fn a_condition_that_is_no_tag_is_refused() {
    let rig = Rig::started();
    let before = rig.tmux.round_trips();
    for value in ["", "a,b", "#{pid}", "}", "a\nb"] {
        let result = rig.tmux.kill_session(&name("a"), Some((Tag::Id, value)));
        assert!(matches!(result, Err(TmuxError::Unfit { .. })), "{value:?}: {result:?}");
    }
    assert_eq!(rig.tmux.round_trips(), before);
}

#[test]
fn an_untagged_session_is_tagged_in_one_round_trip() {
    let rig = Rig::started();
    rig.raw(&["new-session", "-d", "-s", "by-hand", "sleep", "1000000"]);
    let tmux = rig.handle(StartPolicy::Never);
    tmux.set_tags(&name("by-hand"), &tags("x")).unwrap();
    assert_eq!(tmux.round_trips(), 1);
    let session = tmux.snapshot().unwrap().sessions.remove(0);
    assert_eq!(session.store.as_deref(), Some("store-1"));
    assert_eq!(session.id.as_deref(), Some("x"));
    assert_eq!(session.launch.as_deref(), Some("launch-of-x"));
}
