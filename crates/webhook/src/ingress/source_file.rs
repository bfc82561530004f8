//! Changes of `sources.json` and of the secrets beside it: one writer at a time, nothing lost
//! that another version or a person wrote, and at every moment some secret that works.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_box_event::Source;
use agent_box_session::WebhookPaths;
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::disk::{self, EditLock, IoError, LockError};

use super::scheme::Scheme;
use super::secret::{self, SecretProblem};
use super::sources::MAX_KEYS;

/// Writers are quick; one that holds the lock for longer hangs.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Why sources were not changed.
#[derive(Debug, Error)]
pub enum SourceEditError {
    /// Somebody else is writing.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A file failed.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The document is damaged, and is left as it is.
    #[error("{}: {what}; repair it by hand, or move it aside and run `agent-box webhook setup`", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A secret cannot be used.
    #[error(transparent)]
    Secret(#[from] SecretProblem),
    /// The kernel gave no random bytes.
    #[error("cannot make a secret")]
    Random(#[source] io::Error),
    /// What was asked makes no sense as things are; the message names the next step.
    #[error("{0}")]
    Refused(String),
}

/// What `setup` found or made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetUp {
    /// Where the secret is, unless it stands in the document.
    pub secret_file: Option<PathBuf>,
    /// Whether the secret was made or stored just now.
    pub is_new: bool,
}

/// Makes a source, or finds it as it is. A secret that is there already is kept; `given` is one
/// that the sender made.
pub fn set_up(
    paths: &WebhookPaths,
    name: &Source,
    scheme: Option<Scheme>,
    given: Option<&str>,
) -> Result<SetUp, SourceEditError> {
    let (made, _lock) = edit(paths, |document| {
        let is_first = !document.contains_key("defaultSource");
        let entry = entry_or_new(document, paths, name, scheme)?;
        if let Some(scheme) = scheme {
            set_scheme(entry, name, scheme);
        }
        let scheme = scheme_of(entry, name);
        let has_inline = text(entry, "secret").is_some() || is_listed(entry, "secrets");
        let file = match text(entry, "secretFile") {
            Some(file) => Some(paths.state().join(file)),
            None if has_inline || is_listed(entry, "secretFiles") => None,
            None => {
                entry.insert("secretFile".to_owned(), json!(format!("{name}.secret")));
                Some(paths.secret(name.as_str()))
            }
        };
        if is_first {
            document.insert("defaultSource".to_owned(), json!(name.as_str()));
        }
        let Some(file) = file else {
            refuse_given(given, name)?;
            return Ok(SetUp { secret_file: None, is_new: false });
        };
        if is_there(&file)? {
            if given.is_some() && secret::read_file(&file).ok().as_deref() != given {
                refuse_given(given, name)?;
            }
            return Ok(SetUp { secret_file: Some(file), is_new: false });
        }
        let is_ours = !scheme.has_senders_secret();
        let text = match given {
            Some(given) => given.to_owned(),
            None if is_ours => secret::mint().map_err(SourceEditError::Random)?,
            // The sender makes it; until it is stored nothing is accepted.
            None => return Ok(SetUp { secret_file: Some(file), is_new: false }),
        };
        scheme.key_of(&text)?;
        disk::replace(&file, 0o600, text.as_bytes())?;
        Ok(SetUp { secret_file: Some(file), is_new: true })
    })?;
    Ok(made)
}

/// Gives a source a new secret. The old ones stay active until they are dropped, so that the
/// sender can be told meanwhile.
pub fn rotate(
    paths: &WebhookPaths,
    name: &Source,
    given: Option<&str>,
) -> Result<PathBuf, SourceEditError> {
    let ((own, text), _lock) = edit(paths, |document| {
        let entry = entry(document, paths, name)?;
        let scheme = scheme_of(entry, name);
        if given.is_none() && scheme.has_senders_secret() {
            return Err(SourceEditError::Refused(format!(
                "the secret of {name} is made by the sender: have it make a new one, then run \
                 `agent-box webhook secrets rotate {name} --secret-from FILE`"
            )));
        }
        let text = match given {
            Some(given) => given.to_owned(),
            None => secret::mint().map_err(SourceEditError::Random)?,
        };
        scheme.key_of(&text)?;
        if count(entry) >= MAX_KEYS {
            return Err(SourceEditError::Refused(format!(
                "{name} has {MAX_KEYS} secrets already; run `agent-box webhook secrets drop {name}`"
            )));
        }
        let own = paths.secret(name.as_str());
        if let Some(inline) = self::text(entry, "secret").map(str::to_owned) {
            append(entry, "secrets", &inline);
            entry.shift_remove("secret");
        } else if let Some(old) = self::text(entry, "secretFile").map(str::to_owned)
            && paths.state().join(&old) != own
        {
            append(entry, "secretFiles", &old);
        }
        // The own name is always the newest secret's. An old one is kept beside it, and active
        // under both names until the new one replaces it.
        let named = [text_or_empty(entry, "secretFile")].into_iter();
        let named = named.chain(list_of(entry, "secretFiles").iter().filter_map(Value::as_str));
        let is_active = named.into_iter().any(|file| paths.state().join(file) == own);
        if is_active && let Ok(kept) = secret::read_file(&own) {
            let aside = aside(paths, name)?;
            disk::replace(&aside, 0o600, kept.as_bytes())?;
            append(entry, "secretFiles", &file_name(&aside));
        }
        entry.insert("secretFile".to_owned(), json!(file_name(&own)));
        Ok((own, text))
    })?;
    disk::replace(&own, 0o600, text.as_bytes())?;
    Ok(own)
}

/// Forgets all secrets of a source but the newest; says how many.
pub fn drop_old(paths: &WebhookPaths, name: &Source) -> Result<usize, SourceEditError> {
    let ((dropped, files), _lock) = edit(paths, |document| {
        let entry = entry(document, paths, name)?;
        let scheme = scheme_of(entry, name);
        let count = count(entry);
        let is_current_inline = text(entry, "secret").map(str::to_owned);
        let current = text(entry, "secretFile").map(|file| paths.state().join(file));
        // Without a current one that works, dropping the others would close the source.
        let newest = match (&is_current_inline, &current) {
            (Some(inline), _) => inline.clone(),
            (None, Some(file)) => secret::read_file(file)?,
            (None, None) => {
                return Err(SourceEditError::Refused(format!(
                    "{name} has no newest secret; run `agent-box webhook secrets rotate {name}` first"
                )));
            }
        };
        scheme.key_of(&newest)?;
        let listed = entry.get("secretFiles").and_then(Value::as_array).into_iter().flatten();
        let files: Vec<PathBuf> = listed
            .filter_map(Value::as_str)
            .map(|file| paths.state().join(file))
            .filter(|file| Some(file) != current.as_ref() && is_made_here(paths, name, file))
            .collect();
        entry.shift_remove("secrets");
        entry.shift_remove("secretFiles");
        Ok((count - 1, files))
    })?;
    for file in files {
        disk::remove(&file)?;
    }
    Ok(dropped)
}

/// Reads, changes and replaces the document, alone, and stays alone for what follows from it.
fn edit<T>(
    paths: &WebhookPaths,
    change: impl FnOnce(&mut Map<String, Value>) -> Result<T, SourceEditError>,
) -> Result<(T, EditLock), SourceEditError> {
    disk::make_private_directory(paths.state())?;
    let path = paths.sources();
    let lock = EditLock::acquire(&paths.sources_lock(), LOCK_WAIT)?;
    let damaged = |what: String| SourceEditError::Damaged { path: path.clone(), what };
    let before = match disk::read(&path) {
        Ok(bytes) => {
            serde_json::from_slice(&bytes).map_err(|it| damaged(format!("no JSON ({it})")))?
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => json!({}),
        Err(error) => return Err(damaged(format!("cannot be read ({error})"))),
    };
    let Value::Object(mut document) = before.clone() else {
        return Err(damaged("no JSON object".to_owned()));
    };
    let done = change(&mut document)?;
    let after = Value::Object(document);
    if after != before {
        disk::replace(&path, 0o600, format!("{after:#}\n").as_bytes())?;
    }
    Ok((done, lock))
}

fn sources<'a>(
    document: &'a mut Map<String, Value>,
    paths: &WebhookPaths,
) -> Result<&'a mut Map<String, Value>, SourceEditError> {
    let listed = document.entry("sources").or_insert_with(|| json!({}));
    listed.as_object_mut().ok_or_else(|| SourceEditError::Damaged {
        path: paths.sources(),
        what: "`sources` is no object".to_owned(),
    })
}

