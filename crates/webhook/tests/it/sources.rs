//! The verbs of sources as processes: set up, addresses, rotation, sending by hand.

use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use agent_box_testkit::within;
use agent_box_webhook::ingress::{SourceSettings, Sources};
use serde_json::{Value, json};

use crate::ingress::raw_http::Post;
use crate::ingress::rig::{Receiver, Shelf};
use crate::verbs::{Done, Scene, put, read_json};

const URL: &str = "https://box.test/alice/webhook";

fn scene() -> Scene {
    let mut scene = Scene::new();
    scene.set("AGENT_BOX_WEBHOOK_URL", URL);
    scene
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().mode() & 0o777
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn active(scene: &Scene, name: &str) -> usize {
    Sources::read(&scene.paths()).find(Some(name)).map_or(0, SourceSettings::active_secrets)
}

/// Runs a verb with this on stdin.
fn with_input(scene: &Scene, words: &[&str], input: &str) -> Done {
    let mut command = scene.command(words);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Done::of(child.wait_with_output().unwrap())
}

#[test]
fn setup_makes_a_private_secret_and_says_what_to_enter() {
    let scene = scene();
    let done = scene.run(&["setup"]).expect(0);
    let secret_file = scene.paths().secret("github");
    let secret = read(&secret_file);
    assert_eq!(secret.len(), 32);
    assert_eq!((mode(&secret_file), mode(&scene.paths().sources())), (0o600, 0o600));
    assert_eq!(mode(scene.paths().state()), 0o700);
    for said in [
        format!("{URL}/github"),
        "application/json".to_owned(),
        secret_file.display().to_string(),
        "x-hub-signature-256".to_owned(),
        "gh api repos/OWNER/REPO/hooks".to_owned(),
        "events[]=check_suite".to_owned(),
        "agent-box webhook subscribe".to_owned(),
    ] {
        assert!(done.stdout.contains(&said), "{said} in {}", done.stdout);
    }
    assert!(!done.stdout.contains(&secret) && done.stderr.is_empty(), "{done:?}");
    let document = read_json(&scene.paths().sources());
    let expected = json!({
        "sources": { "github": { "secretFile": "github.secret" } }, "defaultSource": "github"
    });
    assert_eq!(document, expected, "as the reference writes it");
    assert_eq!(active(&scene, "github"), 1);

    let before = (read(&scene.paths().sources()), secret.clone());
    let again = scene.run(&["setup", "github", "--show-secret"]).expect(0);
    assert!(again.stdout.contains(&secret));
    assert_eq!((read(&scene.paths().sources()), read(&secret_file)), before, "nothing changed");
}

#[test]
fn setup_keeps_what_others_wrote() {
    let scene = scene();
    put(
        &scene.paths().sources(),
        r#"{"//":"mine","defaultSource":"other","sources":{"other":{"secret":"0123456789abcdef",
            "unknown":[1]},"github":{"keyPath":"a.b"}},"later":{"x":1}}"#,
    );
    scene.run(&["setup"]).expect(0);
    scene.run(&["setup", "my_ci", "--scheme", "base64"]).expect(0);
    let document = read_json(&scene.paths().sources());
    let expected = json!({
        "//": "mine",
        "defaultSource": "other",
        "sources": {
            "other": { "secret": "0123456789abcdef", "unknown": [1] },
            "github": { "keyPath": "a.b", "secretFile": "github.secret" },
            "my_ci": { "scheme": "base64", "secretFile": "my_ci.secret" },
        },
        "later": { "x": 1 },
    });
    assert_eq!(document, expected);
    assert_eq!(mode(&scene.paths().sources()), 0o600);
}

#[test]
fn parallel_set_ups_lose_none() {
    let scene = scene();
    let children: Vec<_> = (0..12)
        .map(|index| scene.command(&["setup", &format!("s{index}"), "--json"]).spawn().unwrap())
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(
        Sources::read(&scene.paths()).iter().filter(|it| it.active_secrets() == 1).count(),
        12
    );
}

#[test]
fn setup_refuses_what_it_cannot_do_and_leaves_everything() {
    let scene = scene();
    for name in ["a/b", "a.b", "", "ü", "a b", "../x"] {
        scene.run(&["setup", name]).expect(2);
    }
    let unknown = scene.run(&["setup", "x", "--scheme", "sha1"]).expect(2);
    assert!(unknown.stderr.contains("standard-webhooks"), "{unknown:?}");
    assert!(!scene.paths().sources().exists());
    put(&scene.paths().sources(), "{broken");
    let damaged = scene.run(&["setup"]).expect(1);
    assert!(damaged.stderr.contains("sources.json") && damaged.stderr.contains("repair"));
    assert_eq!(read(&scene.paths().sources()), "{broken");
    assert!(!scene.paths().secret("github").exists());
}

