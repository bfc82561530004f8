//! Signatures of real senders, and what is off by one.
//!
//! Vectors marked "documentation" are printed in the sender's own documentation. The others were
//! made here and accepted by the sender's own library: @octokit/webhooks-methods 6.0.0,
//! stripe 23.1.0, @slack/bolt 5.1.0, standardwebhooks 1.1.1, svix 1.99.1, @linear/sdk 98.0.0,
//! @shopify/shopify-api 13.1.0.

use serde_json::{Value, json};

use super::super::sources::tests::settings;
use super::*;

/// What re-writing JSON would break: an accent, escapes, `1.0`, and the line end at its end.
const BODY: &str = "{\"text\":\"tête-à-tête \\u00e9\\u2028 1.0\",\"n\":1.0}\r\n";
/// When the vectors with a time were signed, in milliseconds.
const THEN: u64 = 1_700_000_000_000;

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
    }
    headers
}

fn verify(
    settings: &SourceSettings,
    shown: &[(&str, &str)],
    body: &[u8],
    now_ms: u64,
) -> Result<(), Unproven> {
    let mut proof = Proof::begin(settings, &headers(shown), now_ms)?;
    for piece in body.chunks(7) {
        proof.update(piece);
    }
    proof.end()
}

/// The vector is accepted; one bit of body, signature or secret more or less, and it is not.
#[track_caller]
fn accepts(options: &Value, shown: &[(&str, &str)], body: &str, now_ms: u64) {
    let it = settings(options);
    assert_eq!(it.problems, [""; 0]);
    assert_eq!(verify(&it, shown, body.as_bytes(), now_ms), Ok(()));
    for bit in 0..8 {
        let mut other = body.as_bytes().to_vec();
        let middle = other.len() / 2;
        other[middle] ^= 1 << bit;
        assert_eq!(verify(&it, shown, &other, now_ms), Err(Unproven::Wrong));
    }
    let longer = format!("{body}\n");
    assert_eq!(verify(&it, shown, longer.as_bytes(), now_ms), Err(Unproven::Wrong));
    assert_eq!(verify(&it, &shown[..0], body.as_bytes(), now_ms), Err(Unproven::Absent));
    // Every header is part of the proof, and only once.
    for index in 0..shown.len() {
        let mut fewer = shown.to_vec();
        fewer.remove(index);
        assert_eq!(verify(&it, &fewer, body.as_bytes(), now_ms), Err(Unproven::Absent));
        let mut twice = shown.to_vec();
        twice.push(shown[index]);
        assert_eq!(verify(&it, &twice, body.as_bytes(), now_ms), Err(Unproven::Malformed));
    }
    let mut other = options.clone();
    other["secret"] = json!("whsec_b3RoZXItb3RoZXItb3RoZXItb3RoZXI=");
    assert_eq!(verify(&settings(&other), shown, body.as_bytes(), now_ms), Err(Unproven::Wrong));
    // With the right one among several, wherever it stands.
    other["secrets"] = json!(["whsec_dGhpcmQtdGhpcmQtdGhpcmQ=", options["secret"]]);
    assert_eq!(verify(&settings(&other), shown, body.as_bytes(), now_ms), Ok(()));
}

#[test]
fn github_signatures() {
    // Documentation: "Validating webhook deliveries".
    let options = json!({ "scheme": "github", "secret": "It's a Secret to Everybody" });
    let digest = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let header = "x-hub-signature-256";
    accepts(&options, &[(header, &format!("sha256={digest}"))], "Hello, World!", 0);
    // As lenient as the reference: prefix, case, blanks.
    for lenient in [
        digest.to_owned(),
        digest.to_uppercase(),
        format!("SHA256={}", digest.to_uppercase()),
        format!("  sha256={digest} "),
    ] {
        accepts(&options, &[(header, &lenient)], "Hello, World!", 0);
    }
    let it = settings(&options);
    for malformed in [
        &digest[1..],
        &format!("{digest}0"),
        &format!("sha1={digest}"),
        &format!("sha256=sha256={digest}"),
        &format!("g{}", &digest[1..]),
        &format!("ü{}", &digest[2..]),
        "sha256=",
        "none",
    ] {
        let shown = [(header, malformed)];
        assert_eq!(verify(&it, &shown, b"Hello, World!", 0), Err(Unproven::Malformed));
    }
    let options = json!({ "scheme": "github", "secret": "agent-box test secret 1" });
    let digest = "sha256=f203dbb5b07c40f85c8fb40f976be99ead80b5c877f3a59af1043bf609f7a66c";
    accepts(&options, &[(header, digest)], BODY, 0);
}

#[test]
fn bitbucket_signatures() {
    // Documentation: "Manage webhooks", section on secrets.
    let options = json!({ "scheme": "bitbucket", "secret": "It's a Secret to Everybody" });
    let digest = "sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9";
    accepts(&options, &[("x-hub-signature", digest)], "Hello World!", 0);
}

