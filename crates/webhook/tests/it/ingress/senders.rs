//! Senders' own libraries sign, here and now, and are believed.
//!
//! `AGENT_BOX_WEBHOOK_NPM` names a directory whose `node_modules` has `@octokit/webhooks-methods`,
//! and whichever of `stripe`, `standardwebhooks` and `svix`; without it the test says that it did
//! not run.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::raw_http::Post;
use super::rig::{Receiver, SECRET};

const VARIABLE: &str = "AGENT_BOX_WEBHOOK_NPM";
const STANDARD: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3";

/// Signs bodies of random characters, from all over Unicode; one JSON line for each.
const SIGNER: &str = r#"
import { sign } from "@octokit/webhooks-methods";
const [secret, standard] = process.argv.slice(2);
const optional = async (name) => { try { return await import(name); } catch { return null; } };
const stripe = await optional("stripe");
const webhooks = [["standardwebhooks", "webhook"], ["svix", "svix"]];
const say = (source, body, headers) => console.log(JSON.stringify({ source, body, headers }));
const ranges = [[0x20, 0x7e], [0xa0, 0x2ff], [0x2000, 0x206f], [0x4e00, 0x4fff], [0x1f300, 0x1f64f]];
const random = (below) => Math.floor(Math.random() * below);
for (let round = 0; round < 60; round++) {
  let text = "";
  for (let left = random(3000); left > 0; left--) {
    const [from, to] = ranges[random(ranges.length)];
    text += String.fromCodePoint(from + random(to - from + 1));
  }
  const space = round % 3 === 0 ? 2 : undefined;
  const body = JSON.stringify({ round, text, n: 1.5, id: "evt_" + round }, null, space) + "\r\n".repeat(round % 2);
  say("github", body, { "x-hub-signature-256": await sign(secret, body) });
  if (stripe) {
    const signer = new stripe.default("sk_test_x").webhooks;
    const header = signer.generateTestHeaderString({ payload: body, secret });
    say("stripe", body, { "stripe-signature": header });
  }
  for (const [name, prefix] of webhooks) {
    const library = await optional(name);
    if (!library) continue;
    const at = new Date(), id = "msg_" + name + round;
    const signature = new library.Webhook(standard).sign(id, at, body);
    say(name, body, {
      [prefix + "-id"]: id, [prefix + "-signature"]: signature,
      [prefix + "-timestamp"]: String(Math.floor(at.getTime() / 1000)),
    });
  }
}
"#;

#[test]
fn what_senders_own_libraries_sign_is_accepted_and_one_bit_more_is_not() {
    let Some(directory) = std::env::var_os(VARIABLE) else {
        println!("did not run: {VARIABLE} names no directory with node_modules");
        return;
    };
    let mut node = Command::new("node");
    node.args(["--input-type=module", "-", SECRET, STANDARD]).current_dir(directory);
    let mut node = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    node.stdin.take().unwrap().write_all(SIGNER.as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success());
    let receiver = Receiver::new();
    let sources = json!({ "sources": {
        "github": { "secret": SECRET },
        "stripe": { "scheme": "stripe", "secret": SECRET },
        "standardwebhooks": { "scheme": "standard-webhooks", "secret": STANDARD },
        "svix": {
            "scheme": "standard-webhooks", "secret": STANDARD, "signatureHeader": "svix-signature"
        },
    } });
    receiver.set_sources(&sources.to_string());
    let mut senders = BTreeSet::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let signed: Value = serde_json::from_str(line).unwrap();
        let source = signed["source"].as_str().unwrap();
        let body = signed["body"].as_str().unwrap();
        let mut post = Post::unsigned(body).to(&format!("/{source}"));
        for (name, value) in signed["headers"].as_object().unwrap() {
            post = post.with(name, value.as_str().unwrap());
        }
        assert_eq!(post.over(receiver.connect()).status, 200, "{line}");
        assert_eq!(receiver.stored().last().unwrap().body, body.as_bytes());
        let middle = post.body.len() / 2;
        post.body[middle] ^= 1;
        assert_eq!(post.over(receiver.connect()).status, 401, "{line}");
        senders.insert(source.to_owned());
    }
    assert!(senders.contains("github"));
    println!("signed by the libraries of {senders:?}");
    assert_eq!(receiver.stored().len(), 60 * senders.len());
}