#[test]
fn without_a_public_address_setup_works_for_this_machine_and_says_so() {
    let scene = Scene::new();
    let done = scene.run(&["setup"]).expect(0);
    assert!(done.stderr.contains("AGENT_BOX_WEBHOOK_URL"), "{done:?}");
    assert_eq!(active(&scene, "github"), 1);
    let done = scene.run(&["url"]).expect(1);
    assert!(done.stderr.contains("AGENT_BOX_WEBHOOK_URL"), "{done:?}");
}

#[test]
fn a_secret_that_the_sender_makes_is_stored_and_not_invented() {
    let scene = scene();
    let done = scene.run(&["setup", "stripe"]).expect(0);
    assert!(done.stdout.contains(&format!("{URL}/stripe")), "{done:?}");
    assert!(done.stderr.contains("--secret-from -"), "{done:?}");
    assert_eq!(active(&scene, "stripe"), 0);
    let pasted = "whsec_0123456789abcdefghij\n";
    let done = with_input(&scene, &["setup", "stripe", "--secret-from", "-"], pasted).expect(0);
    assert!(!done.stdout.contains("whsec") && done.stderr.is_empty(), "{done:?}");
    assert_eq!(read(&scene.paths().secret("stripe")), pasted.trim());
    assert_eq!(mode(&scene.paths().secret("stripe")), 0o600);
    assert_eq!(active(&scene, "stripe"), 1);
    with_input(&scene, &["setup", "stripe", "--secret-from", "-"], pasted).expect(0);
    let other = "whsec_ANOTHER_0123456789";
    let done = with_input(&scene, &["setup", "stripe", "--secret-from", "-"], other).expect(1);
    assert!(done.stderr.contains("secrets rotate stripe"), "{done:?}");
    let weak = with_input(&scene, &["setup", "slack", "--secret-from", "-"], "short\n").expect(1);
    assert!(weak.stderr.contains("5 bytes") && !weak.stderr.contains("short"), "{weak:?}");
}

#[test]
fn an_exposed_secret_is_named_with_its_fix() {
    let scene = scene();
    scene.run(&["setup"]).expect(0);
    let file = scene.paths().secret("github");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let done = scene.run(&["setup"]).expect(1);
    assert!(done.stderr.contains(&format!("chmod 600 {}", file.display())), "{done:?}");
    let done = scene.run(&["emit", "github", "{}"]).expect(1);
    assert!(done.stderr.contains("chmod 600"), "{done:?}");
}

#[test]
fn url_lists_each_source() {
    let scene = scene();
    let empty = scene.run(&["url"]).expect(0);
    assert!(empty.stdout.contains(URL) && empty.stdout.contains("agent-box webhook setup"));
    scene.run(&["setup"]).expect(0);
    scene.run(&["setup", "ci"]).expect(0);
    let done = scene.run(&["url"]).expect(0);
    for said in [format!("{URL}/github"), format!("{URL}/ci"), "github's".to_owned()] {
        assert!(done.stdout.contains(&said), "{done:?}");
    }
    let json: Value = serde_json::from_str(&scene.run(&["url", "--json"]).stdout).unwrap();
    let expected = json!({
        "url": URL, "defaultSource": "github",
        "sources": { "github": format!("{URL}/github"), "ci": format!("{URL}/ci") },
    });
    assert_eq!(json, expected);
}

#[test]
fn rotation_keeps_the_old_secrets_until_they_are_dropped() {
    let scene = scene();
    scene.run(&["setup"]).expect(0);
    let file = scene.paths().secret("github");
    let first = read(&file);
    let done = scene.run(&["secrets", "rotate", "github"]).expect(0);
    assert!(done.stdout.contains("secrets drop github"), "{done:?}");
    let second = read(&file);
    assert_ne!(first, second);
    assert!(!done.stdout.contains(&second));
    assert_eq!(active(&scene, "github"), 2);
    let shown = scene.run(&["secrets", "rotate", "github", "--show-secret"]).expect(0);
    let third = read(&file);
    assert!(shown.stdout.contains(&third));
    assert_eq!(active(&scene, "github"), 3);
    let secrets: Vec<PathBuf> = secret_files(&scene);
    assert_eq!(secrets.len(), 3);
    assert!(secrets.iter().all(|it| mode(it) == 0o600));
    let done = scene.run(&["secrets", "drop", "github"]).expect(0);
    assert!(done.stdout.contains("2 dropped"), "{done:?}");
    assert_eq!(secret_files(&scene), std::slice::from_ref(&file));
    assert_eq!((active(&scene, "github"), read(&file)), (1, third));
    let again = scene.run(&["secrets", "drop", "github"]).expect(0);
    assert!(again.stdout.contains("no old secrets"), "{again:?}");
    let document = read_json(&scene.paths().sources());
    assert_eq!(document["sources"]["github"], json!({ "secretFile": "github.secret" }));
}

