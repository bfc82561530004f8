//! What must hold for any input: each function takes bytes, and panics if something does not.

use agent_box_event::{
    Audience, DeliveryId, Event, EventKey, Fence, FilterDocument, Frame, FrameLine, Json, Login,
    Muted, Number, Payload, Policy, Predicate, Source, Topic, TopicPattern, Wish, consider,
    objects_of, parse_rfc3339, print_rfc3339, read_frame, summary,
};
use serde_json::Value;

const NOW: u64 = 1_796_124_677_500;
const FENCE: u64 = 0x00f1_e2d3_c4b5_a697;

fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

fn json(data: &[u8]) -> Option<Json> {
    Some(tree(&serde_json::from_slice(data).ok()?))
}

fn tree(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(it) => Json::Bool(*it),
        Value::Number(it) => {
            let whole = it.as_i128().map(Number::integer);
            let number = whole.or_else(|| it.as_f64().and_then(Number::float));
            number.map_or(Json::Null, Json::Number)
        }
        Value::String(it) => Json::text(it),
        Value::Array(items) => Json::List(items.iter().map(tree).collect()),
        Value::Object(members) => {
            Json::Object(members.iter().map(|(name, it)| (name.clone(), tree(it))).collect())
        }
    }
}

/// A pattern reads what it prints, and matches nothing outside its source and prefix.
pub fn topic_pattern(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Ok(topic) = Topic::parse(text) {
        assert_eq!(Topic::parse(&topic.to_string()).as_ref(), Ok(&topic));
        assert!(
            TopicPattern::exactly(&topic).is_ok_and(|it| it.matches(&topic)) || text.contains('*')
        );
    }
    let Ok(pattern) = TopicPattern::parse(text) else { return };
    let printed = pattern.to_string();
    assert_eq!(TopicPattern::parse(&printed).as_ref(), Ok(&pattern));
    assert!(
        TopicPattern::parse(&printed.to_ascii_uppercase()).is_ok_and(|it| it.is_same(&pattern))
    );
    assert!(printed.bytes().all(|byte| byte.is_ascii_graphic()), "{printed}");
    let (source, key) = printed.split_once(':').expect("a pattern has both");
    let prefix = key.strip_suffix("/*");
    assert!(prefix != Some("") && key != "*", "{printed} would match everything");
    let matches = |source: &str, key: &str| {
        let topic = Topic::parse(&format!("{source}:{key}"));
        topic.is_ok_and(|topic| pattern.matches(&topic))
    };
    assert!(!matches(&format!("{source}x"), key) && !matches(source, &format!("x{key}")));
    if let Some(prefix) = prefix {
        assert!(!matches(source, prefix) && !matches(source, &format!("{prefix}/")));
        assert!(!matches(source, &format!("{prefix}x/y")), "{printed}");
    }
}

/// What is read as a point in time prints as the same one.
pub fn point_in_time(data: &[u8]) {
    let Some(ms) = text(data).and_then(parse_rfc3339) else { return };
    let printed = print_rfc3339(ms);
    assert_eq!(parse_rfc3339(&printed), Some(ms));
    assert_eq!(printed.len(), 24, "{printed}");
}

/// `{"rule": …, "payload": …}`: a rule stays the same when it is written, reading never fails,
/// and what was refused somewhere inside is refused as a whole.
pub fn predicate(data: &[u8]) {
    let Some(json) = json(data) else { return };
    let rule = json.get("rule").unwrap_or(&Json::Null);
    let payload = json.get("payload").unwrap_or(&Json::Null);
    let predicate = Predicate::read(rule);
    let written = predicate.to_json();
    assert_eq!(Predicate::read(&written), predicate);
    assert_eq!(Predicate::parse(rule).is_ok(), Predicate::parse(&written).is_ok());
    let matched = predicate.matches(payload);
    let negated = match &predicate {
        Predicate::Any(rules) if rules.is_empty() => Some(!matched),
        Predicate::All(rules) if rules.is_empty() => Some(matched),
        Predicate::Malformed(_) => Some(!matched),
        _ => None,
    };
    assert_ne!(negated, Some(false), "an empty any, an empty all or a rule nobody can read");
    let (policy, warnings) = Policy::read(&json);
    assert!(policy.rules.len() + warnings.len() > 0 || json == Json::Object(Vec::new()));
    assert!(warnings.iter().all(|it| !it.contains('\n')), "{warnings:?}");
}

