//! What a body becomes, by scheme.

use serde_json::{Value, json};

use super::super::sources::tests::settings;
use super::*;
use crate::inbox::Format;

const NOW: u64 = 1_700_000_000_000;

fn opened(
    options: &Value,
    shown: &[(&str, &str)],
    body: impl Into<Vec<u8>>,
) -> Result<Envelope, Refusal> {
    let mut headers = HeaderMap::new();
    for (name, value) in shown {
        headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
    }
    open(&settings(options), &headers, body.into(), NOW)
}

#[track_caller]
fn delivery(options: &Value, shown: &[(&str, &str)], body: &Value) -> Incoming {
    match opened(options, shown, body.to_string()) {
        Ok(Envelope::Delivery(incoming)) => incoming,
        other => panic!("{other:?}"),
    }
}

/// Kind, key, sender and id.
fn told(incoming: &Incoming) -> (&str, Option<&str>, Option<&str>, &str) {
    let key = incoming.key.as_ref().map(EventKey::as_str);
    (&incoming.kind, key, incoming.sender.as_deref(), incoming.id.as_str())
}

#[test]
fn a_github_delivery() {
    let body = json!({
        "action": "opened", "repository": { "full_name": "o/r" }, "sender": { "login": "alice" }
    });
    let shown = [("x-github-event", "issues"), ("x-github-delivery", "72d3162e-cc78-11e3")];
    let it = delivery(&json!({ "scheme": "github" }), &shown, &body);
    assert_eq!(told(&it), ("issues", Some("o/r"), Some("alice"), "72d3162e-cc78-11e3"));
    assert_eq!((it.format, it.is_id_ours, it.received_ms), (Format::GitHub, false, NOW));
    assert_eq!(it.body, body.to_string().into_bytes(), "as it was signed");
    let expected: [u8; 32] = Sha256::digest(&it.body).into();
    assert_eq!(it.digest.0, expected);
}

#[test]
fn each_sender_is_read_where_it_says_things() {
    let check = |scheme: &str, shown: &[(&str, &str)], body: Value, expected| {
        let it = delivery(&json!({ "scheme": scheme }), shown, &body);
        assert_eq!(told(&it), expected, "{scheme}");
    };
    let gitea = json!({ "repository": { "full_name": "o/r" }, "sender": { "login": "a" } });
    let shown = [("x-gitea-event", "push"), ("x-gitea-delivery", "f6266f16")];
    check("gitea", &shown, gitea, ("push", Some("o/r"), Some("a"), "f6266f16"));
    let bitbucket = json!({ "repository": { "full_name": "w/r" }, "actor": { "nickname": "a" } });
    let shown = [("x-event-key", "repo:push"), ("x-request-uuid", "9e3")];
    check("bitbucket", &shown, bitbucket, ("repo:push", Some("w/r"), Some("a"), "9e3"));
    let linear = json!({ "type": "Issue", "organizationId": "o1", "webhookTimestamp": NOW });
    let shown = [("linear-delivery", "234d1a4e"), ("linear-event", "Issue")];
    check("linear", &shown, linear, ("Issue", Some("o1"), None, "234d1a4e"));
    let stripe = json!({
        "id": "evt_1", "type": "invoice.paid", "data": { "object": { "object": "invoice" } }
    });
    check("stripe", &[], stripe, ("invoice.paid", Some("invoice"), None, "evt_1"));
    let slack = json!({
        "type": "event_callback", "event_id": "Ev1",
        "event": { "type": "app_mention", "channel": "C1", "user": "U1" }
    });
    check("slack", &[], slack, ("app_mention", Some("C1"), Some("U1"), "Ev1"));
    let shown = [("webhook-id", "msg_1")];
    let standard = json!({ "type": "user.created" });
    check("standard-webhooks", &shown, standard, ("user.created", None, None, "msg_1"));
    let shown = [
        ("x-shopify-topic", "orders/create"),
        ("x-shopify-webhook-id", "w1"),
        ("x-shopify-shop-domain", "a.myshopify.com"),
    ];
    let expected = ("orders/create", Some("a.myshopify.com"), None, "w1");
    check("shopify", &shown, json!({ "id": 1 }), expected);
    let shown = [("x-gitlab-event", "Push Hook"), ("idempotency-key", "i1")];
    let gitlab = json!({ "user_username": "a", "project": { "path_with_namespace": "g/p" } });
    check("gitlab-token", &shown, gitlab, ("Push Hook", Some("g/p"), Some("a"), "i1"));
    let shown = [("x-webhook-delivery", "d1")];
    check("hex", &shown, json!({ "event": "built" }), ("built", None, None, "d1"));
    check("base64", &shown, json!({ "type": 7 }), ("7", None, None, "d1"));
}