fn secret_files(scene: &Scene) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(scene.paths().state()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|it| it == "secret")).collect()
}

#[test]
fn rotation_of_a_secret_that_stands_elsewhere_keeps_it_too() {
    let scene = scene();
    let elsewhere = scene.home().join("mine.secret");
    put(&elsewhere, "elsewhere-0123456789");
    std::fs::set_permissions(&elsewhere, std::fs::Permissions::from_mode(0o600)).unwrap();
    let document = json!({ "sources": {
        "inline": { "secret": "inline-0123456789abc" },
        "file": { "secretFile": elsewhere.display().to_string() },
    } });
    put(&scene.paths().sources(), &document.to_string());
    std::fs::set_permissions(scene.paths().sources(), std::fs::Permissions::from_mode(0o600))
        .unwrap();
    for name in ["inline", "file"] {
        scene.run(&["secrets", "rotate", name]).expect(0);
        assert_eq!(active(&scene, name), 2, "{name}");
        let minted = read(&scene.paths().secret(name));
        let shown = scene.run(&["setup", name, "--show-secret"]).expect(0);
        assert!(shown.stdout.contains(&minted), "the newest is the one to enter");
        scene.run(&["secrets", "drop", name]).expect(0);
        assert_eq!(active(&scene, name), 1, "{name}");
    }
    assert!(elsewhere.exists(), "what was not made here is not removed");
}

#[test]
fn rotation_says_what_it_cannot_do() {
    let scene = scene();
    let unknown = scene.run(&["secrets", "rotate", "github"]).expect(1);
    assert!(unknown.stderr.contains("agent-box webhook setup github"), "{unknown:?}");
    scene.run(&["secrets", "rotate", "a/b"]).expect(2);
    scene.run(&["setup", "stripe"]).expect(0);
    let done = scene.run(&["secrets", "rotate", "stripe"]).expect(1);
    assert!(done.stderr.contains("--secret-from"), "{done:?}");
    let done = scene.run(&["secrets", "drop", "stripe"]).expect(1);
    assert!(done.stderr.contains("missing"), "{done:?}");
    scene.run(&["setup"]).expect(0);
    for _ in 0..7 {
        scene.run(&["secrets", "rotate", "github"]).expect(0);
    }
    assert_eq!(active(&scene, "github"), 8);
    let done = scene.run(&["secrets", "rotate", "github"]).expect(1);
    assert!(done.stderr.contains("secrets drop github"), "{done:?}");
}

/// A user whose receiver is a real ingress with a store of the test's.
fn scene_of(receiver: &Receiver) -> Scene {
    let mut scene = scene();
    scene.set("LOCAL_WEBHOOK_STATE_DIR", receiver.paths().state());
    scene
}

#[test]
fn emit_signs_the_exact_bytes_in_every_scheme() {
    let receiver = Receiver::new();
    let scene = scene_of(&receiver);
    let secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZg==";
    for (index, scheme) in agent_box_webhook::ingress::Scheme::all().enumerate() {
        let name = scheme.as_str();
        receiver.set_sources(
            &json!({ "sources": { name: { "scheme": name, "secret": secret } } }).to_string(),
        );
        let now = agent_box_webhook::now_ms();
        let body = format!("{{ \"n\": 1.0,  \"webhookTimestamp\":{now}}}\n");
        let done = with_input(&scene, &["emit", name, "-"], &body).expect(0);
        let stored = receiver.stored();
        assert_eq!(stored.len(), index + 1);
        let last = stored.last().unwrap();
        assert_eq!(last.body, body.as_bytes(), "byte for byte");
        let has_id_in_body = matches!(name, "stripe" | "slack");
        if !has_id_in_body {
            let id = last.id.as_str();
            assert!(id.starts_with("emit-") && id.len() == 21, "{id}");
            assert!(done.stdout.contains(&format!("stored as {name}/{id}")), "{done:?}");
        }
        assert!(!done.stdout.contains(secret));
    }
}

#[test]
fn emit_takes_a_file_and_says_what_it_wants_otherwise() {
    let receiver = Receiver::new();
    let scene = scene_of(&receiver);
    let body = "{ \"n\": 1.0 }\n";
    put(&scene.home().join("run.json"), body);
    put(&scene.home().join("broken.json"), "{");
    scene.run(&["emit", "github", "run.json", "--event", "push"]).expect(0);
    assert_eq!(receiver.stored()[0].body, body.as_bytes(), "byte for byte");
    for (word, said) in [
        ("nowhere.json", "`nowhere.json` is neither JSON"),
        ("nowhere.json", "a file that holds it, or `-` for standard input"),
        ("broken.json", "broken.json: the body is no JSON"),
        (".", ".: cannot be read"),
    ] {
        let done = scene.run(&["emit", "github", word]).expect(2);
        assert!(done.stderr.contains(said), "{done:?}");
    }
    assert_eq!(receiver.stored().len(), 1);
}

