//! The short story that the whole box has to live up to.

use agent_box_testkit::{process, within};

use crate::scene::{
    add_claude, ask, names, put_registry, say, state, supervised_box, wait_conversation,
    wait_launches, wait_state,
};

#[test]
fn story_three_sessions_survive_everything_and_a_removed_one_never_appears() {
    let (scene, _supervisor) = supervised_box();
    let prompt = "Erzähl mir, was du siehst: 漢字 $(id) 'quoted' \\\n".repeat(4000);
    assert!(prompt.len() > 200_000);
    scene.stubs().plan(r#"{"fails": {"exit": 1}}"#);
    say(&scene, &["add", "shell", "--agent", "shell", "--cwd", "."]);
    let add = ["add", "works", "--agent", "claude", "--cwd", ".", "--prompt-file", "-"];
    scene.command(&add).stdin(prompt.clone()).run().expect_success();
    add_claude(&scene, "fails", &[]);
    for (name, shown) in [("shell", "live"), ("works", "live"), ("fails", "post-mortem")] {
        wait_state(&scene, name, shown);
    }
    let list = say(&scene, &["ls"]);
    let rows: Vec<Vec<&str>> = list.lines().map(|it| it.split_whitespace().collect()).collect();
    assert_eq!(
        rows,
        [
            ["NAME", "AGENT", "STATE"],
            ["shell", "shell", "live"],
            ["works", "claude", "live"],
            ["fails", "claude", "post-mortem(1)"],
        ]
    );
    let first = wait_conversation(&scene, "works", 1);
    let prompt_file = first.prompt().and_then(|text| {
        text.split_whitespace().find(|word| word.starts_with('/')).map(|it| it.trim_matches(':'))
    });
    let told = std::fs::read_to_string(prompt_file.expect("the prompt names a file")).unwrap();
    assert_eq!(told, prompt);

    // The tmux server is killed: all that is wanted is back within 2 seconds.
    let shell = scene.tmux().pane_pid("shell").unwrap();
    scene.tmux().kill_server();
    within(2).until("both run again", || {
        scene.stubs().launches_of("works").len() == 2
            && scene.tmux().pane_pid("shell").is_some_and(|pid| pid != shell)
    });
    let second = wait_launches(&scene, "works", 2);
    assert!(second.is_resumed());
    assert_eq!(second.conversation(), first.conversation());
    assert_ne!(second.prompt(), first.prompt(), "the prompt was sent twice");
    wait_state(&scene, "fails", "post-mortem");
    within(5)
        .until("the post-mortem is back", || scene.tmux().sessions().contains(&"fails".to_owned()));
    assert_eq!(scene.stubs().launches_of("fails").len(), 1, "a failed agent was run again");
    assert!(scene.stubs().doubles().is_empty());

    // The first is removed while its start is held.
    wait_state(&scene, "shell", "live");
    scene.points().arm("pane.before-gate", "pause");
    say(&scene, &["restart", "shell"]);
    let launcher = scene.points().wait_reached("pane.before-gate");
    say(&scene, &["rm", "shell"]);
    scene.points().release("pane.before-gate");
    within(2).always("it never appears", || {
        !process::is_alive(launcher) && state(&scene, "shell").is_empty()
    });
    assert!(!scene.tmux().sessions().contains(&"shell".to_owned()));
    assert_eq!(names(&scene), ["works", "fails"]);

    // The list is overwritten by an empty line: nothing dies, `ls` explains, `repair` restores.
    put_registry(&scene, "\n");
    let listed = scene.run(&["ls"]).expect_code(3);
    assert!(listed.stdout.contains("works"), "{}", listed.stdout);
    assert!(listed.stderr.contains("damaged"), "{}", listed.stderr);
    within(1).always("the agent lives", || second.is_alive());
    ask(&scene, &["repair", "--yes"]);
    assert_eq!(names(&scene), ["works", "fails"]);
    assert_eq!(state(&scene, "works"), "live");
    assert_eq!(state(&scene, "fails"), "post-mortem(1)");
    assert!(second.is_alive());
    assert_eq!(scene.stubs().launches_of("works").len(), 2);
}