#[test]
fn what_is_not_usable_is_absent() {
    let options = json!({ "keyPath": "k", "senderPath": "s" });
    let longest = "x".repeat(200);
    for (key, expected) in [
        (json!("o/r"), Some("o/r")),
        (json!(7), Some("7")),
        (json!(longest), Some(longest.as_str())),
        (json!(format!("{longest}x")), None),
        (json!("a b"), None),
        (json!("a\nb"), None),
        (json!("ü"), None),
        (json!(["o/r"]), None),
        (json!({ "a": 1 }), None),
        (json!(null), None),
        (json!(""), None),
    ] {
        let it = delivery(&options, &[], &json!({ "k": key, "s": key }));
        assert_eq!(it.key.as_ref().map(EventKey::as_str), expected, "{key}");
    }
    let it = delivery(&json!({}), &[("x-webhook-delivery", "with blank")], &json!({}));
    assert!(it.is_id_ours);
}

#[test]
fn without_an_id_a_repeated_attempt_has_the_same_one_and_the_same_news_later_has_not() {
    let of = |body: &str, now_ms| match open(
        &settings(&json!({})),
        &HeaderMap::new(),
        body.into(),
        now_ms,
    ) {
        Ok(Envelope::Delivery(it)) => it,
        other => panic!("{other:?}"),
    };
    let one = of(r#"{"n":1}"#, 600_000);
    assert!(one.is_id_ours && one.id.as_str().starts_with("sha256:"));
    assert_eq!(of(r#"{"n":1}"#, 1_199_999).id, one.id);
    assert_ne!(of(r#"{"n":1}"#, 1_200_000).id, one.id);
    assert_ne!(of(r#"{"n":2}"#, 600_000).id, one.id);
}

#[test]
fn slack_gets_its_challenge_back_and_nobody_else() {
    let body = json!({ "type": "url_verification", "challenge": "3eZbrw1a" }).to_string();
    match opened(&json!({ "scheme": "slack" }), &[], body.clone()) {
        Ok(Envelope::Challenge(text)) => assert_eq!(text, "3eZbrw1a"),
        other => panic!("{other:?}"),
    }
    let other = opened(&json!({ "scheme": "hex" }), &[], body);
    assert!(matches!(other, Ok(Envelope::Delivery(_))));
}

#[test]
fn the_time_that_linear_signs_is_checked() {
    for (time, is_taken) in [
        (json!(NOW), true),
        (json!(NOW - 300_000), true),
        (json!(NOW - 300_001), false),
        (json!(NOW + 300_001), false),
        (json!("1700000000000"), false),
        (json!(null), false),
    ] {
        let body = json!({ "webhookTimestamp": time }).to_string();
        let opened = opened(&json!({ "scheme": "linear" }), &[], body);
        assert_eq!(opened.is_ok(), is_taken, "{time}");
    }
}

#[test]
fn what_is_no_json_is_refused_and_forms_are_told_why() {
    for body in ["", "{", "NaN", "{\"a\":\"\\ud800\"}", "\u{feff}{}", "{} {}"] {
        let refused = opened(&json!({}), &[], body).unwrap_err();
        assert_eq!(refused, Refusal::NotJson { is_form: false }, "{body:?}");
    }
    let shown = [("content-type", "application/x-www-form-urlencoded")];
    let refused = opened(&json!({}), &shown, "payload=%7B%7D").unwrap_err();
    assert_eq!(refused, Refusal::NotJson { is_form: true });
}
