//! What people and agents ask of filters: to subscribe, to unsubscribe, to mute. The verbs and the
//! MCP tools both come here, and get one line that says what became of it.

use std::path::Path;

use agent_box_event::{
    Cut, Expiry, FilterDocument, Login, Muted, Predicate, Subscribed, Subscription, TopicPattern,
    Wish, sanitize,
};
use agent_box_session::WebhookPaths;
use serde_json::Value;

use super::{EditError, Edited, Owner, edit, receiver};
use crate::to_event_json;

/// A wish as it was spelled; what is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Spelled {
    pub(crate) note: Option<String>,
    pub(crate) ttl_hours: Option<f64>,
    pub(crate) renew_on_event: Option<bool>,
    pub(crate) ignore_senders: Option<Vec<String>>,
    /// `null` and `{}` remove the rule.
    pub(crate) include: Option<Value>,
    /// `null` and `{}` remove the rule, and ask for noise too.
    pub(crate) exclude: Option<Value>,
}

/// What became of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reply {
    /// One line about it.
    pub(crate) text: String,
    /// What the person should know beside.
    pub(crate) warnings: Vec<String>,
}

/// A request that is refused: what is wrong, and what to write instead.
pub(crate) type Refused = String;

impl Spelled {
    /// The wish, or what is wrong with its spelling.
    pub(crate) fn read(&self) -> Result<Wish, Refused> {
        Ok(Wish {
            note: self.note.clone(),
            ttl_ms: self.ttl_hours.map(hours).transpose()?,
            renew_on_event: self.renew_on_event,
            muted: self.ignore_senders.as_deref().map(muted).transpose()?,
            include: rule("include", self.include.as_ref())?,
            exclude: rule("exclude", self.exclude.as_ref())?,
        })
    }
}

/// Milliseconds of hours; however short, it is not 0, which is for ever.
pub(crate) fn hours(hours: f64) -> Result<u64, Refused> {
    if !hours.is_finite() || hours < 0.0 {
        return Err(format!("{hours} is no number of hours; write 0 (for ever) or more"));
    }
    if hours == 0.0 {
        return Ok(0);
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let ms = (hours * 3_600_000.0).clamp(1.0, 1e15) as u64;
    Ok(ms)
}

fn muted(logins: &[String]) -> Result<Vec<Muted>, Refused> {
    let words = logins.iter().flat_map(|it| it.split(',')).map(str::trim);
    let read = |word: &str| match Muted::parse(word) {
        Muted::Myself => Ok(Muted::Myself),
        Muted::Sender(login) => {
            let login = login.strip_prefix('@').unwrap_or(&login);
            Login::parse(login)
                .map(|login| Muted::Sender(login.as_str().to_owned()))
                .map_err(|error| error.to_string())
        }
    };
    words.filter(|word| !word.is_empty()).map(read).collect()
}

#[expect(clippy::option_option, reason = "the wish's own type: unsaid, removed, given")]
fn rule(name: &str, value: Option<&Value>) -> Result<Option<Option<Predicate>>, Refused> {
    let Some(value) = value else { return Ok(None) };
    if value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty) {
        return Ok(Some(None));
    }
    let read = Predicate::parse(&to_event_json(value));
    read.map(|rule| Some(Some(rule))).map_err(|error| format!("{name}: {error}"))
}

/// Subscribes or renews; `me` is what the box acts as.
pub(crate) fn subscribe(
    paths: &WebhookPaths,
    me: Option<&Login>,
    owner: &Owner,
    topic: &str,
    wish: &Spelled,
    now_ms: u64,
) -> Result<Result<Reply, Refused>, EditError> {
    let read = || Ok((TopicPattern::parse(topic).map_err(|it| it.to_string())?, wish.read()?));
    let (pattern, wish) = match read() {
        Ok(read) => read,
        Err(refused) => return Ok(Err(refused)),
    };
    let edited = edit(paths, owner, now_ms, |document| {
        let expired = document.prune(now_ms);
        (document.subscribe(&pattern, &wish, owner.audience(), now_ms), expired)
    })?;
    let verb = match edited.outcome.0 {
        Subscribed::New => "subscribed to",
        Subscribed::Renewed => "renewed subscription to",
    };
    let mut text = format!("{verb} {}", description(&edited.document, &pattern, now_ms));
    if *owner == Owner::Box {
        text.push_str("; each event starts a session");
    }
    push_list(&mut text, &edited.document);
    let mut reply = Reply { text, warnings: warnings(&edited, &edited.outcome.1) };
    if me.is_none() && wish.muted.is_some_and(|muted| muted.contains(&Muted::Myself)) {
        let text = "it is not known what this box acts as, so @self is nobody yet; \
                    `agent-box webhook self` finds out";
        reply.warnings.push(text.to_owned());
    }
    if *owner == Owner::Box {
        reply.warnings.extend(receiver::complaint(paths));
    }
    Ok(Ok(reply))
}