fn entry<'a>(
    document: &'a mut Map<String, Value>,
    paths: &WebhookPaths,
    name: &Source,
) -> Result<&'a mut Map<String, Value>, SourceEditError> {
    let found = sources(document, paths)?.get_mut(name.as_str()).and_then(Value::as_object_mut);
    found.ok_or_else(|| {
        SourceEditError::Refused(format!(
            "there is no source {name}; run `agent-box webhook setup {name}`"
        ))
    })
}

fn entry_or_new<'a>(
    document: &'a mut Map<String, Value>,
    paths: &WebhookPaths,
    name: &Source,
    scheme: Option<Scheme>,
) -> Result<&'a mut Map<String, Value>, SourceEditError> {
    let listed = sources(document, paths)?;
    let entry = listed.entry(name.as_str()).or_insert_with(|| {
        let mut fresh = Map::new();
        set_scheme(&mut fresh, name, scheme.unwrap_or_else(|| Scheme::of_name(name.as_str())));
        Value::Object(fresh)
    });
    entry.as_object_mut().ok_or_else(|| SourceEditError::Damaged {
        path: paths.sources(),
        what: format!("the settings of {name} are no object"),
    })
}

/// Says a scheme where it is not what would be understood anyway: older tools read the file too.
fn set_scheme(entry: &mut Map<String, Value>, name: &Source, scheme: Scheme) {
    entry.shift_remove("scheme");
    if scheme_of(entry, name) != scheme {
        entry.insert("scheme".to_owned(), json!(scheme.as_str()));
    }
}