#[test]
fn emit_names_what_happened_and_what_went_wrong() {
    let receiver = Receiver::new();
    let scene = scene_of(&receiver);
    scene.run(&["emit", "github", r#"{"a":1}"#, "--event", "push"]).expect(0);
    assert_eq!(receiver.stored()[0].kind, "push");
    let json = scene.run(&["emit", "github", "--json"]).expect(0);
    let said: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((said["status"].as_u64(), receiver.stored().len()), (Some(200), 2));
    let bad = scene.run(&["emit", "github", "{"]).expect(2);
    assert!(bad.stderr.contains("neither JSON (EOF"), "{bad:?}");
    scene.run(&["emit", "a/b", "{}"]).expect(2);
    scene.run(&["emit"]).expect(2);
    scene.run(&["emit", "github", "{}", "--event", "a\nb"]).expect(2);
    let unknown = scene.run(&["emit", "other", "{}"]).expect(1);
    assert!(unknown.stderr.contains("agent-box webhook setup other"), "{unknown:?}");
    receiver.set_shelf(Shelf::IsFull);
    let full = scene.run(&["emit", "github", "{}"]).expect(1);
    assert!(full.stderr.contains("503"), "{full:?}");
    receiver.set_sources(
        r#"{"sources":{"pay":{"scheme":"stripe","secret":"whsec_0123456789abcdef"}}}"#,
    );
    let event = scene.run(&["emit", "pay", "{}", "--event", "x"]).expect(2);
    assert!(event.stderr.contains("in the body, as `type`"), "{event:?}");
}

#[test]
fn emit_without_a_receiver_says_how_to_start_one() {
    let scene = scene();
    scene.run(&["setup"]).expect(0);
    let done = scene.run(&["emit", "github", "{}"]).expect(1);
    assert!(done.stderr.contains("agent-box up"), "{done:?}");
}

#[test]
fn status_says_what_was_refused_and_why() {
    let receiver = Receiver::new();
    let scene = scene_of(&receiver);
    let wrong = Post::unsigned("{}").with("X-Hub-Signature-256", &"0".repeat(64));
    assert_eq!(wrong.over(receiver.connect()).status, 401);
    let said = within(10).for_some("the refusal is in the status", || {
        let said: Value = serde_json::from_str(&scene.run(&["status", "--json"]).stdout).ok()?;
        said["turnedAway"].get(0).cloned()
    });
    assert_eq!(said["source"], "github");
    assert_eq!((said["reason"].as_str(), said["count"].as_u64()), (Some("signature"), Some(1)));
}

#[test]
fn the_test_goes_through_the_public_address() {
    if !Path::new("/usr/bin/curl").exists() {
        println!("not run: there is no curl");
        return;
    }
    let receiver = Receiver::with_port();
    let mut scene = scene_of(&receiver);
    scene.set("AGENT_BOX_WEBHOOK_URL", format!("http://127.0.0.1:{}/", receiver.port()));
    let done = scene.run(&["test"]).expect(0);
    assert!(done.stdout.contains("works"), "{done:?}");
    let stored = receiver.stored();
    assert_eq!((stored.len(), stored[0].kind.as_str()), (1, "ping"));
    assert!(stored[0].key.is_none(), "nobody can have subscribed to it");
    for scheme in agent_box_webhook::ingress::Scheme::all() {
        let name = scheme.as_str();
        let secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZg==";
        receiver.set_sources(
            &json!({ "sources": { name: { "scheme": name, "secret": secret } } }).to_string(),
        );
        scene.run(&["test", name]).expect(0);
        assert!(receiver.stored().last().unwrap().id.as_str().starts_with("test-"), "{name}");
    }
    let unknown = scene.run(&["test", "other"]).expect(1);
    assert!(unknown.stderr.contains("agent-box webhook setup other"), "{unknown:?}");
    scene.set("AGENT_BOX_WEBHOOK_URL", format!("http://127.0.0.1:{}/x", receiver.port()));
    let wrong = scene.run(&["test", "base64"]).expect(1);
    assert!(wrong.stderr.contains("404 unknown source"), "{wrong:?}");
    scene.set("AGENT_BOX_WEBHOOK_URL", "http://127.0.0.1:1");
    let closed = scene.run(&["test", "base64"]).expect(1);
    assert!(closed.stderr.contains("base64"), "{closed:?}");
    scene.set("AGENT_BOX_WEBHOOK_URL", "file:///etc/passwd");
    scene.run(&["test", "base64"]).expect(1);
}
