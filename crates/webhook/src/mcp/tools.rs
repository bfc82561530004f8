//! The tools: what they are called, what they take, and what they do.

use agent_box_session::env;
use serde_json::{Map, Value, json};

use super::rpc::INVALID_PARAMS;
use super::waiting::Waiting;
use crate::cli::{Context, print};
use crate::filters::requests::{self, Refused, Reply, Spelled};
use crate::filters::{EditError, Owner};
use crate::now_ms;
use crate::peers::wire::{Hello, Role};

/// What a call comes to.
#[derive(Debug)]
pub(super) enum Outcome {
    /// A text for the model.
    Text(String),
    /// It went wrong, or is refused; the model is told why.
    Failed(String),
    /// Events, which are acknowledged once the model has them.
    Waiting(Waiting),
    /// The protocol was misused.
    Misused(i64, String),
}

/// The list of tools.
pub(super) fn list() -> Value {
    let rule = |what: &str, clears: &str| {
        json!({
            "type": ["object", "null"],
            "description": format!(
                "{what} A rule is {{\"any\": [rules]}}, {{\"all\": [rules]}} or {{\"path\": \"a.b\", \
                 OP: [values]}} with OP one of in, notIn, contains, notContains; the path \"event\" \
                 is the kind of event. {clears}"
            ),
        })
    };
    let deliver_to = json!({
        "type": "string",
        "enum": ["session", "subagent"],
        "description": "session (the default): this session is told. subagent: a standing watch of \
                        the box; each event starts a fresh session. Only when the person asked.",
    });
    json!([
        {
            "name": "webhook_subscribe",
            "title": "Subscribe to events",
            "description": "Be told of events about a topic, or renew that and change what is \
                            given. What is not given stays as it is.",
            "inputSchema": {
                "type": "object",
                "required": ["topic"],
                "properties": {
                    "topic": {
                        "type": "string",
                        "description": "owner/name, owner/* or source:key",
                    },
                    "note": {
                        "type": "string",
                        "description": "Why, for yourself when the event comes; at most 300 \
                                        characters. An empty one removes it.",
                    },
                    "ttl_hours": {
                        "type": "number",
                        "minimum": 0,
                        "description": "How long it lasts. 0 is for ever, which suits standing \
                                        watches only.",
                    },
                    "deliver_to": deliver_to,
                    "renew_on_event": {
                        "type": "boolean",
                        "description": "Whether each event starts its time anew.",
                    },
                    "ignore_senders": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "Logins whose events are left out; @self is this box's own \
                                        account. CI results come nevertheless. An empty list \
                                        ignores nobody.",
                    },
                    "include": rule("Only events that this rule matches.", "{} or null removes it."),
                    "exclude": rule(
                        "No events that this rule matches.",
                        "{} or null removes it and lets noise through as well.",
                    ),
                },
            },
        },
        {
            "name": "webhook_unsubscribe",
            "title": "Unsubscribe from events",
            "description": "Be told of a topic no longer. The topic must be written as in \
                            webhook_subscriptions.",
            "inputSchema": {
                "type": "object",
                "required": ["topic"],
                "properties": {
                    "topic": {"type": "string", "description": "As it is listed"},
                    "deliver_to": deliver_to,
                },
            },
        },
        {
            "name": "webhook_subscriptions",
            "title": "List subscriptions",
            "description": "What this session is subscribed to, until when and why; and, under \
                            dispatch, the box's standing watches.",
            "inputSchema": {"type": "object", "properties": {}},
            "annotations": {"readOnlyHint": true},
        },
        {
            "name": "webhook_read",
            "title": "Read waiting events",
            "description": "The events that wait for this session, oldest first. They are handed \
                            over once.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "max": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": MOST,
                        "description": "At most so many; 20 without it.",
                    },
                },
            },
        },
    ])
}

/// The most events of one call.
const MOST: u64 = 100;

/// Calls a tool.
pub(super) async fn call(context: &Context, params: &Value) -> Outcome {
    let Some(name) = params["name"].as_str() else {
        return Outcome::Misused(INVALID_PARAMS, "tools/call needs a name".to_owned());
    };
    let nothing = Map::new();
    let arguments = match &params["arguments"] {
        Value::Null => &nothing,
        Value::Object(arguments) => arguments,
        _ => return Outcome::Failed("the arguments must be an object".to_owned()),
    };
    let arguments = Arguments(arguments);
    let done = match name {
        "webhook_subscribe" => subscribe(context, &arguments),
        "webhook_unsubscribe" => unsubscribe(context, &arguments),
        "webhook_subscriptions" => {
            let (owner, now) = (Owner::of_key(context.key().as_deref()), now_ms());
            let listing = context.listing(&owner, now);
            let mut json = listing.to_json(now);
            // Inside, so that the answer is JSON whatever happened.
            if !listing.warnings.is_empty() {
                json["notes"] = json!(listing.warnings);
            }
            let text = format!("{json:#}");
            Ok(Outcome::Text(text))
        }
        "webhook_read" => match arguments.max() {
            Ok(max) => Ok(Waiting::read(&context.paths.peers(), hello(context, Role::Reader), max)
                .await
                .map_or_else(Outcome::Failed, Outcome::Waiting)),
            Err(refused) => Err(refused),
        },
        _ => {
            let text = format!("there is no tool {name:?}; tools/list names them");
            return Outcome::Misused(INVALID_PARAMS, text);
        }
    };
    done.unwrap_or_else(Outcome::Failed)
}