#[test]
fn gitea_signatures() {
    // Documentation: hexadecimal without a prefix, of the body as it was sent.
    let options = json!({ "scheme": "gitea", "secret": "agent-box test secret 1" });
    let digest = "f203dbb5b07c40f85c8fb40f976be99ead80b5c877f3a59af1043bf609f7a66c";
    accepts(&options, &[("x-gitea-signature", digest)], BODY, 0);
}

#[test]
fn linear_signatures() {
    let options = json!({ "scheme": "linear", "secret": "lin_wh_agentboxtestlinear" });
    let body = "{\"action\":\"create\",\"type\":\"Issue\",\"organizationId\":\"org-1\",\
                \"webhookTimestamp\":1700000000000}";
    let digest = "625c412a3f3528b0c46c32f6821604e74be7ab15639d9952ac32fc5f0bf9e593";
    accepts(&options, &[("linear-signature", digest)], body, THEN);
}

#[test]
fn shopify_signatures() {
    let options = json!({ "scheme": "shopify", "secret": "shpss_agentboxtestshopify" });
    let digest = "xoTe7OqP80BprX6q2ou4qSHDT+DH49BYos56FhwWtEs=";
    accepts(&options, &[("x-shopify-hmac-sha256", digest)], BODY, 0);
}

#[test]
fn stripe_signatures() {
    let options = json!({ "scheme": "stripe", "secret": "whsec_agentboxteststripe" });
    let digest = "f9986e19013137c4552aea6c2094f1eb50d5afe5644ce14f74daf34b84773325";
    let (one, zero) = ("1".repeat(64), "0".repeat(64));
    let single = format!("t=1700000000,v1={digest}");
    let several = format!("t=1700000000,v1={zero},v1={digest},v0={one}");
    for shown in [&single, &several] {
        accepts(&options, &[("stripe-signature", shown)], BODY, THEN);
    }
    let it = settings(&options);
    let check = |shown: &str, now_ms, expected| {
        let shown = [("stripe-signature", shown)];
        assert_eq!(verify(&it, &shown, BODY.as_bytes(), now_ms), expected);
    };
    check(&single, THEN + 300_000, Ok(()));
    check(&single, THEN - 300_000, Ok(()));
    check(&single, THEN + 300_001, Err(Unproven::Stale));
    check(&single, THEN - 300_001, Err(Unproven::Stale));
    check(&single.replace("1700000000", "1700000001"), THEN, Err(Unproven::Wrong));
    let malformed = Err(Unproven::Malformed);
    check(&format!("v1={digest}"), THEN, malformed);
    check("t=1700000000", THEN, malformed);
    check(&format!("t=1700000000,v0={digest}"), THEN, malformed);
    check(&format!("t=-1700000000,v1={digest}"), THEN, malformed);
    check(&format!("t=+1700000000,v1={digest}"), THEN, malformed);
    check(&format!("t=1700000000,t=1700000000,v1={digest}"), THEN, malformed);
    check(&format!("t=99999999999999999999,v1={digest}"), THEN, malformed);
    let many = format!("t=1700000000{}", format!(",v1={digest}").repeat(17));
    check(&many, THEN, malformed);
    let narrow = json!({
        "scheme": "stripe", "secret": "whsec_agentboxteststripe", "toleranceSeconds": 1
    });
    let shown = [("stripe-signature", single.as_str())];
    let late = verify(&settings(&narrow), &shown, BODY.as_bytes(), THEN + 1001);
    assert_eq!(late, Err(Unproven::Stale));
}

#[test]
fn slack_signatures() {
    // Documentation: "Verifying requests from Slack".
    let options = json!({ "scheme": "slack", "secret": "8f742231b10e8888abcd99yyyzzz85a5" });
    let body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow\
        &channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner\
        &command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands\
        %2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN\
        &trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    let shown = [
        ("x-slack-request-timestamp", "1531420618"),
        (
            "x-slack-signature",
            "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
        ),
    ];
    accepts(&options, &shown, body, 1_531_420_618_000);
    let it = settings(&options);
    let late = verify(&it, &shown, body.as_bytes(), 1_531_420_618_000 + 300_001);
    assert_eq!(late, Err(Unproven::Stale));
    let unversioned = [shown[0], ("x-slack-signature", &shown[1].1[3..])];
    let refused = verify(&it, &unversioned, body.as_bytes(), 1_531_420_618_000);
    assert_eq!(refused, Err(Unproven::Malformed));
    let options = json!({ "scheme": "slack", "secret": "agentboxtestslacksigning0000000" });
    let shown = [
        ("x-slack-request-timestamp", "1700000000"),
        (
            "x-slack-signature",
            "v0=4bae2eb681b0c266de9c6d6b8cb527501d68fe4853b94297b79fdf3cf1abc9a7",
        ),
    ];
    accepts(&options, &shown, BODY, THEN);
}

