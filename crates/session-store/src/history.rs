//! Earlier documents of the registry, and the current one.
//!
//! `history/0000000042-operator.json` is one line about the document (when, by whom, what) and,
//! from the second line on, the document byte for byte: `tail -n +2` gives it back.
//! A real copy, not a hard link: an editor that writes `sessions.json` in place would damage both.
//!
//! ```text
//! under the registry lock:
//!   1 the current document, if history has not seen it  ── …-hand-edit.json
//!   2 the new document, fsynced                          ── …-operator.json.pending
//!   3 rename of the registry (the commit)
//!   4 …-operator.json.pending becomes …-operator.json
//! ```
//! A writer that dies between 2 and 4 leaves a pending file; the next one keeps it if it is the
//! current document (3 had happened) and removes it if not. So every document in history was
//! current once, and the current one is there before its command is acknowledged.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use agent_box_disk::{self as disk, IoError, LockError};
use agent_box_session::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::document::Document;
use crate::regular_file;
use crate::store::Store;

/// So many operator changes can be undone.
const OPERATOR_KEPT: usize = 32;
/// So many hand edits that were seen are kept beside them.
const HAND_EDITS_KEPT: usize = 8;
const PENDING: &str = ".pending";

/// Whose document it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenerationKind {
    /// A command's.
    Operator,
    /// The programs', mirroring what they saw.
    Mirror,
    /// Written by another program or by hand, and seen.
    HandEdit,
}

/// One earlier document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Its number, growing.
    pub number: u64,
    /// When it was written (or seen).
    pub at: Timestamp,
    /// By whom.
    pub kind: GenerationKind,
    /// By whom, in words for people.
    pub by: String,
    /// What it did, in words for people.
    pub summary: String,
    /// How it differs from the one before.
    pub changes: Vec<NameChange>,
}

impl Generation {
    /// What stands before the first document of a box.
    pub(crate) fn before_all() -> Self {
        Self {
            number: 0,
            at: Timestamp::default(),
            kind: GenerationKind::Mirror,
            by: String::new(),
            summary: String::new(),
            changes: Vec::new(),
        }
    }
}

/// How two documents differ in one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameChange {
    /// The session's key.
    pub name: String,
    /// The difference.
    pub what: WhatChanged,
}

/// The kinds of [`NameChange`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhatChanged {
    /// It came.
    Added,
    /// It went.
    Removed,
    /// It is another session, or its entry changed.
    Changed,
}

/// The history cannot be read or extended.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The registry's lock was not had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl GenerationKind {
    /// The kind as file names and people spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Mirror => "mirror",
            Self::HandEdit => "hand-edit",
        }
    }
}

/// The first line of a history file.
#[derive(Serialize, Deserialize)]
struct About {
    at: u64,
    by: String,
    summary: String,
}

/// A file of the history, known by its name alone.
#[derive(Clone, Debug)]
pub(crate) struct HistoryFile {
    pub(crate) number: u64,
    pub(crate) kind: GenerationKind,
    path: PathBuf,
    pending: bool,
}

/// A document that history keeps.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) generation: Generation,
    pub(crate) document: Document,
}

impl HistoryFile {
    fn parse(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let (name, pending) = match name.strip_suffix(PENDING) {
            Some(name) => (name, true),
            None => (name, false),
        };
        let (number, kind) = name.strip_suffix(".json")?.split_once('-')?;
        let kind = match kind {
            "operator" => GenerationKind::Operator,
            "mirror" => GenerationKind::Mirror,
            "hand-edit" => GenerationKind::HandEdit,
            _ => return None,
        };
        Some(Self { number: number.parse().ok()?, kind, pending, path })
    }

    /// The line about the document, and the document's text; `None` if it was never whole.
    fn load(&self) -> Option<(About, String)> {
        let text = String::from_utf8(regular_file::read(&self.path).ok()?).ok()?;
        let (about, document) = text.split_once('\n')?;
        Some((serde_json::from_str(about).ok()?, document.to_owned()))
    }

