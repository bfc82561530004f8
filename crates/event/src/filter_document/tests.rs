//! What is read is written back, and edits change what they mean to change.

use proptest::prelude::*;

use super::*;
use crate::{Number, Object, Test};

const T: u64 = 1_796_124_677_500;
const T_TEXT: &str = "2026-12-01T11:31:17.500Z";

fn object(members: Vec<(&str, Json)>) -> Json {
    Json::Object(members.into_iter().map(|(name, it)| (name.to_owned(), it)).collect())
}

fn number(value: f64) -> Json {
    Json::Number(Number::float(value).unwrap())
}

fn list(items: &[Json]) -> Json {
    Json::List(items.to_vec())
}

fn rule() -> Json {
    object(vec![("path", Json::text("action")), ("in", list(&[Json::text("opened")]))])
}

fn pattern(text: &str) -> TopicPattern {
    TopicPattern::parse(text).unwrap()
}

fn document(rows: &[Json]) -> FilterDocument {
    FilterDocument::read(&object(vec![("topics", list(rows))])).unwrap()
}

fn rows_of(document: &FilterDocument) -> Json {
    document.to_json().get("topics").unwrap().clone()
}

/// Every shape that a row may have, odd ones included.
fn odd_file() -> Json {
    let full = object(vec![
        ("topic", Json::text("GitHub:O/R")),
        ("ours", object(vec![("deep", Json::Null)])),
        ("note", Json::text("why")),
        ("ttlHours", number(0.5)),
        ("renewOnEvent", Json::Bool(true)),
        ("ignoreSenders", list(&[Json::text("@self"), Json::text("joe")])),
        ("when", rule()),
        ("drop", rule()),
        ("subscribedAt", Json::text("2026-12-01T11:31:17.5+00:00")),
        ("lastActivityAt", Json::text("yesterday")),
    ]);
    object(vec![
        ("//", Json::text("a comment")),
        ("enabled", Json::Bool(true)),
        ("ttlHours", number(2.0)),
        (
            "topics",
            list(&[
                Json::text("o/other"),
                Json::text("github:*"),
                full,
                number(7.0),
                object(vec![("note", Json::text("lost its topic"))]),
                Json::Null,
            ]),
        ),
        ("later", list(&[Json::Bool(false)])),
    ])
}

#[test]
fn every_member_of_a_row_is_read() {
    let document = FilterDocument::read(&odd_file()).unwrap();
    let filter = document.filter();
    assert_eq!((filter.enabled, filter.ttl_ms), (true, Some(7_200_000)));
    let rule = Some(Predicate::read(&rule()));
    let expected = Subscription {
        pattern: pattern("GitHub:O/R"),
        note: Some("why".to_owned()),
        ttl_ms: Some(1_800_000),
        renew_on_event: true,
        muted: vec![Muted::Myself, Muted::Sender("joe".to_owned())],
        include: rule.clone(),
        exclude: rule,
        objects: Vec::new(),
        takes_noise: false,
        subscribed_ms: Some(T),
        last_activity_ms: None,
    };
    assert_eq!(filter.rows.len(), 2);
    assert_eq!(filter.rows[0].pattern, pattern("github:o/other"));
    assert_eq!(filter.rows[1], expected);
    assert_eq!(document.to_json(), odd_file());
}

#[test]
fn a_row_about_some_objects_is_never_taken_for_one_about_everything() {
    let read = |objects: Json| {
        document(&[object(vec![("topic", Json::text("o/r")), ("objects", objects)])])
    };
    let texts = |texts: &[&str]| list(&texts.iter().map(|it| Json::text(*it)).collect::<Vec<_>>());
    let mut some = read(texts(&["pr:7", "branch:o/r@main", "nonsense"]));
    let objects = vec![Object::PullRequest(7), Object::Branch("o/r@main".to_owned())];
    assert_eq!(some.filter().rows[0].objects, objects);
    assert_eq!(some.rows(T)[0].problems, ["`objects` holds what is no object"]);
    assert_eq!(read(texts(&[])).filter().rows[0].objects, []);
    for bad in [texts(&["nonsense"]), Json::text("pr:7")] {
        assert_eq!(read(bad).filter().rows, [], "it matches nothing");
    }
    some.subscribe(&pattern("o/r"), &Wish::default(), Audience::Session, T);
    assert_eq!(some.filter().rows[0].objects, [], "whoever asks for the topic gets all of it");
    assert!(!some.to_json().to_string().contains("objects"));
}

