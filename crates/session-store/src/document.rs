//! The registry's document as it was read: typed, and as text for everything the types leave out.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_box_disk::{Deadline, IoError, pause};
use agent_box_session::{Registry, SessionName, Unusable};
use serde_json::Value;
use serde_json::value::RawValue;
use thiserror::Error;

use crate::entry_json;
use crate::raw_json::{RawObject, print_value};
use crate::regular_file;
use crate::store::Store;

/// How a registry is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// It is gone although this box has a history.
    Missing,
    /// Zero bytes, or nothing but white space.
    Empty,
    /// Not JSON (torn, NULs, not UTF-8).
    NotJson,
    /// Good JSON with something behind it.
    TrailingGarbage,
    /// JSON, but no object with `sessions`.
    WrongShape,
    /// Written by a newer agent-box; not damage in truth, so `repair` leaves it alone.
    Newer,
}

/// A registry that cannot be read as it stands. Nothing writes over it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{} {reason}{}; {}", path.display(), place(*kind, (*line, *column, *byte)), next_step(*kind))]
pub struct Damage {
    /// The registry.
    pub path: PathBuf,
    /// Offset of the first wrong byte.
    pub byte: usize,
    /// Its line, from 1.
    pub line: usize,
    /// Its column in bytes, from 1.
    pub column: usize,
    /// What is wrong, as a predicate ("is empty").
    pub reason: String,
    /// What is wrong, for programs.
    pub kind: DamageKind,
}

fn place(kind: DamageKind, (line, column, byte): (usize, usize, usize)) -> String {
    match kind {
        DamageKind::NotJson | DamageKind::TrailingGarbage => {
            format!(" (line {line}, column {column}, byte {byte})")
        }
        // These are about the file as a whole.
        _ => String::new(),
    }
}

fn next_step(kind: DamageKind) -> &'static str {
    match kind {
        DamageKind::Newer => "update agent-box on this machine",
        _ => "`agent-box session repair` restores the newest good version, or mend it by hand",
    }
}

/// Why there is no document.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file does not hold a registry that can be used.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] IoError),
}

/// A registry's document.
#[derive(Clone, Debug)]
pub struct Document {
    /// What it says.
    pub registry: Registry,
    top: RawObject,
    sessions: RawObject,
    /// The file's text; `None` on a fresh box.
    text: Option<String>,
}

/// The one version of the format that this program knows.
const VERSION: f64 = 1.0;

impl Document {
    /// The document of a fresh box.
    pub(crate) fn fresh() -> Self {
        let mut top = RawObject::default();
        top.set("version", "1".to_owned());
        top.set("sessions", "{}".to_owned());
        Self { registry: Registry::default(), top, sessions: RawObject::default(), text: None }
    }

