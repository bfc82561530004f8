//! `sources.json`: who may send, and how each proves it.
//!
//! ```text
//! { "defaultSource": "github",
//!   "sources": { "github": { "secretFile": "github.secret" },
//!                "shop": { "scheme": "shopify", "secretFiles": ["shop.secret"] } } }
//! ```
//!
//! A file that is missing or cannot be read holds no source, so every delivery is refused; an
//! option that cannot be used takes its source's keys away. Nothing fails open, and each reason
//! is kept for `status`.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use agent_box_event::Source;
use agent_box_session::WebhookPaths;
use hyper::header::HeaderName;
use serde_json::{Map, Value};

use crate::disk;
use crate::inbox::Format;

use super::proof::{self, companions};
use super::scheme::{Scheme, Shape};
use super::secret::{self, Secret, SecretProblem};

/// The largest body of a source that says nothing else; GitHub's own limit.
pub const DEFAULT_MAX_BYTES: u64 = 25 * 1024 * 1024;
/// More than this no source may ask for.
const MOST_BYTES: u64 = 100 * 1024 * 1024;
const DEFAULT_TOLERANCE_S: u64 = 300;
const MOST_TOLERANCE_S: u64 = 86_400;
/// Each active secret costs one MAC over every body.
pub(crate) const MAX_KEYS: usize = 8;

/// All sources, as the file says at one moment.
#[derive(Clone, Debug)]
pub struct Sources {
    default: Option<Source>,
    by_name: BTreeMap<Source, SourceSettings>,
    /// What is wrong with the file as a whole, and with names in it.
    pub problems: Vec<String>,
    /// The files on which all this rests.
    pub(crate) files: Vec<PathBuf>,
}

/// One source.
#[derive(Clone, Debug)]
pub struct SourceSettings {
    /// Its name.
    pub name: Source,
    /// How it signs.
    pub scheme: Scheme,
    /// How its deliveries are read.
    pub format: Format,
    /// The largest body, in bytes.
    pub max_bytes: u64,
    /// What cannot be used of it, and the fix for each.
    pub problems: Vec<String>,
    pub(crate) keys: Vec<Secret>,
    pub(crate) signature_header: HeaderName,
    pub(crate) event_header: Option<HeaderName>,
    pub(crate) event_paths: Vec<String>,
    pub(crate) delivery_header: Option<HeaderName>,
    pub(crate) delivery_path: Option<String>,
    pub(crate) key_header: Option<HeaderName>,
    pub(crate) key_path: Option<String>,
    pub(crate) sender_paths: Vec<String>,
    pub(crate) tolerance_ms: u64,
    /// Where the signed body says when it was sent, in milliseconds.
    pub(crate) time_path: Option<&'static str>,
}

impl SourceSettings {
    /// How many secrets are active.
    pub fn active_secrets(&self) -> usize {
        self.keys.len()
    }

    /// The header that carries the signature, in lower case.
    pub fn signature_header(&self) -> &str {
        self.signature_header.as_str()
    }

    /// Whether what happened stands in a header, and not in the body.
    pub(crate) fn has_event_header(&self) -> bool {
        self.event_header.is_some()
    }

    /// The secret to enter at the sender, for a person who asked to see it. Secrets that are
    /// decoded for use are not kept as text.
    pub(crate) fn newest_secret(&self) -> Option<String> {
        let is_decoded = self.shape() == Shape::Standard;
        let newest = self.keys.first().filter(|_| !is_decoded)?;
        String::from_utf8(newest.bytes().to_vec()).ok()
    }

    /// The headers of a delivery of this source: proof, id, and the kind where that has a header.
    pub(crate) fn sign(
        &self,
        body: &[u8],
        id: &str,
        event: Option<&str>,
        now_ms: u64,
    ) -> Result<Vec<(String, String)>, String> {
        let name = &self.name;
        let Some(key) = self.keys.first() else { return Err(format!("{name} has no secret")) };
        let mut headers = proof::sign(self, key, body, id, now_ms);
        let mut add = |header: &Option<HeaderName>, value: &str| {
            let header = header.as_ref().map(HeaderName::as_str);
            if let Some(header) = header.filter(|it| headers.iter().all(|(name, _)| name != it)) {
                headers.push((header.to_owned(), value.to_owned()));
            }
        };
        add(&self.delivery_header, id);
        if let Some(event) = event {
            if !self.has_event_header() {
                let path = self.event_paths.first().map_or("type", String::as_str);
                return Err(format!("{name} says what happened in the body, as `{path}`"));
            }
            if event.is_empty()
                || !event.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
            {
                return Err("an event is a word of plain letters".to_owned());
            }
            add(&self.event_header, event);
        }
        Ok(headers)
    }

    pub(crate) fn shape(&self) -> Shape {
        self.scheme.profile().shape
    }
}