#[test]
fn the_newer_name_of_a_rule_wins() {
    let old = object(vec![("path", Json::text("old")), ("in", list(&[]))]);
    let check = |members: Vec<(&str, Json)>, expected: Option<&Json>| {
        let mut row = vec![("topic", Json::text("o/r"))];
        row.extend(members);
        let mut document = document(&[object(row)]);
        let read = document.filter().rows[0].include.clone();
        assert_eq!(read, expected.map(Predicate::read));
        let wish = Wish { include: Some(None), ..Wish::default() };
        document.subscribe(&pattern("o/r"), &wish, Audience::Session, T);
        assert_eq!(document.filter().rows[0].include, None, "no other name speaks up");
    };
    check(vec![("when", old.clone()), ("include", rule())], Some(&rule()));
    check(vec![("include", rule()), ("when", old.clone())], Some(&rule()));
    check(vec![("include", Json::Null), ("when", old.clone())], Some(&old));
    check(vec![("include", Json::Null), ("when", Json::Null)], None);
}

#[test]
fn rows_are_listed_with_what_is_wrong_with_them() {
    let document = FilterDocument::read(&odd_file()).unwrap();
    let rows = document.rows(T + 1);
    let texts: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
    let lost = r#"{"note":"lost its topic"}"#;
    assert_eq!(texts, ["o/other", "github:*", "GitHub:O/R", "7", lost, "null"]);
    let reasons: Vec<&str> = rows.iter().filter_map(|row| row.subscription.err()).collect();
    assert!(reasons[0].contains("would match everything"), "{reasons:?}");
    assert_eq!(reasons[1], "it is neither a topic nor an object");
    assert_eq!(reasons[2], "it has no `topic`");
    assert_eq!(rows[2].problems, ["`lastActivityAt` is no point in time and is ignored"]);
    assert_eq!(rows[2].expiry, Expiry::In(1_799_999));
    assert_eq!(rows[0].expiry, Expiry::Undated);
    let json = rows[2].to_json();
    assert_eq!(json.get("expiresIn"), Some(&Json::text("1h")));
    assert_eq!(json.get("subscribed"), Some(&Json::text(T_TEXT)));
    assert_eq!(json.get("include"), Some(&rule()));
    assert_eq!(json.get("ttlHours"), Some(&number(0.5)));
    let dead = rows[1].to_json();
    assert_eq!(dead.get("invalid"), Some(&Json::Bool(true)));
    assert!(dead.get("reason").is_some());
    for (expiry, expected) in [
        (Expiry::In(0), "0h"),
        (Expiry::In(1), "1h"),
        (Expiry::In(3_600_000), "1h"),
        (Expiry::In(3_600_001), "2h"),
        (Expiry::In(47 * 3_600_000), "47h"),
        (Expiry::In(47 * 3_600_000 + 1), "2d"),
        (Expiry::In(72 * 3_600_000), "3d"),
        (Expiry::Expired, "expired"),
    ] {
        assert_eq!(expiry.to_string(), expected);
    }
}

#[test]
fn unreadable_rules_are_said_with_their_effect() {
    let broken = Json::text("broken");
    let mut row = vec![("topic", Json::text("o/r")), ("include", broken.clone())];
    row.extend([("exclude", broken.clone()), ("ttlHours", number(-1.0))]);
    row.extend([("renewOnEvent", broken.clone()), ("ignoreSenders", broken), ("note", rule())]);
    let document = document(&[object(row)]);
    let problems = document.rows(T)[0].problems.join("\n");
    for part in [
        "`include` cannot be read, so nothing is wanted: the rule is no rule",
        "`exclude` cannot be read, so nothing is excluded",
        "`ttlHours` is no number of hours",
        "`renewOnEvent` is neither",
        "`ignoreSenders` is no list of logins",
        "`note` is no text",
    ] {
        assert!(problems.contains(part), "{part}: {problems}");
    }
    assert_eq!(document.filter().rows[0].ttl_ms, None);
}