/// A file is written as it was read; an edit leaves all members and all other rows as they were,
/// and what it left in memory is what the file then says.
pub fn filter_document(data: &[u8]) {
    let Some(json) = json(data) else { return };
    let Some(mut document) = FilterDocument::read(&json) else {
        return assert!(!matches!(json, Json::Object(_)));
    };
    assert_eq!(document.to_json(), json);
    let names = |json: &Json| match json {
        Json::Object(members) => members.iter().map(|(name, _)| name.clone()).collect(),
        _ => Vec::new(),
    };
    let texts = |document: &FilterDocument| -> Vec<String> {
        document.rows(NOW).iter().map(|row| row.text.clone()).collect()
    };
    let agrees = |document: &FilterDocument| {
        let json = document.to_json();
        assert_eq!(FilterDocument::read(&json).as_ref(), Some(document));
        for name in names(&json) {
            assert!(!name.is_empty() || json.get("").is_some());
        }
    };
    let (before, rows) = (document.to_json(), texts(&document).len());
    let was_list = document.is_configured();
    let pattern = TopicPattern::parse("github:o/r").expect("a pattern");
    let wish = Wish {
        note: Some("n".to_owned()),
        muted: Some(vec![Muted::Myself]),
        exclude: Some(None),
        ..Wish::default()
    };
    document.subscribe(&pattern, &wish, Audience::Session, NOW);
    agrees(&document);
    let after = document.to_json();
    for name in names(&before).iter().filter(|name| *name != "repos") {
        assert!(after.get(name).is_some(), "{name} was lost");
        if !["enabled", "topics"].contains(&name.as_str()) {
            assert_eq!(after.get(name), before.get(name), "{name}");
        }
    }
    assert!(!was_list || texts(&document).len() - rows <= 2);
    assert!(document.note_delivery(&pattern, NOW + 1));
    agrees(&document);
    document.prune(NOW + 2);
    agrees(&document);
    for text in texts(&document) {
        assert!(document.unsubscribe(&text) > 0 || !texts(&document).contains(&text), "{text}");
        agrees(&document);
    }
    assert!(texts(&document).is_empty() && document.filter().rows.is_empty());
}

/// The first line is the kind, the rest the body: no payload of any kind produces a line that
/// reads as trusted, or more than one line, and nothing about it panics.
pub fn message(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let (kind, body) = text.split_once('\n').unwrap_or((text, ""));
    let body = json(body.as_bytes()).unwrap_or_else(|| {
        let member = |name: &str| (name.to_owned(), Json::text(body));
        Json::Object(vec![member("action"), member("ref"), member(body)])
    });
    let key = match body.at("repository.full_name") {
        Some(agent_box_event::Value::Text(key)) => EventKey::parse(key).ok(),
        _ => None,
    };
    let source = Source::parse("github").expect("a source");
    let topic = key.map(|key| Topic::new(source.clone(), key));
    let event = Event { topic: topic.as_ref(), kind, sender: Some(text), payload: &body };
    let mut frame = Frame::new(Fence::new(FENCE));
    frame.event(summary::github(&event, &source));
    frame.event(summary::generic(&event, &source));
    frame.trusted(text);
    let message = frame.render(usize::MAX);
    let lines = read_frame(&message, Fence::new(FENCE));
    assert_eq!(lines.len(), 4, "{message}");
    assert!(matches!(lines[0], FrameLine::Trusted(_)) && matches!(lines[3], FrameLine::Trusted(_)));
    for line in &lines[1..3] {
        let FrameLine::Event(line) = line else { panic!("{message}") };
        assert_eq!(line.matches('⟪').count(), line.matches('⟫').count(), "{line}");
        assert!(!line.chars().any(char::is_control), "{line}");
    }
    let delivery = DeliveryId::parse(kind).ok();
    for (name, value) in summary::github_meta(&event, &source, delivery.as_ref()) {
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase()), "{name}");
        assert!(value.chars().count() <= 200 && !value.chars().any(char::is_control), "{value}");
    }
    let me = Login::parse("box").expect("a login");
    let watches = FilterDocument::default();
    let _ = consider(watches.filter(), &event, Some(&me), None, &[], &[], NOW);
    for object in objects_of(&event) {
        assert_eq!(agent_box_event::Object::parse(&object.to_string()), Some(object));
    }
}