/// Who connects to the daemon from here.
pub(super) fn hello(context: &Context, role: Role) -> Hello {
    Hello {
        key: context.key().unwrap_or_default(),
        session_id: context.text(env::SESSION_UUID).map(str::to_owned),
        pid: std::process::id(),
        role,
        after: None,
    }
}

fn subscribe(context: &Context, arguments: &Arguments<'_>) -> Result<Outcome, Refused> {
    let topic = arguments.topic()?;
    let owner = arguments.owner(context)?;
    let spelled = Spelled {
        note: arguments.text("note")?,
        ttl_hours: arguments.number("ttl_hours")?,
        renew_on_event: arguments.flag("renew_on_event")?,
        ignore_senders: arguments.texts("ignore_senders")?,
        include: arguments.rule("include", "when")?,
        exclude: arguments.rule("exclude", "drop")?,
    };
    let (now, paths) = (now_ms(), &context.paths);
    let me = context.acts_as(now);
    told(requests::subscribe(paths, me.as_ref(), &owner, &topic, &spelled, now))
}

fn unsubscribe(context: &Context, arguments: &Arguments<'_>) -> Result<Outcome, Refused> {
    let (topic, owner) = (arguments.topic()?, arguments.owner(context)?);
    told(requests::unsubscribe(&context.paths, &owner, &topic, now_ms()))
}

fn told(reply: Result<Result<Reply, Refused>, EditError>) -> Result<Outcome, Refused> {
    let reply = reply.map_err(|error| print::chain(&error))??;
    let mut text = reply.text;
    push_notes(&mut text, &reply.warnings);
    Ok(Outcome::Text(text))
}

fn push_notes(text: &mut String, notes: &[String]) {
    for note in notes {
        text.push_str("\nnote: ");
        text.push_str(note);
    }
}

/// A call's arguments; what has the wrong type is refused by name.
struct Arguments<'a>(&'a Map<String, Value>);

impl Arguments<'_> {
    fn given<T>(
        &self,
        name: &str,
        what: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>, Refused> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => read(value).map(Some).ok_or_else(|| format!("`{name}` must be {what}")),
        }
    }

    fn text(&self, name: &str) -> Result<Option<String>, Refused> {
        self.given(name, "a string", |it| it.as_str().map(str::to_owned))
    }

    fn number(&self, name: &str) -> Result<Option<f64>, Refused> {
        self.given(name, "a number", Value::as_f64)
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, Refused> {
        self.given(name, "true or false", Value::as_bool)
    }

    fn texts(&self, name: &str) -> Result<Option<Vec<String>>, Refused> {
        self.given(name, "a list of strings", |it| {
            it.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
        })
    }

    /// A rule; `null` is given, too, and removes it. Some clients send objects as text.
    fn rule(&self, name: &str, older: &str) -> Result<Option<Value>, Refused> {
        let Some(value) = self.0.get(name).or_else(|| self.0.get(older)) else { return Ok(None) };
        match value {
            Value::Null | Value::Object(_) => Ok(Some(value.clone())),
            Value::String(text) => serde_json::from_str(text)
                .map(Some)
                .map_err(|error| format!("`{name}` must be an object: {error}")),
            _ => Err(format!("`{name}` must be an object")),
        }
    }

    fn topic(&self) -> Result<String, Refused> {
        self.text("topic")?.ok_or_else(|| "`topic` is missing; write owner/name".to_owned())
    }

    fn owner(&self, context: &Context) -> Result<Owner, Refused> {
        match self.text("deliver_to")?.as_deref() {
            None | Some("session") => Ok(Owner::of_key(context.key().as_deref())),
            Some("subagent") => Ok(Owner::Box),
            Some(_) => Err("`deliver_to` must be session or subagent".to_owned()),
        }
    }

    fn max(&self) -> Result<usize, Refused> {
        let max = self.given("max", &format!("a whole number from 1 to {MOST}"), |it| {
            it.as_u64().filter(|max| (1..=MOST).contains(max))
        })?;
        Ok(usize::try_from(max.unwrap_or(20)).unwrap_or(20))
    }
}