impl Sources {
    /// Reads the file and the secrets that it names.
    pub fn read(paths: &WebhookPaths) -> Self {
        let path = paths.sources();
        let mut sources = Self {
            default: None,
            by_name: BTreeMap::new(),
            problems: Vec::new(),
            files: vec![path.clone()],
        };
        match document(&path) {
            Ok((document, mode)) => sources.fill(&document, mode, paths.state(), &path),
            Err(problem) => sources.problems.push(problem),
        }
        sources
    }

    /// The source of this name; without a name, the default one.
    pub fn find(&self, name: Option<&str>) -> Option<&SourceSettings> {
        match name {
            None => self.by_name.get(self.default.as_ref()?),
            Some(name) => self.by_name.get(&Source::parse(name).ok()?),
        }
    }

    /// All sources, by name.
    pub fn iter(&self) -> impl Iterator<Item = &SourceSettings> {
        self.by_name.values()
    }

    /// The name that the bare address stands for.
    pub fn default_name(&self) -> Option<&Source> {
        self.default.as_ref()
    }

    fn fill(&mut self, document: &Map<String, Value>, mode: u32, state: &Path, path: &Path) {
        let default = match document.get("defaultSource") {
            None => "github",
            Some(value) => value.as_str().unwrap_or_default(),
        };
        match Source::parse(default) {
            Ok(name) => self.default = Some(name),
            Err(error) => self.problems.push(format!("defaultSource: {error}")),
        }
        let empty = Map::new();
        let listed = match document.get("sources") {
            None => &empty,
            Some(Value::Object(listed)) => listed,
            Some(_) => {
                self.problems.push(format!("{}: `sources` is no object", path.display()));
                &empty
            }
        };
        for (name, options) in listed {
            let (name, options) = match (Source::parse(name), options) {
                (Ok(name), Value::Object(options)) => (name, options),
                (Ok(name), _) => {
                    self.problems.push(format!("{name}: its settings are no object"));
                    continue;
                }
                (Err(error), _) => {
                    self.problems.push(error.to_string());
                    continue;
                }
            };
            let reader = SourceReader { options, state, mode, path, problems: Vec::new() };
            let (settings, files) = reader.read(name.clone());
            self.files.extend(files);
            self.by_name.insert(name, settings);
        }
    }
}

/// The document and its permission bits.
fn document(path: &Path) -> Result<(Map<String, Value>, u32), String> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            format!("{}: missing; run `agent-box webhook setup`", path.display())
        }
        _ => format!("{}: cannot be read ({error})", path.display()),
    };
    let mode = std::fs::metadata(path).map_err(unreadable)?.mode() & 0o7777;
    let bytes = disk::read(path).map_err(unreadable)?;
    let value = serde_json::from_slice(&bytes)
        .map_err(|error| format!("{}: no JSON ({error}); repair it by hand", path.display()))?;
    match value {
        Value::Object(document) => Ok((document, mode)),
        _ => Err(format!("{}: no JSON object; repair it by hand", path.display())),
    }
}

/// Where a secret stands.
enum Place<'a> {
    Inline(&'a str),
    File(PathBuf),
}

/// Reads the options of one source.
struct SourceReader<'a> {
    options: &'a Map<String, Value>,
    state: &'a Path,
    mode: u32,
    path: &'a Path,
    problems: Vec<String>,
}

impl<'a> SourceReader<'a> {
    fn read(mut self, name: Source) -> (SourceSettings, Vec<PathBuf>) {
        let scheme = self.scheme(&name);
        let profile = scheme.unwrap_or(Scheme::Hex).profile();
        let format = match self.text("format") {
            Some("github") => Format::GitHub,
            Some("generic") => Format::Generic,
            _ => profile.format,
        };
        let signature_header = self
            .header("signatureHeader", profile.signature_header)
            .unwrap_or(HeaderName::from_static(profile.signature_header));
        let mut delivery_header = self.header("deliveryHeader", profile.delivery_header);
        if profile.shape == Shape::Standard && !self.options.contains_key("deliveryHeader") {
            let [id, _] = companions(&signature_header);
            delivery_header = HeaderName::from_bytes(id.as_bytes()).ok();
        }
        let paths = |own: Option<&str>, defaults: &[&str]| -> Vec<String> {
            let defaults = || defaults.iter().map(|it| (*it).to_owned()).collect();
            own.map_or_else(defaults, |own| vec![own.to_owned()])
        };
        let tolerance_s =
            self.number("toleranceSeconds", DEFAULT_TOLERANCE_S, 1..=MOST_TOLERANCE_S);
        let (keys, files) = self.keys(scheme);
        let settings = SourceSettings {
            scheme: scheme.unwrap_or(Scheme::Hex),
            format,
            max_bytes: self.number("maxBytes", DEFAULT_MAX_BYTES, 1..=MOST_BYTES),
            keys,
            event_header: self.header("eventHeader", profile.event_header),
            event_paths: paths(self.text("eventPath"), profile.event_paths),
            delivery_path: self.text("deliveryPath").or(profile.delivery_path).map(str::to_owned),
            key_header: self.header("keyHeader", profile.key_header),
            key_path: self.text("keyPath").or(profile.key_path).map(str::to_owned),
            sender_paths: paths(self.text("senderPath"), profile.sender_paths),
            tolerance_ms: tolerance_s * 1000,
            time_path: profile.time_path,
            signature_header,
            delivery_header,
            name,
            problems: self.problems,
        };
        (settings, files)
    }