#[test]
fn standard_webhooks_signatures() {
    // Documentation: the specification of Standard Webhooks, and Svix on verifying by hand.
    let options = json!({
        "scheme": "standard-webhooks", "secret": "whsec_plJ3nmyCDGBKInavdOK15jsl"
    });
    let shown = [
        ("webhook-id", "msg_loFOjxBNrRLzqYUf"),
        ("webhook-timestamp", "1731705121"),
        ("webhook-signature", "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0="),
    ];
    let body = "{\"event_type\":\"ping\",\"data\":{\"success\":true}}";
    accepts(&options, &shown, body, 1_731_705_121_000);
    let options = json!({
        "scheme": "standard-webhooks", "signatureHeader": "svix-signature",
        "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    });
    let shown = [
        ("svix-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
        ("svix-timestamp", "1614265330"),
        ("svix-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
    ];
    accepts(&options, &shown, "{\"test\": 2432232314}", 1_614_265_330_000);
    let options = json!({
        "scheme": "standard-webhooks", "secret": "whsec_YWdlbnQtYm94IHN0YW5kYXJkIGtleSAx"
    });
    let right = "v1,gYIMrJPi+aZQbNqmN8oW22LTDUWjGWGoz4AMOxWopH0=";
    let several = format!("v1a,bm90IGE= v1,{}= {right} v2,xyz", "A".repeat(43));
    for signature in [right, &several] {
        let shown = [
            ("webhook-id", "msg_agentbox_1"),
            ("webhook-timestamp", "1700000000"),
            ("webhook-signature", signature),
        ];
        accepts(&options, &shown, BODY, THEN);
    }
    let it = settings(&options);
    let check = |id, time, signature, now_ms, expected| {
        let shown =
            [("webhook-id", id), ("webhook-timestamp", time), ("webhook-signature", signature)];
        assert_eq!(verify(&it, &shown, BODY.as_bytes(), now_ms), expected);
    };
    check("msg_agentbox_2", "1700000000", right, THEN, Err(Unproven::Wrong));
    check("msg_agentbox_1", "1700000001", right, THEN, Err(Unproven::Wrong));
    check("msg_agentbox_1", "1700000000", right, THEN + 300_001, Err(Unproven::Stale));
    check("msg_agentbox_1", "1700000000", right, THEN - 300_001, Err(Unproven::Stale));
    check("msg_agentbox_1", "17e8", right, THEN, Err(Unproven::Malformed));
    check("msg_agentbox_1", "1700000000", &right[3..], THEN, Err(Unproven::Malformed));
}

#[test]
fn gitlab_tokens() {
    // Documentation: the secret itself in X-Gitlab-Token; the body is not signed.
    let it = settings(&json!({ "scheme": "gitlab-token", "secret": "0123456789abcdef" }));
    let check = |shown: &[(&str, &str)], expected| {
        assert_eq!(verify(&it, shown, BODY.as_bytes(), 0), expected);
    };
    check(&[("x-gitlab-token", "0123456789abcdef")], Ok(()));
    check(&[("x-gitlab-token", "0123456789abcdeg")], Err(Unproven::Wrong));
    check(&[("x-gitlab-token", "0123456789abcde")], Err(Unproven::Wrong));
    check(&[("x-gitlab-token", "0123456789abcdef0")], Err(Unproven::Wrong));
    check(&[("x-gitlab-token", "")], Err(Unproven::Absent));
    check(&[], Err(Unproven::Absent));
    let several = settings(&json!({
        "scheme": "gitlab-token", "secrets": ["fedcba9876543210", "0123456789abcdef"]
    }));
    assert_eq!(verify(&several, &[("x-gitlab-token", "0123456789abcdef")], b"", 0), Ok(()));
}

#[test]
fn a_source_without_a_usable_secret_accepts_nothing() {
    for options in [json!({}), json!({ "secret": "short" }), json!({ "secret": "  " })] {
        let it = settings(&options);
        let shown = [("x-hub-signature-256", "0".repeat(64))];
        let shown = [(shown[0].0, shown[0].1.as_str())];
        assert_eq!(verify(&it, &shown, b"", 0), Err(Unproven::NoSecret));
    }
}

#[test]
fn what_is_signed_here_is_accepted_here_in_every_scheme() {
    use crate::ingress::Scheme;
    for scheme in Scheme::all() {
        let secret = "whsec_YWdlbnQtYm94IHN0YW5kYXJkIGtleSAx";
        let it = settings(&json!({ "scheme": scheme.as_str(), "secret": secret }));
        let signed = sign(&it, &it.keys[0], BODY.as_bytes(), "emit-1", THEN);
        let shown: Vec<(&str, &str)> =
            signed.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(verify(&it, &shown, BODY.as_bytes(), THEN), Ok(()), "{scheme:?}");
    }
}