    /// Reads a document from the bytes of the file at `path`.
    pub(crate) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, Damage> {
        let damage = |byte: usize, kind, reason: String| {
            let before = &bytes[..byte.min(bytes.len())];
            let line_start = before.iter().rposition(|it| *it == b'\n').map_or(0, |at| at + 1);
            Damage {
                path: path.to_owned(),
                byte,
                line: before.split(|it| *it == b'\n').count(),
                column: before.len() - line_start + 1,
                reason,
                kind,
            }
        };
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(damage(0, DamageKind::Empty, "is empty".to_owned()));
        }
        if bytes.iter().all(|byte| *byte == 0) {
            return Err(damage(0, DamageKind::NotJson, "holds nothing but NUL bytes".to_owned()));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            damage(error.valid_up_to(), DamageKind::NotJson, "is not UTF-8".to_owned())
        })?;
        let mut stream = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
        let value = match stream.next() {
            Some(Ok(value)) => value,
            Some(Err(error)) => {
                let byte = offset_of(text, error.line(), error.column());
                return Err(damage(byte, DamageKind::NotJson, in_words(&error)));
            }
            None => return Err(damage(0, DamageKind::Empty, "is empty".to_owned())),
        };
        let end = stream.byte_offset();
        let behind = text[end..].bytes().position(|byte| !byte.is_ascii_whitespace());
        if let Some(garbage) = behind {
            let reason = "goes on behind the end of the document".to_owned();
            return Err(damage(end + garbage, DamageKind::TrailingGarbage, reason));
        }
        let shape = |reason: &str| damage(0, DamageKind::WrongShape, reason.to_owned());
        let top = RawObject::parse(value.get()).map_err(|_| shape("does not hold an object"))?;
        let version: Value = top
            .get("version")
            .map_or(Ok(Value::Null), serde_json::from_str)
            .map_err(|_| shape("has a `version` that cannot be read"))?;
        match version.as_f64() {
            Some(version) if version > VERSION => {
                let reason = format!("was written by a newer agent-box (format version {version})");
                return Err(damage(0, DamageKind::Newer, reason));
            }
            None if !version.is_null() => {
                return Err(shape("has a `version` that is not a number"));
            }
            _ => {}
        }
        let sessions = top.get("sessions").ok_or_else(|| shape("has no `sessions`"))?;
        let sessions = RawObject::parse(sessions)
            .map_err(|_| shape("has a `sessions` that is not an object"))?;
        let registry = typed(&sessions);
        Ok(Self { registry, top, sessions, text: Some(text.to_owned()) })
    }

    /// The text as it was read; `None` on a fresh box.
    pub(crate) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The text of the entry under `key`.
    pub(crate) fn raw_entry(&self, key: &str) -> Option<&str> {
        self.sessions.get(key)
    }

    /// Every entry's text by its key.
    pub(crate) fn entry_texts(&self) -> BTreeMap<String, String> {
        let members = self.sessions.members();
        members.map(|(key, text)| (key.to_owned(), text.to_owned())).collect()
    }

    /// A top-level key beside version and sessions.
    pub fn extra(&self, key: &str) -> Option<Value> {
        serde_json::from_str(self.top.get(key)?).ok()
    }

    /// The document with `registry` in it; whatever the types do not know stays as it is.
    ///
    /// `bases` holds the texts that restored entries had.
    pub(crate) fn render(
        &self,
        registry: &Registry,
        extras: &BTreeMap<String, Value>,
        bases: &BTreeMap<String, String>,
    ) -> String {
        let mut sessions = self.sessions.clone();
        // A key that changed keeps its place and its unknown fields.
        for (name, entry) in registry.entries() {
            let before = entry.id.and_then(|id| self.registry.by_id(id));
            if let Some((before, _)) = before
                && before != name
                && !registry.is_taken(before.as_str())
                && sessions.get(name.as_str()).is_none()
            {
                sessions.rename(before.as_str(), name.as_str());
            }
        }
        sessions.retain(|key| registry.is_taken(key));
        for (name, entry) in registry.entries() {
            let key = name.as_str();
            let base = bases.get(key).map(String::as_str);
            let text = match sessions.get(key).map(|text| (text, entry_json::read(text))) {
                Some((_, Ok(listed))) if listed == *entry => continue,
                Some((text, Ok(_))) => entry_json::edit(text, entry),
                _ => entry_json::fresh(base, entry),
            };
            sessions.set(key, text);
        }
        for unusable in registry.unusable() {
            if let (None, Some(base)) = (sessions.get(&unusable.key), bases.get(&unusable.key)) {
                sessions.set(&unusable.key, base.clone());
            }
        }
        let mut top = self.top.clone();
        for (key, value) in extras {
            top.set(key, print_value(value, 1));
        }
        top.set("sessions", sessions.print(1));
        format!("{}\n", top.print(0))
    }
}

/// The typed entries; what cannot be typed is unusable, with a reason.
fn typed(sessions: &RawObject) -> Registry {
    let mut entries = Vec::new();
    let mut unusable = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (key, _) in sessions.members() {
        if !seen.insert(key) {
            continue;
        }
        let text = sessions.get(key).expect("BUG: the key was just listed");
        match (SessionName::parse(key), entry_json::read(text)) {
            (Ok(name), Ok(entry)) => entries.push((name, entry)),
            (Err(error), entry) => unusable.push(Unusable {
                key: key.to_owned(),
                id: entry.map_or_else(|flaw| flaw.id, |entry| entry.id),
                reason: error.to_string(),
            }),
            (Ok(_), Err(flaw)) => {
                unusable.push(Unusable { key: key.to_owned(), id: flaw.id, reason: flaw.reason });
            }
        }
    }
    Registry::from_parts(entries, unusable)
}

/// The byte offset that a parser's line and column (both from 1, in bytes) point at.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let line_start: usize =
        text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (line_start + column.saturating_sub(1)).min(text.len())
}

/// A parser's complaint without its own position.
fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    format!("is not JSON: {what}")
}

