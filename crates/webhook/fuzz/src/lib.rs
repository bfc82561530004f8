//! What must hold for any body: the streaming look at it finds and refuses exactly what a parsed
//! tree does, and a key is short, visible and in one piece.

#[path = "../../src/json.rs"]
#[expect(dead_code, reason = "the receiver needs more of it")]
mod json;
#[path = "../../src/ingress/probe.rs"]
mod probe;

use agent_box_event::{EventKey, Json, Payload, Source, Topic, TopicPattern, derive_text};
use json::Parsed;

const PATHS: &[&str] =
    &["type", "repository.full_name", "repository", "sender.login", "a", "a.b", "a.b.c", "", "c.a"];

/// A body's key and other fields.
pub fn body(data: &[u8]) {
    let tree = serde_json::from_slice(data).map(Parsed);
    let found = probe::probe(data, PATHS);
    let (tree, found) = match (tree, found) {
        (Ok(tree), Ok(found)) => (tree, found),
        (Err(_), Err(_)) => return,
        (tree, found) => panic!("{tree:?} but {found:?}"),
    };
    for (path, found) in PATHS.iter().zip(&found) {
        assert_eq!(found.as_ref().map(Json::value), tree.at(path), "{path}");
    }
    let Some(text) = derive_text(tree.at("repository.full_name")) else { return };
    let Ok(key) = EventKey::parse(&text) else { return };
    assert!(key.as_str().len() <= 200 && key.as_str().bytes().all(|it| it.is_ascii_graphic()));
    let topic = Topic::new(Source::parse("github").expect("a source"), key);
    assert_eq!(Topic::parse(&topic.to_string()).as_ref(), Ok(&topic));
    if let Ok(pattern) = TopicPattern::exactly(&topic) {
        assert!(pattern.matches(&topic));
    }
}
