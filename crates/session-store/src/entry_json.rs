//! How a registry entry is spelled in JSON: reading it into types, and writing only what changed.
//!
//! Absent and `null` mean the same, and so does an empty text. `skipPermissions` and
//! `remoteControl` are off only by a literal `false`; `stopped` and `hasRun` are on only by a
//! literal `true`. An `id` that is none counts as absent; any other field of a wrong type makes
//! the entry unusable, which leaves the file and all other entries alone.

use agent_box_session::{Agent, Entry, Limits, SessionId, SessionSpec};
use serde_json::Value;

use crate::raw_json::{RawObject, print_value};

/// A new entry as the reference system writes it; later fields are ours.
const FRESH: &str = r#"{"agent":null,"skipPermissions":true,"remoteControl":true,"remoteControlName":null,"workingDirectory":null,"extraArgs":[],"initialPrompt":null,"resumePrompt":null,"boxSessionId":null,"hasRun":false}"#;

/// Why an entry cannot be used.
#[derive(Debug)]
pub(crate) struct Flaw {
    /// Its id, if that can be read.
    pub(crate) id: Option<SessionId>,
    /// What is wrong, for people.
    pub(crate) reason: String,
}

/// Reads an entry from its text.
pub(crate) fn read(text: &str) -> Result<Entry, Flaw> {
    let object = RawObject::parse(text)
        .map_err(|_| Flaw { id: None, reason: "it is not an object".to_owned() })?;
    let fields = Fields(&object);
    let id = fields.text("id").ok().flatten().and_then(|id| id.parse().ok());
    fields.entry(id).map_err(|reason| Flaw { id, reason })
}

/// The text of a new entry, built on `base` (the same session's earlier text) where there is one.
pub(crate) fn fresh(base: Option<&str>, entry: &Entry) -> String {
    let base = base.filter(|text| read(text).is_ok()).unwrap_or(FRESH);
    edit(base, entry)
}

/// Writes `entry` into the text of an entry; fields that say the same already stay untouched.
pub(crate) fn edit(text: &str, entry: &Entry) -> String {
    let (Ok(old), Ok(mut object)) = (read(text), RawObject::parse(text)) else {
        return fresh(None, entry);
    };
    let Entry { id, generation, spec, conversation, has_run, stopped, stopped_by, created_by } =
        entry;
    let object = &mut object;
    // The reference's fields stand with a null; ours vanish.
    let null_or =
        |text: &Option<String>| text.as_ref().map_or(Value::Null, |it| Value::from(it.as_str()));
    if old.spec.agent != spec.agent {
        put(
            object,
            "agent",
            spec.agent.as_ref().map_or(Value::Null, |it| Value::from(it.as_str())),
        );
    }
    if old.spec.skip_permissions != spec.skip_permissions {
        put(object, "skipPermissions", spec.skip_permissions);
    }
    if old.spec.remote_control != spec.remote_control {
        put(object, "remoteControl", spec.remote_control);
    }
    if old.spec.remote_control_name != spec.remote_control_name {
        put(object, "remoteControlName", null_or(&spec.remote_control_name));
    }
    if old.spec.working_directory != spec.working_directory {
        put(object, "workingDirectory", null_or(&spec.working_directory));
    }
    if old.spec.extra_args != spec.extra_args {
        put(object, "extraArgs", spec.extra_args.clone());
    }
    if old.spec.initial_prompt != spec.initial_prompt {
        put(object, "initialPrompt", null_or(&spec.initial_prompt));
    }
    if old.spec.resume_prompt != spec.resume_prompt {
        put(object, "resumePrompt", null_or(&spec.resume_prompt));
    }
    if old.conversation != *conversation {
        put(object, "boxSessionId", null_or(conversation));
    }
    if old.has_run != *has_run {
        put(object, "hasRun", *has_run);
    }
    if old.stopped != *stopped {
        put_or_remove(object, "stopped", stopped.then_some(Value::Bool(true)));
    }
    if old.stopped_by != *stopped_by {
        put_or_remove(object, "stoppedBy", stopped_by.clone().map(Value::from));
    }
    if old.id != *id {
        put_or_remove(object, "id", id.map(|id| Value::from(id.to_string())));
    }
    if old.generation != *generation {
        put(object, "generation", *generation);
    }
    if old.created_by != *created_by {
        put_or_remove(object, "createdBy", created_by.clone().map(Value::from));
    }
    if old.spec.limits != spec.limits {
        edit_limits(object, old.spec.limits, spec.limits);
    }
    object.print(ENTRY_DEPTH)
}

