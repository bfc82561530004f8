//! An inbox in a directory of its own, and short ways to fill it.

use std::path::PathBuf;

use agent_box_event::contract::Answer;
use agent_box_event::{
    BatchId, BodyDigest, DeliveryId, DeliveryState, EventKey, Object, Source, Topic, TopicPattern,
    WaitReason,
};
use agent_box_webhook::inbox::{
    Delivery, Format, Inbox, InboxError, InboxLimits, Incoming, NewBatch, SessionRef, Stored, Tx,
};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

pub(crate) const LIMITS: InboxLimits = InboxLimits {
    unsettled: 100_000,
    unsettled_bytes: 1 << 30,
    jobs: 256,
    file_bytes: 1 << 40,
    disk_reserve_bytes: 0,
};

/// A directory with an inbox in it.
pub(crate) struct Rig {
    directory: TempDir,
    inbox: Option<Inbox>,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(LIMITS)
    }

    pub(crate) fn with(limits: InboxLimits) -> Self {
        let mut rig = Self { directory: tempfile::tempdir().unwrap(), inbox: None };
        rig.inbox = Some(Inbox::open(&rig.path(), limits).unwrap());
        rig
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("inbox.db")
    }

    pub(crate) fn inbox(&self) -> &Inbox {
        self.inbox.as_ref().unwrap()
    }

    /// Ends the receiver and starts another one.
    pub(crate) fn reopen(&mut self) {
        self.close();
        self.inbox = Some(Inbox::open(&self.path(), LIMITS).unwrap());
    }

    pub(crate) fn close(&mut self) {
        self.inbox = None;
    }

    pub(crate) async fn store(&self, incoming: Incoming) -> Stored {
        self.inbox().store(incoming).await.unwrap()
    }

    /// Stores a new delivery.
    pub(crate) async fn new_delivery(&self, id: &str, at_ms: u64) -> u64 {
        let body = format!("body of {id}");
        let stored = self.store(incoming("github", id, body.as_bytes(), at_ms)).await;
        let Stored::New(sequence) = stored else { panic!("{id}: {stored:?}") };
        sequence
    }

    pub(crate) async fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Tx<'_>) -> Result<T, InboxError> + Send + 'static,
    ) -> T {
        self.inbox().write(job).await.unwrap()
    }

    /// Runs a job that must be refused; answers with what is said then.
    pub(crate) async fn refused<T: std::fmt::Debug + Send + 'static>(
        &self,
        job: impl FnOnce(&mut Tx<'_>) -> Result<T, InboxError> + Send + 'static,
    ) -> String {
        match self.inbox().write(job).await.unwrap_err() {
            InboxError::Refused(why) => why,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn delivery(&self, sequence: u64) -> Delivery {
        self.inbox().read(move |look| look.delivery(sequence)).await.unwrap().unwrap()
    }

    pub(crate) async fn state(&self, sequence: u64) -> String {
        self.delivery(sequence).await.state.to_string()
    }

    /// The words of a delivery's story.
    pub(crate) async fn words(&self, sequence: u64) -> Vec<String> {
        let steps = self.inbox().read(move |look| look.steps(sequence)).await.unwrap();
        steps.into_iter().map(|step| step.word).collect()
    }

    /// A new delivery that waits in its lane.
    pub(crate) async fn waiting(&self, id: &str, at_ms: u64) -> u64 {
        let sequence = self.new_delivery(id, at_ms).await;
        self.write(move |tx| wait(tx, sequence, at_ms)).await;
        sequence
    }

    /// A batch of waiting deliveries.
    pub(crate) async fn frozen(&self, members: &[u64], at_ms: u64) -> BatchId {
        let batch = new_batch(members, at_ms);
        self.write(move |tx| tx.freeze(&batch)).await
    }
}

pub(crate) fn incoming(source: &str, id: &str, body: &[u8], received_ms: u64) -> Incoming {
    Incoming {
        source: Source::parse(source).unwrap(),
        format: Format::GitHub,
        kind: "push".to_owned(),
        key: Some(EventKey::parse("o/r").unwrap()),
        sender: Some("joe".to_owned()),
        id: DeliveryId::parse(id).unwrap(),
        is_id_ours: false,
        digest: BodyDigest(Sha256::digest(body).into()),
        body: body.to_vec(),
        received_ms,
    }
}

pub(crate) fn topic() -> Topic {
    Topic::parse("github:o/r").unwrap()
}

pub(crate) fn wait(tx: &mut Tx<'_>, sequence: u64, at_ms: u64) -> Result<(), InboxError> {
    let watch = TopicPattern::parse("github:o/*").unwrap();
    tx.wait(sequence, &topic(), &watch, Some("look"), WaitReason::Window, at_ms)
}

pub(crate) fn decline(tx: &mut Tx<'_>, sequence: u64, at_ms: u64) -> Result<(), InboxError> {
    tx.step(sequence, &DeliveryState::Declined("nobody".to_owned()), None, at_ms)
}

pub(crate) fn new_batch(members: &[u64], at_ms: u64) -> NewBatch {
    NewBatch {
        topic: topic(),
        members: members.to_vec(),
        watch: "github:o/*".to_owned(),
        note: Some("look".to_owned()),
        text: "what happened".to_owned(),
        is_assigned: true,
        objects: vec![Object::PullRequest(7), Object::Branch("o/r@main".to_owned())],
        at_ms,
    }
}

pub(crate) fn answer(session_id: &str) -> Answer {
    Answer { session_id: session_id.to_owned(), name: format!("hook-{session_id}") }
}

pub(crate) fn session(key: &str, id: &str) -> SessionRef {
    SessionRef { key: key.to_owned(), session_id: Some(id.to_owned()) }
}
