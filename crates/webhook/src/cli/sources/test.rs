//! `test`: a signed sample through the public address.
//!
//! curl speaks TLS for us. What it is to send it reads from stdin, so that neither signature nor
//! token stands in a command line.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::json;

use super::super::print::{self, DONE, FAILED};
use super::super::{Context, Done};
use super::{NO_ENDPOINT, Test, emit, endpoint, signing};
use crate::ingress::Sources;
use crate::now_ms;

pub(super) fn run(test: &Test, context: &Context) -> Done {
    let Some(base) = endpoint(context) else {
        return Ok(print::refuse(FAILED, NO_ENDPOINT));
    };
    let sources = Sources::read(&context.paths);
    let settings = match signing(&sources, test.source.as_deref()) {
        Ok(settings) => settings,
        Err(reason) => return Ok(print::refuse(FAILED, &reason)),
    };
    let name = &settings.name;
    let (url, id) = (format!("{base}/{name}"), format!("test-{}", emit::random_id()?));
    let now_ms = now_ms();
    // It names nothing that anybody could have subscribed to, so it starts no work.
    let sample = json!({
        "zen": "agent-box webhook test", "type": "ping", "id": id, "event_id": id,
        "webhookTimestamp": now_ms,
    });
    let body = sample.to_string();
    let event = settings.has_event_header().then_some("ping");
    let signed = settings.sign(body.as_bytes(), &id, event, now_ms)?;
    let answer = match through_curl(&url, &signed, &body) {
        Ok(answer) => answer,
        Err(reason) => return Ok(print::refuse(FAILED, &reason)),
    };
    let (status, text) = (answer.0, answer.1.as_str());
    if test.json {
        print::json(&json!({ "url": url, "id": id, "status": status, "answer": text }));
    }
    let advice = match status {
        200 => {
            if !test.json {
                print::line(&format!("{url} works: the sample is stored as {name}/{id}"));
            }
            return Ok(DONE);
        }
        401 if text == "invalid signature" => {
            "the receiver has another secret; is the address another user's?"
        }
        401 => "the proxy asks for a password there; the webhook route must come before it",
        404 if text == "unknown source" => "another receiver answers there, without this source",
        404 => "nothing is routed there",
        502 | 503 => "the receiver does not run, or is full; see `agent-box webhook status`",
        _ => "see `agent-box webhook status`",
    };
    let text = format!("{url} answers {status} {text}: {advice}");
    Ok(print::refuse(FAILED, &text))
}

/// Status and text of the answer.
fn through_curl(
    url: &str,
    headers: &[(String, String)],
    body: &str,
) -> Result<(u16, String), String> {
    let mut config = String::new();
    let mut set = |option: &str, value: &str| {
        let _ = writeln!(config, "{option} = {}", quoted(value));
    };
    set("url", url);
    for (name, value) in headers {
        set("header", &format!("{name}: {value}"));
    }
    set("header", "Content-Type: application/json");
    set("data-binary", body);
    let mut curl = Command::new("curl");
    // Without the user's own configuration.
    curl.args(["--disable", "--silent", "--show-error", "--max-time", "20", "--max-filesize"]);
    curl.args(["65536", "--proto", "=http,https", "--write-out", "\n%{http_code}"]);
    curl.args(["--config", "-"]);
    curl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = curl.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            "there is no curl, which sends the sample; install it".to_owned()
        }
        _ => format!("curl cannot be run ({error})"),
    })?;
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(config.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| format!("curl failed ({error})"))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{url} cannot be reached: {}", reason.trim()));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let (text, status) = said.rsplit_once('\n').unwrap_or(("", &said));
    let status = status.trim().parse().map_err(|_| "curl names no status".to_owned())?;
    Ok((status, text.trim().chars().take(200).collect()))
}

/// A value of curl's configuration.
fn quoted(value: &str) -> String {
    let mut text = String::from("\"");
    for c in value.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cannot_become_options_of_curl() {
        assert_eq!(quoted("a\"\nurl = \"b\\"), "\"a\\\"\\nurl = \\\"b\\\\\"");
    }
}