#[test]
fn nothing_but_true_or_silence_switches_a_filter_on() {
    let enabled = |value: Json| {
        let document =
            FilterDocument::read(&object(vec![("enabled", value), ("topics", list(&[]))]));
        let document = document.unwrap();
        (document.filter().enabled, document.problems().len())
    };
    assert_eq!(enabled(Json::Bool(true)), (true, 0));
    assert_eq!(enabled(Json::Bool(false)), (false, 0));
    for odd in [Json::Null, Json::text("true"), number(1.0), list(&[])] {
        assert_eq!(enabled(odd), (false, 1));
    }
}

#[test]
fn a_file_without_a_list_is_unconfigured_until_somebody_subscribes() {
    for json in [Json::Null, Json::text("x"), list(&[]), number(1.0)] {
        assert_eq!(FilterDocument::read(&json), None);
    }
    let mut bare = FilterDocument::read(&object(vec![("x", Json::Null)])).unwrap();
    assert!(!bare.is_configured());
    assert_eq!(bare.problems(), ["there is no list `topics`, so nothing is subscribed"]);
    bare.subscribe(&pattern("o/r"), &Wish::default(), Audience::Session, T);
    assert!(bare.is_configured() && bare.problems().is_empty());
    let row =
        object(vec![("topic", Json::text("github:o/r")), ("subscribedAt", Json::text(T_TEXT))]);
    assert_eq!(bare.to_json(), object(vec![("x", Json::Null), ("topics", list(&[row]))]));
    let mut rubbish = FilterDocument::read(&object(vec![("topics", number(3.0))])).unwrap();
    rubbish.subscribe(&pattern("o/r"), &Wish::default(), Audience::Session, T);
    assert_eq!(rubbish.rows(T)[0].text, "3", "kept, and seen");
}

#[test]
fn old_lists_of_repositories_count_and_become_topics_when_they_change() {
    let repos = list(&[Json::text("o/r"), Json::text("o/*"), Json::text("no")]);
    let json = object(vec![("repos", repos), ("x", Json::Null)]);
    let mut old = FilterDocument::read(&json).unwrap();
    assert_eq!(old.to_json(), json);
    assert_eq!(old.filter().rows.len(), 2);
    assert_eq!(old.unsubscribe("github:O/R"), 1);
    let rows = list(&[Json::text("github:o/*"), Json::text("no")]);
    assert_eq!(old.to_json(), object(vec![("topics", rows), ("x", Json::Null)]));
    let both = object(vec![("repos", list(&[Json::text("o/r")])), ("topics", list(&[]))]);
    let both = FilterDocument::read(&both).unwrap();
    assert!(both.filter().rows.is_empty(), "topics count alone");
}

#[test]
fn renewing_changes_what_was_asked_and_nothing_else() {
    let mut document = FilterDocument::read(&odd_file()).unwrap();
    let wish = Wish { note: Some(String::new()), ..Wish::default() };
    let outcome = document.subscribe(&pattern("github:o/r"), &wish, Audience::Session, T + 9);
    assert_eq!(outcome, Subscribed::Renewed);
    let Json::Object(mut expected) = odd_file() else { panic!() };
    let Json::List(rows) = &mut expected[3].1 else { panic!() };
    let Json::Object(row) = &mut rows[2] else { panic!() };
    row.retain(|(name, _)| name != "note");
    let at = row.iter_mut().find(|it| it.0 == "subscribedAt").unwrap();
    at.1 = Json::text("2026-12-01T11:31:17.509Z");
    assert_eq!(document.to_json(), Json::Object(expected));
}

