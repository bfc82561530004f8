//! From a verified body to what the inbox stores: kind, key, sender, id.

use agent_box_event::{BodyDigest, DeliveryId, EventKey, Json, Value, derive_text};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName};
use sha2::{Digest as _, Sha256};

use crate::inbox::Incoming;

use super::answer::Refusal;
use super::probe::probe;
use super::proof::Unproven;
use super::scheme::Scheme;
use super::secret::hex;
use super::sources::SourceSettings;

/// What a verified body is.
#[derive(Debug)]
pub(crate) enum Envelope {
    Delivery(Incoming),
    /// Slack asks for this text back.
    Challenge(String),
}

/// No challenge of Slack's is longer, in bytes.
const MAX_CHALLENGE: usize = 512;

/// Reads a body; `received_ms` is when it came.
pub(crate) fn open(
    settings: &SourceSettings,
    headers: &HeaderMap,
    body: Vec<u8>,
    received_ms: u64,
) -> Result<Envelope, Refusal> {
    let events = settings.event_paths.iter();
    let senders = settings.sender_paths.iter();
    let others = settings.delivery_path.iter().chain(&settings.key_path);
    let mut paths: Vec<&str> = vec!["type", "challenge"];
    paths.extend(settings.time_path);
    paths.extend(events.chain(senders).chain(others).map(String::as_str));
    let Ok(found) = probe(&body, &paths) else {
        return Err(Refusal::NotJson { is_form: is_form(headers) });
    };
    let at = |path: &str| {
        let index = paths.iter().position(|it| *it == path)?;
        found[index].as_ref().map(Json::value)
    };
    if let Some(path) = settings.time_path {
        let sent_ms = match at(path) {
            Some(Value::Number(number)) => number.as_u64(),
            _ => None,
        };
        if sent_ms.is_none_or(|sent_ms| sent_ms.abs_diff(received_ms) > settings.tolerance_ms) {
            return Err(Unproven::Stale.into());
        }
    }
    if settings.scheme == Scheme::Slack
        && at("type") == Some(Value::Text("url_verification"))
        && let Some(Value::Text(text)) = at("challenge")
        && text.len() <= MAX_CHALLENGE
    {
        return Ok(Envelope::Challenge(text.to_owned()));
    }
    let first = |paths: &[String]| paths.iter().find_map(|path| derive_text(at(path)));
    let header = |name: &Option<HeaderName>| headers.get(name.as_ref()?)?.to_str().ok();
    let kind = header(&settings.event_header).and_then(|it| derive_text(Some(Value::Text(it))));
    let kind = kind.or_else(|| first(&settings.event_paths)).unwrap_or_default();
    // Uncut: a key is whole or it is none.
    let key = match settings.key_path.as_deref().and_then(at) {
        Some(Value::Text(text)) => EventKey::parse(text).ok(),
        other => derive_text(other).and_then(|text| EventKey::parse(&text).ok()),
    };
    let key = key.or_else(|| EventKey::parse(header(&settings.key_header)?).ok());
    let digest = BodyDigest(Sha256::digest(&body).into());
    let named = header(&settings.delivery_header).and_then(|it| DeliveryId::parse(it).ok());
    let named = named.or_else(|| {
        let path = settings.delivery_path.as_deref()?;
        DeliveryId::parse(&derive_text(at(path))?).ok()
    });
    let sender = first(&settings.sender_paths);
    Ok(Envelope::Delivery(Incoming {
        source: settings.name.clone(),
        format: settings.format,
        kind,
        key,
        sender,
        is_id_ours: named.is_none(),
        id: named.unwrap_or_else(|| id_of(&digest, received_ms)),
        digest,
        body,
        received_ms,
    }))
}

/// So long the very same body of a sender without ids is taken for a repeated attempt.
const SAME_ATTEMPT_MS: u64 = 600_000;

/// The id of a delivery whose sender gave none: its body's, within ten minutes. So a repeated
/// attempt is a duplicate, and the same news on another day is not.
fn id_of(digest: &BodyDigest, received_ms: u64) -> DeliveryId {
    let id = format!("sha256:{}.{}", hex(&digest.0[..16]), received_ms / SAME_ATTEMPT_MS);
    DeliveryId::parse(&id).expect("BUG: digits are a delivery id")
}

fn is_form(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    content_type.is_some_and(|it| it.trim_start().starts_with("application/x-www-form-urlencoded"))
}

#[cfg(test)]
mod tests;
