//! What a sources file may say, and what each fault takes away.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::*;

/// A state directory with a sources file of this mode.
fn state(mode: u32, document: &str) -> (tempfile::TempDir, WebhookPaths) {
    let directory = tempfile::tempdir().unwrap();
    let paths = WebhookPaths::new(directory.path());
    put(&paths.sources(), mode, document);
    (directory, paths)
}

fn put(path: &Path, mode: u32, text: &str) {
    let mut file = std::fs::File::create(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.set_permissions(std::fs::Permissions::from_mode(mode)).unwrap();
}

/// The settings of a source `it` with these options.
pub(crate) fn settings(options: &Value) -> SourceSettings {
    let document = json!({ "sources": { "it": options } }).to_string();
    let (_directory, paths) = state(0o600, &document);
    Sources::read(&paths).find(Some("it")).unwrap().clone()
}

const SECRET: &str = "0123456789abcdef";

#[test]
fn what_the_reference_wrote_is_read_as_it_was_meant() {
    let document = json!({
        "defaultSource": "forge",
        "sources": {
            "github": { "secretFile": "github.secret" },
            "forge": {
                "secret": SECRET, "format": "github", "signatureHeader": "X-Gitea-Signature",
                "eventHeader": "X-Gitea-Event", "keyPath": "repo.name", "unknown": 1
            },
            "plain": { "secret": SECRET, "format": "strange" }
        }
    });
    let (_directory, paths) = state(0o600, &document.to_string());
    put(&paths.secret("github"), 0o600, &format!("{SECRET}\n"));
    let sources = Sources::read(&paths);
    assert_eq!(sources.problems, [""; 0]);
    let github = sources.find(Some("github")).unwrap();
    assert_eq!((github.scheme, github.format), (Scheme::GitHub, Format::GitHub));
    assert_eq!(github.key_path.as_deref(), Some("repository.full_name"));
    assert_eq!(github.keys[0].bytes(), SECRET.as_bytes(), "trimmed");
    assert_eq!(github.max_bytes, 25 * 1024 * 1024);
    let forge = sources.find(None).unwrap();
    assert_eq!(forge.name.as_str(), "forge");
    assert_eq!(forge.signature_header.as_str(), "x-gitea-signature");
    assert_eq!(forge.delivery_header.as_ref().unwrap().as_str(), "x-github-delivery");
    assert_eq!(forge.key_path.as_deref(), Some("repo.name"));
    let plain = sources.find(Some("plain")).unwrap();
    assert_eq!((plain.scheme, plain.format), (Scheme::Hex, Format::Generic));
    assert_eq!(plain.event_header.as_ref().unwrap().as_str(), "x-webhook-event");
    assert!(plain.key_path.is_none());
    assert!(sources.find(Some("GitHub")).is_none(), "names have a case");
}

#[test]
fn a_file_that_cannot_be_read_holds_no_source_and_says_why() {
    for document in ["", "{", "[]", "null", "{\"sources\":[]}", "\u{feff}{}"] {
        let (_directory, paths) = state(0o600, document);
        let sources = Sources::read(&paths);
        assert!(sources.iter().next().is_none() && sources.find(None).is_none());
        assert!(sources.problems[0].contains("sources.json"), "{:?}", sources.problems);
    }
    let (_directory, paths) = state(0o600, "{}");
    std::fs::remove_file(paths.sources()).unwrap();
    let sources = Sources::read(&paths);
    assert!(sources.find(None).is_none());
    assert!(sources.problems[0].contains("run `agent-box webhook setup`"));
}

#[test]
fn entries_that_are_no_sources_are_left_out_with_a_reason() {
    let document = json!({ "sources": { "a": 1, "b c": {}, "d": null, "e": {} } });
    let (_directory, paths) = state(0o600, &document.to_string());
    let sources = Sources::read(&paths);
    assert_eq!(sources.iter().count(), 1);
    assert_eq!(sources.problems.len(), 3, "{:?}", sources.problems);
    assert!(sources.find(Some("e")).unwrap().problems[0].contains("there is none"));
}

#[test]
fn secrets_of_every_place_are_active_together() {
    let document = json!({ "sources": { "a": {
        "secretFile": "one", "secretFiles": ["two", "absent", "open", "one"],
        "secrets": ["inline-inline-inline", "weak"]
    } } });
    let (directory, paths) = state(0o600, &document.to_string());
    put(&directory.path().join("one"), 0o600, "one-one-one-one-one");
    put(&directory.path().join("two"), 0o600, "two-two-two-two-two");
    put(&directory.path().join("open"), 0o644, "open-open-open-open");
    let sources = Sources::read(&paths);
    let it = sources.find(Some("a")).unwrap();
    assert_eq!(it.active_secrets(), 3, "the same twice counts once");
    let problems = it.problems.join("\n");
    assert_eq!(it.problems.len(), 3, "{problems}");
    for word in ["absent: missing", "chmod 600", "4 bytes"] {
        assert!(problems.contains(word), "{problems}");
    }
    assert!(!problems.contains("weak") && !problems.contains("open-open"), "{problems}");
    assert!(!format!("{sources:?}").contains("inline-inline"));
    assert_eq!(sources.files.len(), 6);
}

#[test]
fn an_inline_secret_wins_over_the_file_and_needs_a_private_document() {
    let document = json!({ "sources": { "a": { "secret": SECRET, "secretFile": "absent" } } });
    let (_directory, paths) = state(0o600, &document.to_string());
    let it = Sources::read(&paths).find(Some("a")).unwrap().clone();
    assert_eq!((it.active_secrets(), it.problems.len()), (1, 0));
    let (_directory, paths) = state(0o644, &document.to_string());
    let it = Sources::read(&paths).find(Some("a")).unwrap().clone();
    assert_eq!(it.active_secrets(), 0);
    assert!(it.problems[0].contains("chmod 600"), "{:?}", it.problems);
}

#[test]
fn an_unknown_scheme_takes_the_keys_away() {
    let it = settings(&json!({ "scheme": "sha1", "secret": SECRET }));
    assert_eq!(it.active_secrets(), 0);
    assert!(it.problems[0].contains("one of github, gitea"), "{:?}", it.problems);
}

#[test]
fn numbers_and_headers_that_make_no_sense_are_said_and_their_defaults_count() {
    let it = settings(&json!({
        "secret": SECRET, "maxBytes": 0, "toleranceSeconds": "x", "signatureHeader": "a b"
    }));
    assert_eq!((it.max_bytes, it.tolerance_ms), (DEFAULT_MAX_BYTES, 300_000));
    assert_eq!(it.signature_header.as_str(), "x-hub-signature-256");
    assert_eq!(it.problems.len(), 3, "{:?}", it.problems);
    let it = settings(&json!({ "secret": SECRET, "maxBytes": 1, "toleranceSeconds": 60 }));
    assert_eq!((it.max_bytes, it.tolerance_ms, it.problems.len()), (1, 60_000, 0));
}

#[test]
fn a_standard_webhooks_source_may_use_the_older_headers() {
    let options = json!({
        "scheme": "standard-webhooks", "signatureHeader": "svix-signature",
        "secret": "whsec_MDEyMzQ1Njc4OWFiY2RlZg=="
    });
    let it = settings(&options);
    assert_eq!(it.delivery_header.as_ref().unwrap().as_str(), "svix-id");
    assert_eq!(it.active_secrets(), 1);
}