fn scheme_of(entry: &Map<String, Value>, name: &Source) -> Scheme {
    let said = text(entry, "scheme").and_then(Scheme::parse);
    said.unwrap_or_else(|| Scheme::unsaid(name.as_str(), text(entry, "format")))
}

fn text<'a>(entry: &'a Map<String, Value>, option: &str) -> Option<&'a str> {
    entry.get(option)?.as_str().map(str::trim).filter(|text| !text.is_empty())
}

fn text_or_empty<'a>(entry: &'a Map<String, Value>, option: &str) -> &'a str {
    text(entry, option).unwrap_or_default()
}

fn list_of<'a>(entry: &'a Map<String, Value>, option: &str) -> &'a [Value] {
    entry.get(option).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is_listed(entry: &Map<String, Value>, option: &str) -> bool {
    !list_of(entry, option).is_empty()
}

fn append(entry: &mut Map<String, Value>, option: &str, text: &str) {
    let list = entry.entry(option).or_insert_with(|| json!([]));
    if !list.is_array() {
        *list = json!([]);
    }
    if let Value::Array(items) = list
        && !items.iter().any(|it| it == text)
    {
        items.push(json!(text));
    }
}

/// How many secrets a source names.
fn count(entry: &Map<String, Value>) -> usize {
    let first = text(entry, "secret").or_else(|| text(entry, "secretFile"));
    usize::from(first.is_some())
        + list_of(entry, "secrets").len()
        + list_of(entry, "secretFiles").len()
}

fn refuse_given(given: Option<&str>, name: &Source) -> Result<(), SourceEditError> {
    match given {
        None => Ok(()),
        Some(_) => Err(SourceEditError::Refused(format!(
            "{name} has a secret already; to replace it run \
             `agent-box webhook secrets rotate {name} --secret-from FILE`"
        ))),
    }
}

/// Whether a secret is there, whatever it is worth; an empty file is none.
fn is_there(file: &Path) -> Result<bool, SecretProblem> {
    match std::fs::metadata(file) {
        Ok(meta) => Ok(meta.len() > 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(SecretProblem::Unreadable { path: file.to_owned(), source }),
    }
}

/// A free name for a secret that is no longer the newest.
fn aside(paths: &WebhookPaths, name: &Source) -> Result<PathBuf, SourceEditError> {
    let random = secret::mint().map_err(SourceEditError::Random)?;
    Ok(paths.secret(&format!("{name}.{}", &random[..8])))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Whether a file is one that [`aside`] named, so that nobody else needs it.
fn is_made_here(paths: &WebhookPaths, name: &Source, file: &Path) -> bool {
    let own = file_name(file);
    let middle = own.strip_prefix(&format!("{name}.")).and_then(|it| it.strip_suffix(".secret"));
    let is_random =
        middle.is_some_and(|it| it.len() == 8 && it.bytes().all(|b| b.is_ascii_hexdigit()));
    is_random && file.parent() == Some(paths.state())
}