/// Unsubscribes from a pattern, or removes whatever row stands under this very text.
pub(crate) fn unsubscribe(
    paths: &WebhookPaths,
    owner: &Owner,
    topic: &str,
    now_ms: u64,
) -> Result<Result<Reply, Refused>, EditError> {
    let edited = edit(paths, owner, now_ms, |document| {
        let removed = document.unsubscribe(topic);
        (removed, document.prune(now_ms))
    })?;
    let (removed, expired) = &edited.outcome;
    let shown = match TopicPattern::parse(topic) {
        Ok(pattern) => pattern.to_string(),
        Err(error) if *removed == 0 => return Ok(Err(error.to_string())),
        Err(_) => sanitize(topic, Cut::VALUE),
    };
    let verb = if *removed > 0 { "unsubscribed from" } else { "not subscribed to" };
    let mut text = format!("{verb} {shown}");
    push_list(&mut text, &edited.document);
    Ok(Ok(Reply { text, warnings: warnings(&edited, expired) }))
}

/// Mutes every row of a file, or ends that.
pub(crate) fn set_enabled(
    paths: &WebhookPaths,
    owner: &Owner,
    enabled: bool,
    now_ms: u64,
) -> Result<Reply, EditError> {
    let edited = edit(paths, owner, now_ms, |document| document.set_enabled(enabled))?;
    let text = match (owner, enabled) {
        (Owner::Box, true) => "events start sessions again".to_owned(),
        (Owner::Box, false) => "muted: no event starts a session until `unmute`".to_owned(),
        (_, true) => "no longer muted".to_owned(),
        (_, false) => {
            "muted: nothing is told until `unmute`, or until something is subscribed".to_owned()
        }
    };
    Ok(Reply { text, warnings: warnings(&edited, &[]) })
}

/// One row in words.
fn description(document: &FilterDocument, pattern: &TopicPattern, now_ms: u64) -> String {
    let rows = document.rows(now_ms);
    let row = rows.iter().find_map(|row| {
        let subscription = row.subscription.ok()?;
        subscription.pattern.is_same(pattern).then_some((subscription, row.expiry))
    });
    let Some((row, expiry)) = row else { return pattern.to_string() };
    let mut text = row.pattern.to_string();
    if let Some(note) = &row.note {
        text = format!("{text}: {note}");
    }
    for remark in remarks(row) {
        text = format!("{text} [{remark}]");
    }
    let end = match expiry {
        Expiry::Pinned => "pinned (never expires)".to_owned(),
        Expiry::Undated => "never expires".to_owned(),
        expiry => format!("expires in {expiry}"),
    };
    format!("{text}; {end}")
}

/// What narrows a row, in words.
pub(super) fn remarks(row: &Subscription) -> Vec<String> {
    let mut remarks = Vec::new();
    if !row.muted.is_empty() {
        let logins: Vec<&str> = row.muted.iter().map(Muted::as_str).collect();
        remarks.push(format!("ignores {}", logins.join(", ")));
    }
    match (row.include.is_some(), row.exclude.is_some()) {
        (true, true) => remarks.push("include+exclude rules".to_owned()),
        (true, false) => remarks.push("include rule".to_owned()),
        (false, true) => remarks.push("exclude rule".to_owned()),
        (false, false) => {}
    }
    if !row.objects.is_empty() {
        remarks.push("only what its session was started for".to_owned());
    }
    if row.renew_on_event {
        remarks.push("renewed by each event".to_owned());
    }
    remarks
}

fn push_list(text: &mut String, document: &FilterDocument) {
    let topics: Vec<String> = document.rows(0).into_iter().map(|row| row.text).collect();
    if topics.is_empty() {
        text.push_str("; nothing is subscribed now");
    } else {
        text.push_str("; subscribed now: ");
        text.push_str(&topics.join(", "));
    }
}

fn warnings<T>(edited: &Edited<T>, expired: &[Subscription]) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(aside) = &edited.set_aside {
        warnings.push(format!(
            "the filter could not be read and was written anew; what stood there is in {}",
            aside.display()
        ));
    }
    if let Some(reason) = &edited.unreadable {
        warnings.push(format!("the filter cannot be read and is left as it is: {reason}"));
    }
    if !expired.is_empty() {
        let topics: Vec<String> = expired.iter().map(|row| row.pattern.to_string()).collect();
        warnings.push(format!("expired just now: {}", topics.join(", ")));
    }
    warnings
}

/// A path as it is shown.
pub(super) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
