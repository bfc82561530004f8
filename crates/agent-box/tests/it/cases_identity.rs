//! Cases C33, C35 and C38: which conversation a session goes on with, and who holds it.

use agent_box_testkit::{process, within};

use crate::scene::{
    add_claude, events, id_of, say, state, supervise, supervised_box, wait_launches, wait_state,
};

#[test]
fn c33_five_sessions_in_one_directory_come_back_with_their_own_conversations() {
    let (scene, _supervisor) = supervised_box();
    let names = ["a", "b", "c", "d", "e"];
    let mut conversations = Vec::new();
    for name in names {
        add_claude(&scene, name, &["--prompt", &format!("you are {name}")]);
    }
    for name in names {
        wait_state(&scene, name, "live");
        conversations.push(wait_launches(&scene, name, 1).conversation().to_owned());
    }
    for name in ["d", "a", "e", "b", "c", "a"] {
        scene.tmux().type_line(name, &format!("a word to {name}"));
        within(10).until("it answers", || scene.tmux().screen(name).contains("PONG"));
    }
    // Two of them move on to a conversation of a new id.
    for (at, name) in [(1, "b"), (3, "d")] {
        let record = scene.state().join("live-session-id").join(&conversations[at]);
        scene.tmux().type_line(name, "/clear");
        let moved = within(10).for_some("the hook noted the new id", || {
            let id = std::fs::read_to_string(&record).ok()?.trim().to_owned();
            (id != conversations[at]).then_some(id)
        });
        conversations[at] = moved;
        scene.tmux().type_line(name, &format!("anew to {name}"));
        let screen = || scene.tmux().screen(name);
        within(10).until("it answers", || screen().ends_with("PONG"));
    }
    scene.tmux().kill_server();
    for (name, conversation) in names.iter().zip(&conversations) {
        let again = wait_launches(&scene, name, 2);
        assert!(again.is_resumed(), "{name}");
        assert_eq!(again.conversation(), conversation, "{name}");
        assert!(!again.has_prompt(&format!("you are {name}")), "{name}");
    }
    assert!(scene.stubs().doubles().is_empty());
}

#[test]
fn c33_a_conversation_that_is_not_provably_its_own_is_not_resumed_and_it_says_so() {
    let (scene, _supervisor) = supervised_box();
    add_claude(&scene, "one", &["--prompt", "first"]);
    wait_state(&scene, "one", "live");
    let launch = wait_launches(&scene, "one", 1);
    scene.tmux().type_line("one", "a word");
    within(10).until("it answers", || scene.tmux().screen("one").contains("PONG"));
    // Somebody moved its transcript to another directory's, where it proves nothing.
    let projects = scene.home().join(".claude/projects");
    let project = std::fs::read_dir(&projects).unwrap().next().unwrap().unwrap().path();
    let transcript = project.join(format!("{}.jsonl", launch.conversation()));
    scene.put(".claude/projects/-other/x.jsonl", "");
    let other = projects.join("-other").join(transcript.file_name().unwrap());
    std::fs::copy(&transcript, &other).unwrap();
    std::fs::remove_file(&transcript).unwrap();
    scene.tmux().kill_server();
    let again = wait_launches(&scene, "one", 2);
    assert!(!again.is_resumed());
    assert_ne!(again.pid(), launch.pid());
    let screen = || scene.tmux().screen("one");
    within(5).until("the pane says so", || screen().contains("another directory"));
    let why = say(&scene, &["why", "one"]);
    assert!(why.contains("another directory"), "{why}");
}

#[test]
fn c33_two_sessions_that_moved_to_one_conversation_do_not_both_resume_it() {
    let (mut scene, supervisor) = supervised_box();
    let mut launches = Vec::new();
    for name in ["a", "b"] {
        add_claude(&scene, name, &["--prompt", &format!("you are {name}")]);
        wait_state(&scene, name, "live");
        launches.push(wait_launches(&scene, name, 1));
        scene.tmux().type_line(name, "a word");
        within(10).until("it answers", || scene.tmux().screen(name).contains("PONG"));
    }
    scene.tmux().type_line("b", "/clear");
    let note = |at: usize| {
        format!(".local/state/agent-box/live-session-id/{}", launches[at].conversation())
    };
    let moved = within(10).for_some("the hook noted the new id", || {
        let id = std::fs::read_to_string(scene.home().join(note(1))).ok()?;
        (id.trim() != launches[1].conversation()).then_some(id)
    });
    scene.tmux().type_line("b", "anew");
    within(10).until("it answers", || scene.tmux().screen("b").ends_with("PONG"));
    // In `a`, a person opens what `b` is in.
    supervisor.kill();
    scene.put(note(0), &moved);
    scene.tmux().kill_server();
    // As after a reboot: both start in the same moment.
    let _supervisor = supervise(&mut scene);
    let again = ["a", "b"].map(|name| wait_launches(&scene, name, 2));
    assert_ne!(again[0].conversation(), again[1].conversation());
    assert!(scene.stubs().doubles().is_empty());
}

#[test]
fn c35_a_killed_supervisor_ends_nothing_and_the_next_one_takes_over() {
    let (mut scene, supervisor) = supervised_box();
    scene.stubs().plan(r#"{"failed": {"exit": 1}}"#);
    let names = ["one", "two", "failed"];
    for name in names {
        add_claude(&scene, name, &["--prompt", name]);
    }
    wait_state(&scene, "failed", "post-mortem");
    let agents = ["one", "two"].map(|name| wait_launches(&scene, name, 1));
    supervisor.kill();
    let _supervisor = supervise(&mut scene);
    within(2).always("nothing is started", || scene.stubs().launches().len() == 3);
    assert!(agents.iter().all(agent_box_testkit::Launch::is_alive));
    assert_eq!(state(&scene, "failed"), "post-mortem(1)");
    assert!(scene.stubs().doubles().is_empty());
    // It really watches them.
    process::send(agents[0].pid(), rustix::process::Signal::KILL);
    let again = wait_launches(&scene, "one", 2);
    assert_eq!(again.conversation(), agents[0].conversation());
}

#[test]
fn c38_the_next_holder_of_a_name_gets_nothing_of_the_last_one() {
    let (scene, _supervisor) = supervised_box();
    let mut ids = Vec::new();
    let mut conversations = Vec::new();
    for round in 1..=5 {
        let prompt = format!("task {round}");
        add_claude(&scene, "foo", &["--prompt", &prompt]);
        let first = wait_launches(&scene, "foo", 2 * round - 1);
        assert_eq!(first.prompt(), Some(&*prompt));
        ids.push(id_of(&scene, "foo"));
        say(&scene, &["rm", "foo"]);
        assert!(!first.is_alive());
        add_claude(&scene, "foo", &[]);
        let second = wait_launches(&scene, "foo", 2 * round);
        assert_eq!(second.prompt(), None);
        ids.push(id_of(&scene, "foo"));
        say(&scene, &["rm", "foo"]);
        for launch in [first, second] {
            assert!(!launch.is_resumed());
            conversations.push(launch.conversation().to_owned());
        }
    }
    for mut unique in [ids, conversations] {
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), 10);
    }
    assert_eq!(events(&scene, "foo", "removed").len(), 10);
}
