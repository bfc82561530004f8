//! What a request shows as proof, and whether it holds.
//!
//! Reading the proof needs the headers only, so that a request without one is refused before its
//! body is looked at. The body then streams through one MAC per active secret. All secrets are
//! compared with all signatures shown, each in constant time and none skipped, so that the time
//! says neither which secret was right nor how far a guess agreed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use hyper::header::{HeaderMap, HeaderName};
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};
use thiserror::Error;

use super::scheme::Shape;
use super::secret::{Secret, hex};
use super::sources::SourceSettings;

/// More signatures than any sender shows at once.
const MAX_SIGNATURES: usize = 16;

/// Why a request cannot be proven, whatever its body. It is logged, never answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum Unproven {
    #[error("no signature header")]
    Absent,
    #[error("the signature header has another shape than the source's scheme")]
    Malformed,
    #[error("the signed time is too far from this box's clock")]
    Stale,
    #[error("the source has no usable secret")]
    NoSecret,
    #[error("the signature is wrong")]
    Wrong,
}

/// The proof of one request while its body streams past.
#[derive(Debug)]
pub(crate) struct Proof {
    macs: Vec<Hmac<Sha256>>,
    shown: Vec<[u8; 32]>,
}

impl Proof {
    /// Reads the headers. A token proves or fails here; a signature once the body is known.
    pub(crate) fn begin(
        settings: &SourceSettings,
        headers: &HeaderMap,
        now_ms: u64,
    ) -> Result<Self, Unproven> {
        let text = only(headers, &settings.signature_header)?;
        let shown = read(settings, headers, text)?;
        if let Some(seconds) = shown.seconds {
            let distance_ms = seconds.saturating_mul(1000).abs_diff(now_ms);
            if distance_ms > settings.tolerance_ms {
                return Err(Unproven::Stale);
            }
        }
        if settings.keys.is_empty() {
            return Err(Unproven::NoSecret);
        }
        if settings.shape() == Shape::Token {
            return if is_token(&settings.keys, text.as_bytes()) {
                Ok(Self { macs: Vec::new(), shown: Vec::new() })
            } else {
                Err(Unproven::Wrong)
            };
        }
        let macs = settings.keys.iter().map(|key| {
            let mut mac = keyed(key);
            mac.update(&shown.before_body);
            mac
        });
        Ok(Self { macs: macs.collect(), shown: shown.digests })
    }

    /// Takes the next piece of the body.
    pub(crate) fn update(&mut self, piece: &[u8]) {
        for mac in &mut self.macs {
            mac.update(piece);
        }
    }

    /// Whether one of the signatures is one of the secrets'.
    pub(crate) fn end(self) -> Result<(), Unproven> {
        if self.macs.is_empty() {
            return Ok(());
        }
        let mut is_right = Choice::from(0);
        for mac in self.macs {
            let made = mac.finalize().into_bytes();
            for shown in &self.shown {
                is_right |= made.as_slice().ct_eq(shown);
            }
        }
        if is_right.into() { Ok(()) } else { Err(Unproven::Wrong) }
    }
}

/// The headers with which a sender of this scheme would prove a body: for `emit` and `test`.
pub(crate) fn sign(
    settings: &SourceSettings,
    key: &Secret,
    body: &[u8],
    id: &str,
    now_ms: u64,
) -> Vec<(String, String)> {
    let seconds = (now_ms / 1000).to_string();
    let made = |before_body: &str| {
        let mut mac = keyed(key);
        mac.update(before_body.as_bytes());
        mac.update(body);
        mac.finalize().into_bytes()
    };
    let signature = settings.signature_header.as_str().to_owned();
    match settings.shape() {
        Shape::Hex => vec![(signature, format!("sha256={}", hex(&made(""))))],
        Shape::Base64 => vec![(signature, BASE64.encode(made("")))],
        Shape::Token => vec![(signature, String::from_utf8_lossy(key.bytes()).into_owned())],
        Shape::Stripe => {
            let made = hex(&made(&format!("{seconds}.")));
            vec![(signature, format!("t={seconds},v1={made}"))]
        }
        Shape::Slack => {
            let made = hex(&made(&format!("v0:{seconds}:")));
            let time = (SLACK_TIME.as_str().to_owned(), seconds);
            vec![time, (signature, format!("v0={made}"))]
        }
        Shape::Standard => {
            let made = BASE64.encode(made(&format!("{id}.{seconds}.")));
            let [id_header, time_header] = companions(&settings.signature_header);
            vec![
                (id_header, id.to_owned()),
                (time_header, seconds),
                (signature, format!("v1,{made}")),
            ]
        }
    }
}