/// Entries stand inside `sessions`, which stands inside the document.
const ENTRY_DEPTH: usize = 2;

fn put(object: &mut RawObject, key: &str, value: impl Into<Value>) {
    object.set(key, print_value(&value.into(), ENTRY_DEPTH + 1));
}

fn put_or_remove(object: &mut RawObject, key: &str, value: Option<Value>) {
    match value {
        Some(value) => put(object, key, value),
        None => object.remove(key),
    }
}

fn limits_of(limits: Limits) -> [(&'static str, Option<u64>); 4] {
    let Limits { memory_high, memory_max, tasks_max, cpu_weight } = limits;
    [
        ("memoryHigh", memory_high),
        ("memoryMax", memory_max),
        ("tasksMax", tasks_max),
        ("cpuWeight", cpu_weight),
    ]
}

fn edit_limits(entry: &mut RawObject, old: Limits, new: Limits) {
    let mut object =
        entry.get("limits").and_then(|text| RawObject::parse(text).ok()).unwrap_or_default();
    for ((key, old), (_, new)) in limits_of(old).into_iter().zip(limits_of(new)) {
        match new {
            _ if old == new => {}
            Some(new) => object.set(key, new.to_string()),
            None => object.remove(key),
        }
    }
    if object == RawObject::default() {
        entry.remove("limits");
    } else {
        entry.set("limits", object.print(ENTRY_DEPTH + 1));
    }
}

struct Fields<'o>(&'o RawObject);

impl Fields<'_> {
    fn entry(&self, id: Option<SessionId>) -> Result<Entry, String> {
        let agent = match self.text("agent")? {
            Some(kind) => Some(Agent::parse(&kind).map_err(|error| error.to_string())?),
            None => None,
        };
        Ok(Entry {
            id,
            generation: self.number("generation")?.unwrap_or(0),
            spec: SessionSpec {
                agent,
                skip_permissions: self.0.get("skipPermissions") != Some("false"),
                remote_control: self.0.get("remoteControl") != Some("false"),
                remote_control_name: self.text("remoteControlName")?,
                working_directory: self.text("workingDirectory")?,
                extra_args: self.texts("extraArgs")?,
                initial_prompt: self.text("initialPrompt")?,
                resume_prompt: self.text("resumePrompt")?,
                limits: self.limits()?,
            },
            conversation: self.text("boxSessionId")?,
            has_run: self.0.get("hasRun") == Some("true"),
            stopped: self.0.get("stopped") == Some("true"),
            stopped_by: self.text("stoppedBy")?,
            created_by: self.text("createdBy")?,
        })
    }

    fn value(&self, key: &str) -> Result<Value, String> {
        let text = self.0.get(key).unwrap_or("null");
        serde_json::from_str(text).map_err(|error| format!("`{key}` cannot be read: {error}"))
    }

    fn text(&self, key: &str) -> Result<Option<String>, String> {
        match self.value(key)? {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text).filter(|text| !text.is_empty())),
            _ => Err(format!("`{key}` is not a text")),
        }
    }

    fn texts(&self, key: &str) -> Result<Vec<String>, String> {
        let texts = match self.value(key)? {
            Value::Null => Some(Vec::new()),
            Value::Array(values) => values
                .into_iter()
                .map(|value| match value {
                    Value::String(text) => Some(text),
                    _ => None,
                })
                .collect(),
            _ => None,
        };
        texts.ok_or_else(|| format!("`{key}` is not a list of texts"))
    }

    fn number(&self, key: &str) -> Result<Option<u64>, String> {
        match self.value(key)? {
            Value::Null => Ok(None),
            value => match whole_number(&value) {
                Some(number) => Ok(Some(number)),
                None => Err(format!("`{key}` is not a whole number")),
            },
        }
    }

    fn limits(&self) -> Result<Limits, String> {
        let text = match self.0.get("limits") {
            None | Some("null") => return Ok(Limits::default()),
            Some(text) => text,
        };
        let object = RawObject::parse(text).map_err(|_| "`limits` is not an object".to_owned())?;
        let fields = Fields(&object);
        let number = |key| fields.number(key).map_err(|reason| format!("in `limits`, {reason}"));
        Ok(Limits {
            memory_high: number("memoryHigh")?,
            memory_max: number("memoryMax")?,
            tasks_max: number("tasksMax")?,
            cpu_weight: number("cpuWeight")?,
        })
    }
}

/// A number without fraction, also when another program spelled it `2.0`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to fit")]
fn whole_number(value: &Value) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        ((0.0..EXACT).contains(&number) && number.fract() == 0.0).then_some(number as u64)
    })
}
