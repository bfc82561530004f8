//! Claude's own files: seeded so that it starts without a question, and otherwise left alone.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;

use serde_json::{Value, json};

use crate::scratch::{Scratch, put};

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Changes whenever the file is written or replaced.
fn stamp(path: &Path) -> (u64, i64, i64) {
    let metadata = path.metadata().unwrap();
    (metadata.ino(), metadata.mtime(), metadata.mtime_nsec())
}

#[test]
fn a_first_start_seeds_both_files_and_a_second_writes_nothing() {
    let scratch = Scratch::new();
    let (state, settings) =
        (scratch.home().join(".claude.json"), scratch.home().join(".claude/settings.json"));
    scratch.prepare(&scratch.ask("claude"));
    let trusted = json!({"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true});
    let expect = json!({
        "hasCompletedOnboarding": true, "resumeReturnDismissed": true,
        "projects": {scratch.work(): trusted},
    });
    assert_eq!(read(&state), expect);
    let expect = json!({"theme": "dark", "skipDangerousModePermissionPrompt": true});
    assert_eq!(read(&settings), expect);
    for path in [&state, &settings] {
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let before = (stamp(&state), stamp(&settings));
    scratch.prepare(&scratch.ask("claude"));
    assert_eq!((stamp(&state), stamp(&settings)), before);
}

#[test]
fn other_agents_touch_no_file_of_claude() {
    let scratch = Scratch::new();
    for agent in ["codex", "shell", "other"] {
        scratch.prepare(&scratch.ask(agent));
    }
    assert!(!scratch.home().join(".claude.json").exists());
    assert!(!scratch.home().join(".claude").exists());
}

#[test]
fn unknown_content_order_mode_owner_and_symlink_are_kept() {
    let scratch = Scratch::new();
    let home = scratch.home();
    let (link, real) = (home.join(".claude.json"), home.join("dotfiles/claude.json"));
    let work = scratch.work();
    let text = format!(
        r#"{{"zeta": 1.50, "projects": {{"/other": {{"x": [1]}}, "{work}": {{"hasTrustDialogAccepted": false, "mine": "é"}}}}, "alpha": null}}"#
    );
    put(&real, &text);
    symlink("dotfiles/claude.json", &link).unwrap();
    fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
    // Only root can give a file away; everybody else keeps its own.
    let given = chown(&real, Some(12345), Some(12346)).is_ok();
    scratch.prepare(&scratch.ask("claude"));

    assert_eq!(fs::read_link(&link).unwrap().to_str(), Some("dotfiles/claude.json"));
    let metadata = real.metadata().unwrap();
    assert_eq!(metadata.mode() & 0o7777, 0o640);
    assert!(!given || (metadata.uid(), metadata.gid()) == (12345, 12346));
    let state = read(&link);
    let keys: Vec<&String> = state.as_object().unwrap().keys().collect();
    assert_eq!(keys[..4], ["zeta", "projects", "alpha", "hasCompletedOnboarding"]);
    assert_eq!(state["projects"]["/other"], json!({"x": [1]}));
    assert_eq!(state["projects"][&work]["mine"], "é");
    assert_eq!(state["projects"][&work]["hasTrustDialogAccepted"], true);
    assert_eq!(fs::read_dir(home.join("dotfiles")).unwrap().count(), 1, "no temporary file stays");
}

#[test]
fn choices_made_by_hand_are_kept() {
    let scratch = Scratch::new();
    let settings = scratch.home().join(".claude/settings.json");
    let text = r#"{"theme": null, "skipDangerousModePermissionPrompt": false}"#;
    put(&settings, text);
    scratch.prepare(&scratch.ask("claude"));
    assert_eq!(fs::read_to_string(&settings).unwrap(), text);
}

#[test]
fn a_session_that_asks_for_permission_seeds_no_consent() {
    let scratch = Scratch::new();
    let mut ask = scratch.ask("claude");
    ask.entry.spec.skip_permissions = false;
    scratch.prepare(&ask);
    let settings = read(&scratch.home().join(".claude/settings.json"));
    assert_eq!(settings, json!({"theme": "dark"}));
}

#[test]
fn a_file_that_does_not_parse_is_left_as_it_is_and_the_launch_goes_on() {
    let scratch = Scratch::new();
    let state = scratch.home().join(".claude.json");
    for damaged in ["{\"projects\": {", "[]", "\0\0\0\0"] {
        put(&state, damaged);
        let prepared = scratch.prepare(&scratch.ask("claude"));
        assert_eq!(fs::read_to_string(&state).unwrap(), damaged);
        let note = &prepared.notes[0];
        assert!(note.contains(".claude.json is not a JSON object"), "{note}");
    }
    // Empty is how a file begins its life.
    put(&state, "");
    assert!(scratch.prepare(&scratch.ask("claude")).notes.is_empty());
    assert_eq!(read(&state)["hasCompletedOnboarding"], true);
}

#[test]
fn a_stale_policy_cache_is_removed() {
    let scratch = Scratch::new();
    let stale = scratch.home().join(".claude/remote-settings.json");
    put(&stale, "{}");
    scratch.prepare(&scratch.ask("claude"));
    assert!(!stale.exists());
}

#[test]
fn a_key_from_the_env_file_is_approved_unless_somebody_answered() {
    let scratch = Scratch::new();
    let state = scratch.home().join(".claude.json");
    let mut ask = scratch.ask("claude");
    ask.variables =
        vec![("ANTHROPIC_API_KEY".to_owned(), "sk-ant-0123456789abcdefghij".to_owned())];
    scratch.prepare(&ask);
    let known = "0123456789abcdefghij";
    let expect = json!({"approved": [known], "rejected": []});
    assert_eq!(read(&state)["customApiKeyResponses"], expect);

    let rejected = json!({"approved": [], "rejected": [known]});
    put(&state, &json!({"customApiKeyResponses": rejected}).to_string());
    scratch.prepare(&ask);
    assert_eq!(read(&state)["customApiKeyResponses"], rejected);
}

#[test]
fn sessions_prepared_side_by_side_all_get_their_trust() {
    let scratch = Scratch::new();
    let harness = scratch.harness();
    let asks: Vec<_> = (0..16)
        .map(|n| {
            let directory = scratch.home().join(format!("p{n}"));
            fs::create_dir(&directory).unwrap();
            let mut ask = scratch.ask("claude");
            ask.entry.spec.working_directory = Some(directory.to_str().unwrap().to_owned());
            ask
        })
        .collect();
    std::thread::scope(|scope| {
        for ask in &asks {
            scope.spawn(|| crate::scratch::prepare_with(&harness, ask, &|_| None).unwrap());
        }
    });
    let state = read(&scratch.home().join(".claude.json"));
    assert_eq!(state["projects"].as_object().unwrap().len(), 16);
}