static SLACK_TIME: HeaderName = HeaderName::from_static("x-slack-request-timestamp");

/// The id's and the time's header beside a signature header of Standard Webhooks.
pub(crate) fn companions(signature: &HeaderName) -> [String; 2] {
    let name = signature.as_str();
    let prefix = name.strip_suffix("-signature").unwrap_or("webhook");
    [format!("{prefix}-id"), format!("{prefix}-timestamp")]
}

/// What the headers say.
#[derive(Default)]
struct Shown {
    digests: Vec<[u8; 32]>,
    /// Is signed in front of the body.
    before_body: Vec<u8>,
    /// When it was signed, since 1970.
    seconds: Option<u64>,
}

fn read(settings: &SourceSettings, headers: &HeaderMap, text: &str) -> Result<Shown, Unproven> {
    let mut shown = Shown::default();
    let time_of = |text: &str| {
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let seconds = is_plain.then(|| text.parse::<u64>().ok()).flatten();
        seconds.ok_or(Unproven::Malformed)
    };
    match settings.shape() {
        Shape::Token => {}
        Shape::Hex => shown.digests.extend(from_hex(plain(text))),
        Shape::Base64 => shown.digests.extend(from_base64(plain(text))),
        Shape::Stripe => {
            let mut time = None;
            for item in text.split(',') {
                match item.trim().split_once('=') {
                    Some(("t", value)) if time.is_none() => time = Some(value),
                    Some(("t", _)) => return Err(Unproven::Malformed),
                    Some(("v1", value)) => shown.digests.extend(from_hex(value)),
                    _ => {}
                }
            }
            let time = time.ok_or(Unproven::Malformed)?;
            shown.seconds = Some(time_of(time)?);
            shown.before_body = format!("{time}.").into_bytes();
        }
        Shape::Slack => {
            let time = only(headers, &SLACK_TIME)?;
            shown.seconds = Some(time_of(time)?);
            shown.before_body = format!("v0:{time}:").into_bytes();
            shown.digests.extend(text.strip_prefix("v0=").and_then(from_hex));
        }
        Shape::Standard => {
            let [id, time] = companions(&settings.signature_header);
            let (id, time) = (only_named(headers, &id)?, only_named(headers, &time)?);
            shown.seconds = Some(time_of(time)?);
            shown.before_body = format!("{id}.{time}.").into_bytes();
            let signatures = text.split_ascii_whitespace();
            let known = signatures.filter_map(|it| it.strip_prefix("v1,"));
            shown.digests.extend(known.filter_map(from_base64));
        }
    }
    let is_shown = (1..=MAX_SIGNATURES).contains(&shown.digests.len());
    let is_shown = is_shown || settings.shape() == Shape::Token;
    if is_shown { Ok(shown) } else { Err(Unproven::Malformed) }
}

/// The one value of a header; twice the same header is no proof of anything.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<&'a str, Unproven> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().ok_or(Unproven::Absent)?;
    if values.next().is_some() {
        return Err(Unproven::Malformed);
    }
    let text = value.to_str().map_err(|_| Unproven::Malformed)?.trim();
    if text.is_empty() { Err(Unproven::Absent) } else { Ok(text) }
}

fn only_named<'a>(headers: &'a HeaderMap, name: &str) -> Result<&'a str, Unproven> {
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| Unproven::Malformed)?;
    only(headers, &name)
}

/// A signature without `sha256=`, in whatever case.
fn plain(text: &str) -> &str {
    match text.split_at_checked(7) {
        Some((prefix, rest)) if prefix.eq_ignore_ascii_case("sha256=") => rest.trim(),
        _ => text,
    }
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut digest = [0; 32];
    for (byte, pair) in digest.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let digit = |it: u8| char::from(it).to_digit(16).and_then(|it| u8::try_from(it).ok());
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(digest)
}

fn from_base64(text: &str) -> Option<[u8; 32]> {
    BASE64.decode(text).ok()?.try_into().ok()
}

fn keyed(key: &Secret) -> Hmac<Sha256> {
    Hmac::new_from_slice(key.bytes()).expect("BUG: an HMAC takes a key of any length")
}

/// Compares digests, so that the time does not tell a token's length either.
fn is_token(keys: &[Secret], shown: &[u8]) -> bool {
    let shown = Sha256::digest(shown);
    let mut is_right = Choice::from(0);
    for key in keys {
        is_right |= Sha256::digest(key.bytes()).as_slice().ct_eq(shown.as_slice());
    }
    is_right.into()
}

#[cfg(test)]
mod tests;
