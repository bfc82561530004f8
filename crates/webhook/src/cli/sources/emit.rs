//! `emit`: a signed body for the receiver of this machine.

use std::io::Read as _;
use std::path::PathBuf;

use agent_box_session::env;
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
    let body = if emit.body == "-" {
        let mut body = Vec::new();
        std::io::stdin().take(MAX_BODY).read_to_end(&mut body)?;
        body
    } else {
        emit.body.clone().into_bytes()
    };
    if let Err(error) = serde_json::from_slice::<Value>(&body) {
        return Ok(print::refuse(MISUSED, &format!("the body is no JSON ({error})")));
    }
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

/// 16 hexadecimal digits.
pub(super) fn random_id() -> std::io::Result<String> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
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
