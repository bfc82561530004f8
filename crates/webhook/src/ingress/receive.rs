//! One request, from its head to its answer.

use std::sync::Arc;
use std::time::Duration;

use agent_box_event::{Cut, Source, sanitize};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming as RequestBody};
use hyper::header::HeaderMap;
use hyper::{Method, Request};
use tokio::time::{Instant, timeout_at};

use crate::inbox::Stored;
use crate::now_ms;

use super::address::{Addressed, addressed};
use super::answer::{Answer, Refusal};
use super::envelope::{self, Envelope};
use super::pace::Pace;
use super::proof::Proof;
use super::sources::{SourceSettings, Sources};
use super::spool::{SpoolError, Spooled, Whole};
use super::{Ingress, Store};

/// An answer, and what of the body was not read for it.
pub(crate) struct Received {
    pub(crate) answer: Answer,
    pub(crate) unread: Option<RequestBody>,
}

impl<S: Store> Ingress<S> {
    /// Answers one request. The order of the checks is a promise: whoever is not known and shows
    /// no signature costs no more than a head.
    pub(crate) async fn receive(&self, request: Request<RequestBody>, pace: &Pace) -> Received {
        let sources = self.sources.get();
        let (head, body) = request.into_parts();
        let mut body = Some(body);
        let settings = source_of(&sources, head.uri.path());
        let answer = self.judge(&head, settings, &mut body, pace).await.unwrap_or_else(|refusal| {
            let source = settings.map(|it| it.name.as_str());
            self.refusals.add(source, &refusal, now_ms());
            Answer::Refused(refusal)
        });
        Received { answer, unread: unread(body) }
    }

    /// Answers a request that found no room for its connection.
    pub(crate) fn turn_away(&self, request: Request<RequestBody>) -> Received {
        let refusal = Refusal::Busy("too many connections".to_owned());
        self.refusals.add(None, &refusal, now_ms());
        Received { answer: refusal.into(), unread: unread(Some(request.into_body())) }
    }

    async fn judge(
        &self,
        head: &hyper::http::request::Parts,
        settings: Option<&SourceSettings>,
        body: &mut Option<RequestBody>,
        pace: &Pace,
    ) -> Result<Answer, Refusal> {
        let received_ms = now_ms();
        if head.method != Method::POST {
            return Err(Refusal::Method);
        }
        let settings = settings.ok_or(Refusal::UnknownSource)?;
        let proof = Proof::begin(settings, &head.headers, received_ms)?;
        let declared = body.as_ref().and_then(|body| body.size_hint().exact());
        if declared.is_some_and(|length| length > settings.max_bytes) {
            return Err(Refusal::TooLarge);
        }
        if !self.spool.has_room(declared.unwrap_or(0)) {
            return Err(Refusal::Busy("the budget for bodies is used up".to_owned()));
        }
        let body = self.read_all(body, settings, proof).await?;
        pace.busy();
        let Whole { body, share } =
            body.end(self.limits.patience).await.map_err(|error| spool_failed(&error))?;
        match opened(settings, &head.headers, body, received_ms).await? {
            Envelope::Challenge(text) => Ok(Answer::Challenge(text)),
            Envelope::Delivery(incoming) => {
                let source = settings.name.clone();
                let stored = self.store.store(incoming).await;
                drop(share);
                match stored {
                    Ok(Stored::New(_) | Stored::Duplicate { .. }) => Ok(Answer::Stored),
                    Ok(Stored::Full(why)) => Err(Refusal::Busy(why)),
                    Err(error) => Err(store_failed(&source, &error)),
                }
            }
        }
    }

    /// Reads a body to its end, takes it away then, and proves it. However it is sent, it must
    /// keep a minimal pace.
    async fn read_all(
        &self,
        unread: &mut Option<RequestBody>,
        settings: &SourceSettings,
        mut proof: Proof,
    ) -> Result<Spooled, Refusal> {
        let begin = Instant::now();
        let mut spooled = self.spool.begin();
        while let Some(body) = unread {
            let end = begin + self.limits.body_time(spooled.length());
            let frame = match timeout_at(end, body.frame()).await {
                Err(_) => return Err(Refusal::TooSlow),
                Ok(None) => {
                    *unread = None;
                    break;
                }
                Ok(Some(Err(_))) => return Err(Refusal::Broken),
                Ok(Some(Ok(frame))) => frame,
            };
            // What follows a chunked body is no part of it.
            let Ok(piece) = frame.into_data() else { continue };
            if spooled.length() + piece.len() as u64 > settings.max_bytes {
                return Err(Refusal::TooLarge);
            }
            proof.update(&piece);
            spooled.push(&piece).await.map_err(|error| spool_failed(&error))?;
        }
        proof.end()?;
        Ok(spooled)
    }

