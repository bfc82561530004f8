//! `emit`: a signed body for the receiver of this machine.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use agent_box_session::env;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::super::print::{self, DONE, FAILED, MISUSED};
use super::super::{Context, Done};
use super::post::{Place, post};
use super::{Emit, named, signing};
use crate::ingress::Sources;
use crate::{disk, now_ms};

/// As long as a receiver may take for any body.
const MAX_BODY: u64 = 100 * 1024 * 1024;

pub(super) fn run(emit: &Emit, context: &Context) -> Done {
    let name = match named(&emit.source) {
        Ok(name) => name,
        Err(code) => return Ok(code),
    };
    let body = match body(&emit.body) {
        Ok(body) => body,
        Err(reason) => return Ok(print::refuse(MISUSED, &reason)),
    };
    let sources = Sources::read(&context.paths);
    let settings = match signing(&sources, Some(name.as_str())) {
        Ok(settings) => settings,
        Err(reason) => return Ok(print::refuse(FAILED, &reason)),
    };
    let id = format!("emit-{}", random_id()?);
    let signed = match settings.sign(&body, &id, emit.event.as_deref(), now_ms()) {
        Ok(signed) => signed,
        Err(reason) => return Ok(print::refuse(MISUSED, &reason)),
    };
    let places = places(context);
    let Some(answer) = post(&places, &format!("/{name}"), &signed, &body)? else {
        return Ok(print::refuse(
            FAILED,
            "no receiver runs on this machine; start `agent-box up`, or `agent-box webhook serve` \
             alone",
        ));
    };
    let is_stored = answer.status == 200;
    if emit.json {
        print::json(&json!({ "id": id, "status": answer.status, "answer": answer.text }));
    } else if is_stored {
        print::line(&format!("stored as {name}/{id}"));
        print::line(&format!("  agent-box webhook explain {name}/{id}"));
    }
    if is_stored {
        return Ok(DONE);
    }
    Ok(print::refuse(FAILED, &format!("the receiver says {} {}", answer.status, answer.text)))
}

/// The body that a word stands for, or why there is none. What is JSON is no file's name.
fn body(word: &str) -> Result<Vec<u8>, String> {
    let is_json = |bytes: &[u8]| serde_json::from_slice::<IgnoredAny>(bytes).map(drop);
    let (place, opened): (_, io::Result<Box<dyn Read>>) = match is_json(word.as_bytes()) {
        Ok(()) => return Ok(word.as_bytes().to_owned()),
        Err(_) if word == "-" => ("stdin", Ok(Box::new(io::stdin()))),
        Err(error) => match File::open(word) {
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => {
                return Err(format!(
                    "`{}` is neither JSON ({error}) nor a file; give the body itself, a file that \
                     holds it, or `-` for standard input",
                    word.chars().take(80).collect::<String>()
                ));
            }
            opened => (word, opened.map(|file| Box::new(file) as _)),
        },
    };
    let mut body = Vec::new();
    let read = opened.and_then(|it| it.take(MAX_BODY).read_to_end(&mut body));
    read.map_err(|error| format!("{place}: cannot be read ({error})"))?;
    is_json(&body).map_err(|error| format!("{place}: the body is no JSON ({error})"))?;
    Ok(body)
}

/// 16 hexadecimal digits.
pub(super) fn random_id() -> io::Result<String> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(format!("{:016x}", u64::from_be_bytes(bytes)))
}

/// Where a receiver of this machine may listen, the likeliest first.
fn places(context: &Context) -> Vec<Place> {
    let mut places = vec![Place::Socket(context.paths.ingress())];
    places.extend(context.variable(env::WEBHOOK_HTTP_SOCK).map(|it| Place::Socket(it.into())));
    let said = disk::read(&context.paths.receiver()).ok();
    let said = said.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let ingress = said.as_ref().map_or(&Value::Null, |said| &said["ingress"]);
    places.extend(ingress["path"].as_str().map(|path| Place::Socket(PathBuf::from(path))));
    let port = |value: u64| u16::try_from(value).ok().filter(|port| *port > 0).map(Place::Port);
    places.extend(ingress["port"].as_u64().and_then(port));
    places.extend(context.text(env::WEBHOOK_PORT).and_then(|it| it.parse().ok()).and_then(port));
    places
}