impl Store {
    /// Reads the registry without a lock: writers replace the file in one step.
    ///
    /// No file and no history is a fresh box: an empty registry.
    ///
    /// # Errors
    /// When the file is damaged or cannot be read.
    pub fn read(&self) -> Result<Document, ReadError> {
        let path = self.paths().registry();
        match regular_file::read(&path) {
            Ok(bytes) => Ok(Document::parse(&path, &bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if self.has_history()? {
                    return Err(ReadError::Damaged(Damage {
                        path,
                        byte: 0,
                        line: 1,
                        column: 1,
                        reason: "is gone".to_owned(),
                        kind: DamageKind::Missing,
                    }));
                }
                Ok(Document::fresh())
            }
            Err(error) => Err(IoError::on("read", &path)(error).into()),
        }
    }

    /// Like [`Store::read`], but damage must last 200 ms: some editors write in place.
    ///
    /// # Errors
    /// When the file is still damaged then, or cannot be read.
    pub fn read_settled(&self) -> Result<Document, ReadError> {
        let deadline = Deadline::after(Duration::from_millis(200));
        loop {
            match self.read() {
                Err(ReadError::Damaged(damage)) if damage.kind != DamageKind::Newer => {
                    if deadline.has_passed() {
                        return Err(damage.into());
                    }
                    pause(Duration::from_millis(10));
                }
                result => return result,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use agent_box_session::{Agent, Entry, SessionId, SessionSpec};
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Document {
        Document::parse(Path::new("sessions.json"), text.as_bytes()).unwrap()
    }

    /// Values that programs write in more than one way.
    const VALUES: [&str; 8] =
        ["1.0", "1e400", "\"\\u00e9\\/\"", "[ 1,2 ]", "{\"a\":{}}", "null", "-0", "\"x\""];

    /// The text of a document with unknown fields everywhere, and of the keys it has.
    fn document() -> impl Strategy<Value = String> {
        let field = (0..4u8, 0..VALUES.len());
        let entry = (prop::collection::vec(field, 0..4), any::<bool>(), 0..3u8);
        prop::collection::vec(entry, 0..5).prop_map(|entries| {
            let entries = entries.iter().enumerate().map(|(number, (fields, stopped, agent))| {
                let mut members: Vec<String> = fields
                    .iter()
                    .map(|(key, value)| format!("\"x{key}\": {}", VALUES[*value]))
                    .collect();
                members.insert(members.len() / 2, format!("\"stopped\": {stopped}"));
                members.push(match agent {
                    0 => "\"agent\": 7".to_owned(),
                    1 => "\"agent\": \"claude\"".to_owned(),
                    _ => "\"initialPrompt\": \"go\"".to_owned(),
                });
                format!("\"s{number}\": {{{}}}", members.join(" , "))
            });
            let sessions: Vec<String> = entries.collect();
            format!("{{\"a\": 1.50,\"sessions\":{{{}}},\"z\":[ ]}}", sessions.join(","))
        })
    }

    #[derive(Clone, Debug)]
    enum Edit {
        Change(usize, u8),
        Remove(usize),
        Add(u128),
    }

    fn edits() -> impl Strategy<Value = Vec<Edit>> {
        let edit = prop_oneof![
            (0..5usize, 0..5u8).prop_map(|(at, field)| Edit::Change(at, field)),
            (0..5usize).prop_map(Edit::Remove),
            (0..3u128).prop_map(Edit::Add),
        ];
        prop::collection::vec(edit, 0..6)
    }

    fn apply(registry: &Registry, edit: &Edit) -> Registry {
        let mut entries: Vec<(SessionName, Entry)> =
            registry.entries().map(|(name, entry)| (name.clone(), entry.clone())).collect();
        match *edit {
            Edit::Change(at, field) => {
                if let Some((_, entry)) = entries.get_mut(at) {
                    match field {
                        0 => entry.stopped = !entry.stopped,
                        1 => entry.spec.initial_prompt = Some("a\n\"b\"".to_owned()),
                        2 => entry.spec.extra_args.push(String::new()),
                        3 => entry.spec.limits.tasks_max = Some(entry.generation),
                        _ => entry.generation += 1,
                    }
                }
            }
            Edit::Remove(at) if at < entries.len() => drop(entries.remove(at)),
            Edit::Remove(_) => {}
            Edit::Add(number) => {
                let name = SessionName::parse(&format!("n{number}")).unwrap();
                let id = SessionId::from_uuid(uuid::Uuid::from_u128(number));
                if !registry.is_taken(name.as_str()) {
                    entries.push((name, Entry::new(id, SessionSpec::new(Agent::Shell))));
                }
            }
        }
        Registry::from_parts(entries, registry.unusable().to_vec())
    }

    proptest! {
        #[test]
        fn what_the_types_do_not_know_survives_every_edit(text in document(), edits in edits()) {
            let mut document = parse(&text);
            for edit in &edits {
                let registry = apply(&document.registry, edit);
                let printed = document.render(&registry, &BTreeMap::new(), &BTreeMap::new());
                let read = parse(&printed);
                prop_assert_eq!(&read.registry, &registry);
                // Unknown members of each entry that is still there, as they were spelled.
                for (key, text) in document.sessions.members() {
                    let unknown = |text: &str| -> Vec<(String, String)> {
                        let object = RawObject::parse(text).unwrap();
                        let members = object.members().filter(|(key, _)| key.starts_with('x'));
                        members.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
                    };
                    if let Some(after) = read.sessions.get(key) {
                        prop_assert_eq!(unknown(text), unknown(after));
                    } else {
                        prop_assert!(!registry.is_taken(key));
                    }
                }
                prop_assert_eq!((read.top.get("a"), read.top.get("z")), (Some("1.50"), Some("[ ]")));
                document = read;
            }
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Document::parse(Path::new("x"), &bytes);
        }
    }

    #[test]
    fn a_thousand_levels_of_nesting_are_no_danger() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let text = format!("{{\"sessions\":{{\"a\":{{\"x\":{deep},\"agent\":\"shell\"}}}}}}");
        assert_eq!(parse(&text).registry.entries().len(), 1);
        let text = format!("{{\"sessions\":{{\"a\":{{\"agent\":{deep}}}}}}}");
        assert_eq!(parse(&text).registry.unusable().len(), 1);
    }
}