    /// Reads what a refused sender still sends, so that it comes to see its answer: up to the
    /// size of a body and for a few seconds.
    pub(crate) async fn discard(self: Arc<Self>, mut body: RequestBody) {
        let end = Instant::now() + self.limits.discard;
        let mut left = super::sources::DEFAULT_MAX_BYTES * 2;
        while let Ok(Some(Ok(frame))) = timeout_at(end, body.frame()).await {
            let length = frame.data_ref().map_or(0, |piece| piece.len() as u64);
            let Some(rest) = left.checked_sub(length) else { return };
            left = rest;
        }
    }
}

/// What is left of a body, if anything can be.
fn unread(body: Option<RequestBody>) -> Option<RequestBody> {
    body.filter(|body| !body.is_end_stream())
}

fn source_of<'a>(sources: &'a Sources, path: &str) -> Option<&'a SourceSettings> {
    match addressed(path) {
        Addressed::Default => sources.find(None),
        Addressed::Source(name) => sources.find(Some(&name)),
        Addressed::Nothing => None,
    }
}

/// Reads a large body away from the event loop.
async fn opened(
    settings: &SourceSettings,
    headers: &HeaderMap,
    body: Vec<u8>,
    received_ms: u64,
) -> Result<Envelope, Refusal> {
    if body.len() <= INLINE {
        return envelope::open(settings, headers, body, received_ms);
    }
    let (settings, headers) = (settings.clone(), headers.clone());
    let opening =
        tokio::task::spawn_blocking(move || envelope::open(&settings, &headers, body, received_ms));
    opening.await.unwrap_or(Err(Refusal::Failed))
}

/// Bodies up to this size are read in less than a millisecond or two.
const INLINE: usize = 512 * 1024;

fn spool_failed(error: &SpoolError) -> Refusal {
    if let SpoolError::File(error) = error {
        tracing::error!("webhook spool: {error}");
    }
    Refusal::Busy(error.to_string())
}

fn store_failed(source: &Source, error: &crate::inbox::InboxError) -> Refusal {
    let text = sanitize(&error.to_string(), Cut::VALUE);
    tracing::error!("webhook delivery of {source} could not be stored: {text}");
    Refusal::Failed
}

/// How much time a request and its sender have.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections that are served at once; when all of them are busy, further ones are told to
    /// try again later. The socket for verbs of this machine has as many of its own.
    pub connections: usize,
    /// From the first byte of a request, or from connecting, to the end of its head.
    pub head: Duration,
    /// Between two requests of a connection; longer than proxies keep theirs. Shorter when
    /// somebody else needs the seat.
    pub idle: Duration,
    /// A body may be slow for so long.
    pub body_grace: Duration,
    /// After that, this many bytes a second are the least.
    pub body_rate: u64,
    /// And this is the end for every body.
    pub body: Duration,
    /// How long a refused body is still read, so that its sender sees the answer.
    pub discard: Duration,
    /// How long a verified large body waits for memory.
    pub patience: Duration,
    /// The most memory of all bodies together, in bytes.
    pub memory: u64,
    /// The most disk of bodies that are not verified yet, in bytes.
    pub disk: u64,
    /// The most of one body in memory before it is verified, in bytes.
    pub memory_per_body: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            head: Duration::from_secs(10),
            idle: Duration::from_secs(150),
            body_grace: Duration::from_secs(5),
            body_rate: 16 * 1024,
            body: Duration::from_secs(30),
            discard: Duration::from_secs(5),
            patience: Duration::from_secs(5),
            memory: 128 * 1024 * 1024,
            disk: 512 * 1024 * 1024,
            memory_per_body: 256 * 1024,
        }
    }
}

impl Limits {
    /// When the next piece of a body must be there, after so many bytes, since it began.
    fn body_time(&self, bytes: u64) -> Duration {
        let earned = Duration::from_millis(bytes.saturating_mul(1000) / self.body_rate.max(1));
        self.body.min(self.body_grace.saturating_add(earned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_earns_time_by_its_bytes_up_to_an_end() {
        let limits = Limits::default();
        let seconds = |bytes| limits.body_time(bytes).as_secs();
        assert_eq!(seconds(0), 5);
        assert_eq!(seconds(15 * 1024), 5);
        assert_eq!(seconds(16 * 1024), 6);
        assert_eq!(seconds(25 * 16 * 1024), 30);
        assert_eq!(seconds(u64::MAX), 30);
    }
}