    /// Without a scheme, a source is read as the reference reads it.
    fn scheme(&mut self, name: &Source) -> Option<Scheme> {
        let Some(value) = self.options.get("scheme") else {
            return Some(Scheme::unsaid(name.as_str(), self.text("format")));
        };
        let scheme = value.as_str().and_then(Scheme::parse);
        if scheme.is_none() {
            let known: Vec<&str> = Scheme::all().map(Scheme::as_str).collect();
            self.problem("scheme", format!("unknown; one of {}", known.join(", ")));
        }
        scheme
    }

    /// The active secrets, and the files that were looked at for them. A secret that cannot be
    /// used takes nothing away from the others.
    fn keys(&mut self, scheme: Option<Scheme>) -> (Vec<Secret>, Vec<PathBuf>) {
        // The first one is the newest, with which `emit` signs.
        let (inline, named): (Vec<&str>, Vec<&str>) =
            (self.texts("secrets"), self.texts("secretFiles"));
        let first = match self.text("secret") {
            Some(inline) => Some(Place::Inline(inline)),
            None => self.text("secretFile").map(|name| Place::File(self.state.join(name))),
        };
        let rest = inline.into_iter().map(Place::Inline);
        let rest = rest.chain(named.into_iter().map(|name| Place::File(self.state.join(name))));
        let is_exposed = self.mode & 0o077 != 0;
        let mut files = Vec::new();
        let mut texts: Vec<Result<String, SecretProblem>> = Vec::new();
        for place in first.into_iter().chain(rest) {
            texts.push(match place {
                Place::File(path) => {
                    let text = secret::read_file(&path);
                    files.push(path);
                    text
                }
                Place::Inline(text) if !is_exposed => Ok(text.to_owned()),
                Place::Inline(_) => Err(SecretProblem::InlineExposed {
                    path: self.path.to_owned(),
                    mode: self.mode,
                }),
            });
        }
        if texts.is_empty() {
            let fix = "run `agent-box webhook setup` for this source";
            self.problem("secret", format!("there is none; {fix}"));
        }
        let mut keys: Vec<Secret> = Vec::new();
        for text in texts {
            let key = scheme.map(|scheme| text.and_then(|text| scheme.key_of(&text)));
            match key {
                None => {}
                Some(Ok(key)) if keys.contains(&key) => {}
                Some(Ok(_)) if keys.len() == MAX_KEYS => {
                    let fix = "run `agent-box webhook secrets drop` for this source";
                    self.problem("secrets", format!("more than {MAX_KEYS}; {fix}"));
                    break;
                }
                Some(Ok(key)) => keys.push(key),
                Some(Err(error)) => self.problem("secret", error),
            }
        }
        (keys, files)
    }

    fn problem(&mut self, option: &str, problem: impl Display) {
        self.problems.push(format!("{option}: {problem}"));
    }

    /// A text that is not blank.
    fn text(&self, option: &str) -> Option<&'a str> {
        let options: &'a Map<String, Value> = self.options;
        options.get(option)?.as_str().map(str::trim).filter(|text| !text.is_empty())
    }

    fn texts(&self, option: &str) -> Vec<&'a str> {
        let options: &'a Map<String, Value> = self.options;
        let Some(Value::Array(items)) = options.get(option) else { return Vec::new() };
        let texts = items.iter().filter_map(Value::as_str).map(str::trim);
        texts.filter(|text| !text.is_empty()).collect()
    }

    fn number(&mut self, option: &str, default: u64, legal: std::ops::RangeInclusive<u64>) -> u64 {
        let Some(value) = self.options.get(option) else { return default };
        if let Some(number) = value.as_u64().filter(|it| legal.contains(it)) {
            return number;
        }
        let (least, most) = legal.into_inner();
        self.problem(option, format!("not from {least} to {most}; {default} counts"));
        default
    }

    /// A header of the source's own, else the scheme's; an empty default is none.
    fn header(&mut self, option: &str, default: &'static str) -> Option<HeaderName> {
        if let Some(own) = self.text(option) {
            match HeaderName::from_bytes(own.as_bytes()) {
                Ok(name) => return Some(name),
                Err(_) => self.problem(option, "no name of a header; the scheme's own counts"),
            }
        }
        (!default.is_empty()).then(|| HeaderName::from_static(default))
    }
}

#[cfg(test)]
pub(crate) mod tests;
