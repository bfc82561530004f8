//! What is subscribed, for people and for programs.

use agent_box_event::{Cut, Expiry, Filter, FilterRow, Login, Policy, Subscription, sanitize};
use agent_box_session::WebhookPaths;
use serde_json::{Map, Value, json};

use super::requests::{remarks, shown};
use super::{FilterFile, Owner, edit, read, receiver};
use crate::from_event_json;

/// A caller's subscriptions and the box's watches.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    own: Section,
    watches: Section,
    me: Option<Login>,
    complaint: Option<String>,
    /// What the person should know beside.
    pub(crate) warnings: Vec<String>,
}

#[derive(Clone, Debug)]
struct Section {
    path: String,
    file: FilterFile,
    /// The rows as they count, governed by the policy; one for each live row of the file.
    governed: Vec<Subscription>,
}

impl Listing {
    /// Looks at the files, and removes from them what has expired.
    pub(crate) fn new(
        paths: &WebhookPaths,
        owner: &Owner,
        me: Option<Login>,
        policy: &Policy,
        now_ms: u64,
    ) -> Self {
        let mut warnings = Vec::new();
        let own = Section::new(paths, owner, None, &mut warnings, now_ms);
        let watches = Section::new(paths, &Owner::Box, Some(policy), &mut warnings, now_ms);
        let has_watches = watches.file.filter().is_some_and(|filter| !filter.rows.is_empty());
        let complaint = if has_watches { receiver::complaint(paths) } else { None };
        Self { own, watches, me, complaint, warnings }
    }

    /// Whether there is a standing watch that could start something.
    pub(crate) fn has_watches(&self) -> bool {
        self.watches.file.filter().is_some_and(|it| it.enabled && !it.rows.is_empty())
    }

    /// For programs.
    pub(crate) fn to_json(&self, now_ms: u64) -> Value {
        let mut json = self.own.to_json(now_ms);
        if let Some(me) = &self.me {
            json.insert("self".to_owned(), json!(me.as_str()));
        }
        if self.watches.file != FilterFile::Absent {
            let mut watches = self.watches.to_json(now_ms);
            if let Some(complaint) = &self.complaint {
                watches.entry("warning").or_insert_with(|| json!(complaint));
            }
            json.insert("dispatch".to_owned(), Value::Object(watches));
        }
        Value::Object(json)
    }

    /// For people: lines of a table, and what is to be said about it.
    pub(crate) fn table(&self, now_ms: u64) -> (Vec<Vec<String>>, Vec<String>) {
        let mut lines = self.own.lines("tell the session", now_ms);
        lines.extend(self.watches.lines("start a session", now_ms));
        let mut remarks: Vec<String> = self.own.warning().into_iter().collect();
        remarks.extend(self.watches.warning().map(|it| format!("standing watches: {it}")));
        remarks.extend(self.complaint.clone());
        (lines, remarks)
    }
}

impl Section {
    fn new(
        paths: &WebhookPaths,
        owner: &Owner,
        policy: Option<&Policy>,
        warnings: &mut Vec<String>,
        now_ms: u64,
    ) -> Self {
        let path = owner.path(paths);
        let mut file = read(paths, owner);
        let is_expired =
            |filter: &Filter| filter.rows.iter().any(|row| row.is_expired(filter.ttl_ms, now_ms));
        if file.filter().is_some_and(is_expired) {
            match edit(paths, owner, now_ms, |document| document.prune(now_ms)) {
                Ok(edited) => {
                    let topics: Vec<String> =
                        edited.outcome.iter().map(|row| row.pattern.to_string()).collect();
                    warnings.push(format!("expired just now: {}", topics.join(", ")));
                    file = FilterFile::Read(edited.document);
                }
                Err(error) => warnings.push(crate::cli::print::chain(&error)),
            }
        }
        let governed = match (&file, policy) {
            (FilterFile::Read(document), Some(policy)) => policy.govern(document.filter()).rows,
            (FilterFile::Read(document), None) => document.filter().rows.clone(),
            _ => Vec::new(),
        };
        Self { path: shown(&path), file, governed }
    }

