//! What must stand in claude's own files so that it starts without asking anybody.
//!
//! A dialog at the start would keep a prompt from ever arriving. Answers that a person gave by
//! hand are kept where claude can start with them.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::Files;
use crate::state_file::{EditError, edit};

/// What to seed for one launch.
pub(crate) struct Seeding<'a> {
    /// The directory as claude sees it.
    pub(crate) directory: &'a Path,
    /// Whether claude will be told to skip permissions, which it asks about once.
    pub(crate) skip_permissions: bool,
    /// The API key that the operator put into the env file, which claude asks about once.
    pub(crate) api_key: Option<&'a str>,
}

/// Seeds the files; what could not be done becomes a note, since claude may start all the same.
pub(crate) fn seed(files: &Files, seeding: &Seeding<'_>, notes: &mut Vec<String>) {
    // A stale copy of a remote policy makes claude drop messages of channels.
    let stale = files.home.join("remote-settings.json");
    if let Err(error) = std::fs::remove_file(&stale)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        notes.push(format!("cannot remove {}: {error}", stale.display()));
    }
    let mut done = |edited: Result<bool, EditError>| {
        if let Err(error) = edited {
            notes.push(error.to_string());
        }
    };
    done(edit(&files.state, |state| seed_state(state, seeding)));
    done(edit(&files.home.join("settings.json"), |settings| {
        settings.entry("theme").or_insert_with(|| json!("dark"));
        if seeding.skip_permissions {
            settings.entry("skipDangerousModePermissionPrompt").or_insert(Value::Bool(true));
        }
    }));
}

fn seed_state(state: &mut Map<String, Value>, seeding: &Seeding<'_>) {
    state.insert("hasCompletedOnboarding".to_owned(), Value::Bool(true));
    // Or claude may ask, for a long conversation that rested, whether to resume a summary of it.
    state.entry("resumeReturnDismissed").or_insert(Value::Bool(true));
    // Claude itself writes `false` here before anybody answered, so presence says nothing.
    let directory = seeding.directory.to_string_lossy();
    if let Some(project) = object(state, "projects").and_then(|all| object(all, &directory)) {
        for answer in ["hasTrustDialogAccepted", "hasCompletedProjectOnboarding"] {
            project.insert(answer.to_owned(), Value::Bool(true));
        }
    }
    if let Some(key) = seeding.api_key {
        approve(state, key);
    }
}

/// Answers claude's question about a key, unless somebody answered it before.
fn approve(state: &mut Map<String, Value>, key: &str) {
    // Claude recognises a key by its last 20 characters.
    let start = key.char_indices().rev().nth(19).map_or(0, |(at, _)| at);
    let known = Value::from(&key[start..]);
    let Some(answers) = object(state, "customApiKeyResponses") else { return };
    let answered = answers.values().filter_map(Value::as_array).any(|keys| keys.contains(&known));
    if answered {
        return;
    }
    if let Value::Array(approved) = answers.entry("approved").or_insert_with(|| json!([])) {
        approved.push(known);
        answers.entry("rejected").or_insert_with(|| json!([]));
    }
}

/// The object under `key`, made if absent; `None` if something else stands there.
fn object<'a>(parent: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Map<String, Value>> {
    parent.entry(key).or_insert_with(|| json!({})).as_object_mut()
}
