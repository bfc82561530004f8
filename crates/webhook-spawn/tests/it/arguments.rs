//! Further arguments: who sets them, and what is no list of them.

use crate::scene::{Scene, batch};

const KEY: &str = "AGENT_BOX_HOOK_SESSION_ARGS";
const ENV_FILE: &str = ".config/agent-box/env";

fn arguments(scene: &Scene, number: u64) -> (serde_json::Value, String) {
    let done = scene.spawn(&batch(number), "events").expect_success();
    let arguments = scene.entry(&Scene::answer(&done).1)["extraArgs"].clone();
    (arguments, done.stderr)
}

#[test]
fn the_env_file_overrides_the_module_until_it_is_taken_back() {
    let mut scene = Scene::new();
    scene.set(KEY, r#"["--model", "sonnet"]"#);
    assert_eq!(arguments(&scene, 1).0, serde_json::json!(["--model", "sonnet"]));
    scene
        .test_box
        .put(ENV_FILE, &format!("# mine\n{KEY}='[\"--model\",\"haiku\",\"a\\nb\",\"\"]'\n"));
    let (given, said) = arguments(&scene, 2);
    assert_eq!(given, serde_json::json!(["--model", "haiku", "a\nb", ""]));
    assert_eq!(said, "");
    scene.test_box.put(ENV_FILE, "# mine\n");
    assert_eq!(arguments(&scene, 3).0, serde_json::json!(["--model", "sonnet"]));
}

#[test]
fn what_is_no_list_of_strings_starts_without_arguments_and_says_so() {
    let mut scene = Scene::new();
    scene.set("AGENT_BOX_HOOK_SESSION_MAX", "99");
    let bad = [r#"{"a":"b"}"#, "[1]", "--model haiku", r#"[["--model"]]"#, "["];
    for (number, text) in (1..).zip(bad) {
        scene.set(KEY, text);
        let (given, said) = arguments(&scene, number);
        assert!(given.as_array().is_none_or(Vec::is_empty), "{text}: {given}");
        assert!(said.contains(KEY) && said.contains("ignored"), "{text}: {said}");
    }
    scene.set(KEY, r#"["--model"]"#);
    scene.test_box.put(ENV_FILE, &format!("{KEY}=nonsense\n"));
    let (given, said) = arguments(&scene, 9);
    assert!(given.as_array().is_none_or(Vec::is_empty), "{given}");
    assert!(said.contains("/.config/agent-box/env"), "{said}");
}

#[test]
fn the_preamble_shows_the_command_its_origin_and_the_prompt() {
    let mut scene = Scene::new();
    let preamble = |scene: &Scene| {
        let words = ["--preamble", "github:o/*", "watch\nthe build"];
        scene.test_box.command(&words).stdin("not read").run().expect_success().stdout
    };
    let bare = preamble(&scene);
    assert!(bare.starts_with("Command: claude\n"), "{bare}");
    scene.set(KEY, r#"["--model", "sonnet"]"#);
    let module = preamble(&scene);
    assert!(module.starts_with("Command: claude --model sonnet\n"), "{module}");
    assert!(module.contains("hookSessionArgs"), "{module}");
    scene.test_box.put(ENV_FILE, &format!("{KEY}='[\"--model\",\"haiku\"]'\n"));
    let own = preamble(&scene);
    assert!(own.starts_with("Command: claude --model haiku\n"), "{own}");
    for said in [
        "/.config/agent-box/env",
        "agent-box env set AGENT_BOX_HOOK_SESSION_ARGS",
        "started by the webhook dispatcher",
        "`github:o/*` (its note: \"watch⏎the build\")",
        "agent-box-session rm hook-<key>-<hex>",
        "[only with an assignment:]",
        "already subscribed to `<source>:<key>`",
    ] {
        assert!(own.contains(said), "{said}: {own}");
    }
    scene.test_box.put(ENV_FILE, &format!("{KEY}=nonsense\n"));
    assert!(preamble(&scene).contains("it is ignored"));
    assert_eq!(scene.registry(), serde_json::json!({}), "a look changes nothing");
}