    /// The rows of the file with the rules that count.
    fn rows(&self, now_ms: u64) -> Vec<(FilterRow<'_>, bool)> {
        let FilterFile::Read(document) = &self.file else { return Vec::new() };
        let mut governed = self.governed.iter();
        let rows = document.rows(now_ms).into_iter().map(|mut row| {
            let mut is_governed = false;
            if let Ok(written) = row.subscription
                && let Some(counts) = governed.next()
            {
                is_governed = written != counts;
                row.subscription = Ok(counts);
            }
            (row, is_governed)
        });
        rows.collect()
    }

    fn to_json(&self, now_ms: u64) -> Map<String, Value> {
        let filter = self.file.filter();
        let rows = self.rows(now_ms).into_iter().map(|(row, is_governed)| {
            let mut json = from_event_json(&row.to_json());
            if is_governed && let Some(members) = json.as_object_mut() {
                members.insert("declared".to_owned(), Value::Bool(true));
            }
            json
        });
        let rows: Vec<Value> = rows.collect();
        let ttl = filter.and_then(|it| it.ttl_ms).unwrap_or(Subscription::DEFAULT_TTL_MS);
        let mut members = Map::new();
        members.insert("enabled".to_owned(), json!(filter.is_none_or(|it| it.enabled)));
        members.insert("ttlHours".to_owned(), hours(ttl));
        members.insert("filterFile".to_owned(), json!(self.path));
        members.insert("filterState".to_owned(), json!(self.file.state()));
        members.insert("topics".to_owned(), Value::Array(rows));
        if let Some(warning) = self.warning() {
            members.insert("warning".to_owned(), json!(warning));
        }
        members
    }

    fn lines(&self, what: &str, now_ms: u64) -> Vec<Vec<String>> {
        let line = |(row, is_governed): (FilterRow<'_>, bool)| {
            let clean = |text: &str| sanitize(text, Cut::VALUE);
            let (end, mut about) = match row.subscription {
                Err(reason) => (row.expiry.to_string(), vec![clean(reason)]),
                Ok(it) => {
                    let note = it.note.as_deref().map(clean);
                    let end = match row.expiry {
                        Expiry::In(_) => format!("in {}", row.expiry),
                        other => other.to_string(),
                    };
                    let rules = remarks(it).into_iter().map(|it| format!("[{it}]"));
                    (end, note.into_iter().chain(rules).collect())
                }
            };
            if is_governed {
                about.push("[rules declared by the system configuration]".to_owned());
            }
            about.extend(row.problems.iter().map(|it| format!("[{it}]")));
            vec![clean(&row.text), what.to_owned(), end, about.join(" ")]
        };
        self.rows(now_ms).into_iter().map(line).collect()
    }

    fn warning(&self) -> Option<String> {
        match &self.file {
            FilterFile::Absent => None,
            FilterFile::Invalid(reason) => Some(format!(
                "{} cannot be read, so it delivers nothing: {reason}; repair it, or subscribe: \
                 then it is written anew and its content kept beside it",
                self.path
            )),
            FilterFile::Read(document) => {
                let mut problems = document.problems().to_vec();
                if !document.filter().enabled && problems.is_empty() {
                    problems.push("muted; `agent-box webhook unmute` ends that".to_owned());
                }
                (!problems.is_empty()).then(|| problems.join("; "))
            }
        }
    }
}

fn hours(ms: u64) -> Value {
    if ms.is_multiple_of(3_600_000) {
        return json!(ms / 3_600_000);
    }
    #[expect(clippy::cast_precision_loss, reason = "shown, not computed with")]
    let hours = ms as f64 / 3_600_000.0;
    json!(hours)
}