#[test]
fn a_new_rule_takes_the_place_of_the_older_name() {
    let mut document = FilterDocument::read(&odd_file()).unwrap();
    let new = Predicate::Leaf("a".to_owned(), Test::In(vec![Json::Null]));
    let wish = Wish { include: Some(Some(new.clone())), exclude: Some(None), ..Wish::default() };
    document.subscribe(&pattern("o/r"), &wish, Audience::Session, T);
    let Json::List(rows) = rows_of(&document) else { panic!() };
    let Json::Object(row) = &rows[2] else { panic!() };
    let names: Vec<&str> = row.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(names[5..8], ["ignoreSenders", "include", "subscribedAt"]);
    assert_eq!(rows[2].get("include"), Some(&new.to_json()));
    assert_eq!(rows[2].get("drop"), None);
    assert_eq!(rows[2].get("takesNoise"), Some(&Json::Bool(true)), "no exclude asks for noise");
}

#[test]
fn noise_is_asked_for_once_and_stays() {
    let empty = object(vec![("topic", Json::text("o/r")), ("exclude", object(vec![]))]);
    let mut document = document(std::slice::from_ref(&empty));
    let row = |document: &FilterDocument| document.filter().rows[0].clone();
    assert!(row(&document).takes_noise && row(&document).exclude.is_none());
    assert!(!row(&document).is_declarative());
    assert!(document.note_delivery(&pattern("o/r"), T));
    assert!(row(&document).takes_noise);
    assert_eq!(rows_of(&document).clone(), {
        let Json::Object(mut members) = empty else { panic!() };
        members.push(("lastActivityAt".to_owned(), Json::text(T_TEXT)));
        list(&[Json::Object(members)])
    });
    let rule = Predicate::read(&rule());
    let wish = Wish { exclude: Some(Some(rule.clone())), ..Wish::default() };
    document.subscribe(&pattern("o/r"), &wish, Audience::Session, T);
    assert!(row(&document).takes_noise, "not lost with the rule that said it");
    assert_eq!(row(&document).exclude, Some(rule));
    let mut standing = FilterDocument::default();
    let wish = Wish { exclude: Some(None), ..Wish::default() };
    standing.subscribe(&pattern("o/r"), &wish, Audience::Standing, T);
    assert!(!standing.filter().rows[0].takes_noise, "watches have no noise layer");
}

#[test]
fn subscribing_makes_rows_that_last_as_long_as_their_kind_does() {
    let mut document = FilterDocument::default();
    document.set_enabled(false);
    assert!(!document.filter().enabled);
    for (audience, ttl_ms, expected) in [
        (Audience::Session, None, None),
        (Audience::Standing, None, Some(0)),
        (Audience::Standing, Some(5), Some(5)),
        (Audience::Session, Some(0), Some(0)),
    ] {
        let mut document = document.clone();
        let wish = Wish { ttl_ms, ..Wish::default() };
        let outcome = document.subscribe(&pattern("o/r"), &wish, audience, T);
        assert_eq!(outcome, Subscribed::New);
        assert!(document.filter().enabled, "subscribing switches it on");
        assert_eq!(document.filter().rows[0].ttl_ms, expected);
        let keep = document.subscribe(&pattern("O/R"), &Wish::default(), audience, T + 1);
        assert_eq!(keep, Subscribed::Renewed);
        assert_eq!(document.filter().rows[0].ttl_ms, expected, "renewing keeps it");
    }
    let wish = Wish { note: Some("a\nb".repeat(200)), ..Wish::default() };
    document.subscribe(&pattern("o/r"), &wish, Audience::Session, T);
    let note = document.filter().rows[0].note.clone().unwrap();
    assert!(note.starts_with("a⏎b") && note.chars().count() == FilterDocument::MAX_NOTE);
}

