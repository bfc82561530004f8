//! What a sender is told. Nothing of a secret, a file or a stranger's own text is in it.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};

use super::proof::Unproven;

/// How a request ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// On disk, now or before.
    Stored,
    /// Slack's question whether this address is ours.
    Challenge(String),
    /// Refused or failed.
    Refused(Refusal),
}

/// Why a request has no effect.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Method,
    UnknownSource,
    Unproven(Unproven),
    TooLarge,
    TooSlow,
    /// The sender went away, or what it sent is no HTTP body.
    Broken,
    NotJson {
        is_form: bool,
    },
    /// There is no room, and of what.
    Busy(String),
    /// The inbox failed; the log says how.
    Failed,
}

impl Refusal {
    /// The word under which it is counted and logged.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::UnknownSource => "unknown-source",
            Self::Unproven(_) => "signature",
            Self::TooLarge => "too-large",
            Self::TooSlow => "too-slow",
            Self::Broken => "broken",
            Self::NotJson { .. } => "not-json",
            Self::Busy(_) => "busy",
            Self::Failed => "failed",
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::UnknownSource => StatusCode::NOT_FOUND,
            Self::Unproven(_) => StatusCode::UNAUTHORIZED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Broken | Self::NotJson { .. } => StatusCode::BAD_REQUEST,
            Self::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn text(&self) -> &'static str {
        match self {
            Self::Method => "method not allowed",
            Self::UnknownSource => "unknown source",
            Self::Unproven(_) => "invalid signature",
            Self::TooLarge => "body too large",
            Self::TooSlow => "body too slow",
            Self::Broken => "bad request",
            Self::NotJson { is_form: false } => "bad json",
            Self::NotJson { is_form: true } => {
                "bad json: set the content type of this webhook to application/json"
            }
            Self::Busy(_) => "busy, try again later",
            Self::Failed => "error",
        }
    }
}

/// Seconds after which a sender should try again.
const RETRY_AFTER_S: HeaderValue = HeaderValue::from_static("30");

impl Answer {
    /// The response; `closes` tells the sender that the connection ends with it.
    pub(crate) fn response(self, closes: bool) -> Response<Full<Bytes>> {
        let (status, text) = match &self {
            Self::Stored => (StatusCode::OK, Bytes::from_static(b"ok")),
            Self::Challenge(text) => (StatusCode::OK, Bytes::copy_from_slice(text.as_bytes())),
            Self::Refused(it) => (it.status(), Bytes::from_static(it.text().as_bytes())),
        };
        let mut response = Response::new(Full::new(text));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, RETRY_AFTER_S);
        }
        if status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(ALLOW, HeaderValue::from_static("POST"));
        }
        if closes {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Unproven> for Refusal {
    fn from(unproven: Unproven) -> Self {
        Self::Unproven(unproven)
    }
}