    pub(crate) fn kept(&self) -> Option<Kept> {
        let (about, text) = self.load()?;
        let document = Document::parse(&self.path, text.as_bytes()).ok()?;
        let generation = Generation {
            number: self.number,
            at: Timestamp::from_millis(about.at),
            kind: self.kind,
            by: about.by,
            summary: about.summary,
            changes: Vec::new(),
        };
        Some(Kept { generation, document })
    }
}

impl Kept {
    /// Whether a fresh box came before it. A hand edit as number 1 is what was there when this
    /// box switched over to us.
    pub(crate) fn is_first_of_all(&self) -> bool {
        self.generation.number == 1 && self.generation.kind != GenerationKind::HandEdit
    }
}

/// The new document's copy, written before the commit; removed again unless it is kept.
#[derive(Debug)]
pub(crate) struct Pending {
    path: PathBuf,
}

impl Pending {
    /// After the commit: makes it part of the history.
    pub(crate) fn keep(mut self) -> Result<(), IoError> {
        let path = std::mem::take(&mut self.path);
        disk::rename_if_any(&path, &path.with_extension("")).map(drop)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Store {
    /// What is kept, oldest first.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn history(&self) -> Result<Vec<Generation>, IoError> {
        let mut before: BTreeMap<String, String> = BTreeMap::new();
        let kept = self.kept_documents()?;
        let is_whole = kept.first().is_none_or(Kept::is_first_of_all);
        let mut generations = Vec::with_capacity(kept.len());
        for (position, Kept { mut generation, document }) in kept.into_iter().enumerate() {
            let after = document.entry_texts();
            // What an unknown predecessor said cannot be compared.
            if position > 0 || is_whole {
                generation.changes = compare(&before, &after);
            }
            before = after;
            generations.push(generation);
        }
        Ok(generations)
    }

    /// Keeps a good document that somebody else wrote, unless history has it as its newest one.
    /// Returns whether it was new.
    ///
    /// # Errors
    /// When the lock is not had or the system refuses.
    pub fn note_hand_edit(&self, document: &Document) -> Result<bool, HistoryError> {
        let Some(text) = document.text() else { return Ok(false) };
        if self.newest_text()?.as_deref() == Some(text) {
            return Ok(false);
        }
        let _lock = self.lock_registry()?;
        let current = self.read().ok();
        let current = current.as_ref().and_then(Document::text);
        if let Some(current) = current {
            self.settle_history(current)?;
        }
        // Read without the lock, it may be one of our own that history has dropped since. A hand
        // edit that was replaced meanwhile was noted by whoever replaced it.
        if current.is_some_and(|current| current != text) {
            return Ok(false);
        }
        let is_known = || -> Result<bool, IoError> {
            Ok(self.kept_documents()?.iter().any(|kept| kept.document.text() == Some(text)))
        };
        if current != Some(text) && is_known()? {
            return Ok(false);
        }
        let is_new = self.note_unseen(text)?;
        if let Some(current) = current {
            self.note_unseen(current)?;
        }
        Ok(is_new)
    }

    /// The documents that are kept, oldest first; pending ones are not among them.
    pub(crate) fn kept_documents(&self) -> Result<Vec<Kept>, IoError> {
        let files = self.history_files()?;
        Ok(files.iter().filter(|file| !file.pending).filter_map(HistoryFile::kept).collect())
    }

    /// Whether this box ever had a registry: what was seen of its sessions tells it too, if the
    /// whole directory of the registry was removed.
    pub(crate) fn has_history(&self) -> Result<bool, IoError> {
        let seen = self.paths().identities();
        let seen = seen.try_exists().map_err(IoError::on("look at", &seen))?;
        Ok(seen || self.history_files()?.iter().any(|file| !file.pending))
    }

    /// The newest good document, also one whose writer died before saying whether it counts.
    pub(crate) fn newest_good(&self) -> Result<Option<Kept>, IoError> {
        Ok(self.history_files()?.iter().rev().find_map(HistoryFile::kept))
    }

    /// Under the lock: decides what a dead writer left pending. `current` is the good document.
    pub(crate) fn settle_history(&self, current: &str) -> Result<(), IoError> {
        for file in self.history_files()?.into_iter().filter(|file| file.pending) {
            let is_current = file.load().is_some_and(|(_, text)| text == current);
            let pending = Pending { path: file.path };
            if is_current {
                pending.keep()?;
            }
        }
        Ok(())
    }

    /// Under the lock: keeps the current document if it is not the newest one in history.
    pub(crate) fn note_unseen(&self, current: &str) -> Result<bool, IoError> {
        if self.newest_text()?.as_deref() == Some(current) {
            return Ok(false);
        }
        let about = About {
            at: self.now().as_millis(),
            by: "somebody else".to_owned(),
            summary: "edited by hand or by another program".to_owned(),
        };
        self.write_pending(GenerationKind::HandEdit, &about, current)?.keep()?;
        self.prune();
        Ok(true)
    }

    /// Under the lock, before the commit: writes the new document's copy.
    pub(crate) fn prepare_generation(
        &self,
        kind: GenerationKind,
        by: &str,
        summary: &str,
        text: &str,
    ) -> Result<Pending, IoError> {
        let about =
            About { at: self.now().as_millis(), by: by.to_owned(), summary: summary.to_owned() };
        self.write_pending(kind, &about, text)
    }

    fn write_pending(
        &self,
        kind: GenerationKind,
        about: &About,
        text: &str,
    ) -> Result<Pending, IoError> {
        let directory = self.paths().history();
        disk::make_private_directory(&directory)?;
        let number = self.history_files()?.last().map_or(1, |newest| newest.number + 1);
        let path = directory.join(format!("{number:010}-{}.json{PENDING}", kind.as_str()));
        let mut content = serde_json::to_string(about).expect("BUG: texts and numbers print");
        content.push('\n');
        content.push_str(text);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(IoError::on("create", &path))?;
        let pending = Pending { path };
        file.write_all(content.as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(IoError::on("write", &pending.path))?;
        disk::sync_directory(&directory)?;
        Ok(pending)
    }

    fn newest_text(&self) -> Result<Option<String>, IoError> {
        let files = self.history_files()?;
        let newest = files.iter().rfind(|file| !file.pending);
        Ok(newest.and_then(HistoryFile::load).map(|(_, text)| text))
    }

    fn history_files(&self) -> Result<Vec<HistoryFile>, IoError> {
        let directory = self.paths().history();
        let mut files = Vec::new();
        let entries = match std::fs::read_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
            result => result.map_err(IoError::on("list", &directory))?,
        };
        for entry in entries {
            let path = entry.map_err(IoError::on("list", &directory))?.path();
            files.extend(HistoryFile::parse(path));
        }
        files.sort_by_key(|file| file.number);
        Ok(files)
    }

    /// Removes what is older than the oldest kept operator change, and between those all mirrors
    /// but the newest: a step back lands on the document just before the change it takes back.
    pub(crate) fn prune(&self) {
        let Ok(files) = self.history_files() else { return };
        let (mut operators, mut hand_edits, mut mirror_kept) = (0, 0, false);
        for (age, file) in files.iter().rev().filter(|file| !file.pending).enumerate() {
            // What a step back lands on may be older than the oldest change itself.
            let keep = operators <= OPERATOR_KEPT
                && match file.kind {
                    GenerationKind::Operator => {
                        operators += 1;
                        mirror_kept = false;
                        true
                    }
                    GenerationKind::HandEdit => {
                        hand_edits += 1;
                        hand_edits <= HAND_EDITS_KEPT
                    }
                    GenerationKind::Mirror => !std::mem::replace(&mut mirror_kept, true),
                };
            if !keep && age > 0 {
                let _ = std::fs::remove_file(&file.path);
            }
        }
    }
}

fn compare(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<NameChange> {
    let change = |name: &String, what| NameChange { name: name.clone(), what };
    let removed = before
        .keys()
        .filter(|name| !after.contains_key(*name))
        .map(|name| change(name, WhatChanged::Removed));
    let others = after.iter().filter_map(|(name, text)| match before.get(name) {
        None => Some(change(name, WhatChanged::Added)),
        Some(old) if old != text => Some(change(name, WhatChanged::Changed)),
        Some(_) => None,
    });
    removed.chain(others).collect()
}