#[test]
fn rows_are_removed_by_pattern_or_by_their_text() {
    let mut document = FilterDocument::read(&odd_file()).unwrap();
    for (text, expected) in [
        ("github:o/nobody", 0),
        ("GITHUB:O/OTHER", 1),
        ("github:*", 1),
        ("7", 1),
        (r#"{"note":"lost its topic"}"#, 1),
        ("null", 1),
        ("o/r", 1),
        ("o/r", 0),
    ] {
        assert_eq!(document.unsubscribe(text), expected, "{text}");
    }
    assert_eq!(rows_of(&document), list(&[]));
}

#[test]
fn pruning_takes_what_is_over_and_leaves_the_dead() {
    let mut document = FilterDocument::read(&odd_file()).unwrap();
    assert!(document.prune(T + 1_800_000).is_empty());
    assert_eq!(document.to_json(), odd_file());
    let expired = document.prune(T + 1_800_001);
    assert_eq!(expired.iter().map(|it| it.pattern.to_string()).collect::<Vec<_>>(), ["GitHub:O/R"]);
    assert_eq!(document.rows(T).len(), 5);
    assert_eq!(document.filter().rows.len(), 1);
    assert!(!document.note_delivery(&pattern("o/r"), T), "it is gone");
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<f64>().prop_filter_map("finite", Number::float).prop_map(Json::Number),
        Just(Json::text("github:o/r")),
        Just(Json::text("O/r")),
        Just(Json::text("github:*")),
        Just(Json::text("2026-12-01T11:31:17Z")),
        "\\PC{0,6}".prop_map(Json::Text),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let name = prop::sample::select(vec![
            "topics",
            "repos",
            "enabled",
            "ttlHours",
            "topic",
            "note",
            "include",
            "when",
            "exclude",
            "drop",
            "ignoreSenders",
            "renewOnEvent",
            "takesNoise",
            "subscribedAt",
            "lastActivityAt",
            "path",
            "in",
            "x",
        ]);
        let members = prop::collection::vec((name.prop_map(str::to_owned), inner.clone()), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(Json::List),
            members.prop_map(Json::Object)
        ]
    })
}

fn any_file() -> impl Strategy<Value = Json> {
    let list = prop::collection::vec(any_json(), 0..5).prop_map(Json::List);
    let name = prop_oneof![4 => Just("topics"), 1 => Just("repos")];
    (any_json(), name, list).prop_map(|(json, name, list)| match json {
        Json::Object(mut members) => {
            members.push((name.to_owned(), list));
            Json::Object(members)
        }
        other => Json::Object(vec![("x".to_owned(), other), (name.to_owned(), list)]),
    })
}

fn any_wish() -> impl Strategy<Value = Wish> {
    let rule =
        || prop::option::of(prop::option::of(any_json().prop_map(|it| Predicate::read(&it))));
    let muted = prop::option::of(prop::collection::vec("[@a-z]{0,5}", 0..3));
    let (note, ttl, renew) = (any::<Option<String>>(), any::<Option<u64>>(), any::<Option<bool>>());
    (note, ttl, renew, muted, rule(), rule()).prop_map(
        |(note, ttl_ms, renew, muted, include, exclude)| Wish {
            note,
            ttl_ms,
            renew_on_event: renew,
            muted: muted.map(|it| it.iter().map(|it| Muted::parse(it)).collect()),
            include,
            exclude,
        },
    )
}

proptest! {
    #[test]
    fn whatever_is_read_is_written_back(json in any_json(), file in any_file()) {
        for json in [json, file] {
            if let Some(document) = FilterDocument::read(&json) {
                prop_assert_eq!(document.to_json(), json);
            }
        }
    }

    #[test]
    fn what_an_edit_left_in_memory_is_what_the_file_says(
        file in any_file(),
        wish in any_wish(),
        text in prop::sample::select(vec!["github:o/r", "o/r", "github:*", "o/new"]),
        standing in any::<bool>(),
        now in 0..2 * T,
    ) {
        let audience = if standing { Audience::Standing } else { Audience::Session };
        let mut document = FilterDocument::read(&file).unwrap();
        let agrees = |document: &FilterDocument| {
            prop_assert_eq!(&FilterDocument::read(&document.to_json()).unwrap(), document);
            Ok(())
        };
        if let Ok(pattern) = TopicPattern::parse(text) {
            document.subscribe(&pattern, &wish, audience, now);
            agrees(&document)?;
            prop_assert!(document.filter().enabled);
            prop_assert!(document.note_delivery(&pattern, now));
            agrees(&document)?;
        }
        let rows = document.rows(now).len();
        let expired = document.prune(now).len();
        agrees(&document)?;
        let removed = document.unsubscribe(text);
        agrees(&document)?;
        prop_assert_eq!(document.rows(now).len(), rows - expired - removed);
        document.set_enabled(false);
        agrees(&document)?;
    }
}
