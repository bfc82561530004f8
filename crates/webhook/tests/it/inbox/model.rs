//! The inbox against a simple model, over random operations and restarts.

use std::collections::{BTreeMap, BTreeSet};

use agent_box_event::{BatchId, DeliveryState, Lane};
use agent_box_webhook::inbox::{
    Criteria, Enqueued, InboxError, Look, Message, QueueLimits, Relation, SessionRef, Stored,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::json;

use super::rig::{LIMITS, Rig, answer, decline, incoming, new_batch, session, wait};

const QUEUE: QueueLimits = QueueLimits { messages: 2, bytes: 1 << 20 };

#[derive(Clone, Debug)]
enum Operation {
    Store {
        id: u8,
        body: u8,
    },
    /// Matches the first that is unmatched: whether a watch wants it, and which sessions do.
    Match {
        watch: bool,
        sessions: Vec<u8>,
    },
    Freeze {
        count: usize,
    },
    Attempt {
        batch: u64,
    },
    Settle {
        batch: u64,
    },
    Defer {
        batch: u64,
    },
    Retry {
        batch: u64,
    },
    Hold {
        batch: u64,
    },
    Park {
        batch: u64,
    },
    Withdraw {
        sequence: u64,
    },
    Tell {
        session: u8,
    },
    Acknowledge {
        number: u64,
    },
    Forget {
        session: u8,
    },
    Replay {
        sequence: u64,
    },
    Retain,
    Reopen,
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::{
        Acknowledge, Attempt, Defer, Forget, Freeze, Hold, Match, Park, Reopen, Replay, Retain,
        Retry, Settle, Store, Tell, Withdraw,
    };
    let batch = || 1..5_u64;
    prop_oneof![
        6 => (0..4_u8, 0..3_u8).prop_map(|(id, body)| Store { id, body }),
        6 => (any::<bool>(), prop::collection::vec(0..2_u8, 0..3))
            .prop_map(|(watch, sessions)| Match { watch, sessions }),
        3 => (1..3_usize).prop_map(|count| Freeze { count }),
        3 => batch().prop_map(|batch| Attempt { batch }),
        2 => batch().prop_map(|batch| Settle { batch }),
        2 => batch().prop_map(|batch| Defer { batch }),
        1 => batch().prop_map(|batch| Retry { batch }),
        1 => batch().prop_map(|batch| Hold { batch }),
        1 => batch().prop_map(|batch| Park { batch }),
        1 => (1..8_u64).prop_map(|sequence| Withdraw { sequence }),
        2 => (0..2_u8).prop_map(|session| Tell { session }),
        2 => (1..8_u64).prop_map(|number| Acknowledge { number }),
        1 => (0..2_u8).prop_map(|session| Forget { session }),
        1 => (1..8_u64).prop_map(|sequence| Replay { sequence }),
        1 => Just(Retain),
        1 => Just(Reopen),
    ]
}

#[derive(Clone, Debug, PartialEq)]
enum Place {
    Waiting,
    Batch(u64),
    Spawned(String),
    Failed,
    Withdrawn,
}

#[derive(Clone, Debug, PartialEq)]
enum Post {
    Waiting { number: u64, told: bool },
    Acknowledged,
    LeftOut,
    Gone,
}

#[derive(Clone, Debug)]
struct Row {
    id: u8,
    body: u8,
    relation: Relation,
    duplicates: u64,
    is_matched: bool,
    place: Option<Place>,
    posts: BTreeMap<u8, Post>,
    settled_ms: Option<u64>,
}

#[derive(Clone, Debug)]
struct ModelBatch {
    members: Vec<u64>,
    attempts: u32,
    /// How the last attempt ended is on record.
    is_ended: bool,
    /// It is tried again at its time.
    waits: bool,
    is_open: bool,
}

#[derive(Default)]
struct Model {
    rows: Vec<Row>,
    batches: Vec<ModelBatch>,
    numbers: u64,
}

impl Model {
    fn row(&mut self, sequence: u64) -> Option<&mut Row> {
        self.rows.get_mut(usize::try_from(sequence).unwrap().checked_sub(1)?)
    }

    fn store(&mut self, id: u8, body: u8) -> Stored {
        let find =
            |same: &dyn Fn(&Row) -> bool| self.rows.iter().position(same).map(|it| it as u64 + 1);
        if let Some(of) = find(&|it| it.id == id && it.body == body) {
            self.row(of).unwrap().duplicates += 1;
            return Stored::Duplicate { of };
        }
        let relation = match (find(&|it| it.id == id), find(&|it| it.body == body)) {
            (Some(of), _) => Relation::OtherBody(of),
            (None, Some(of)) => Relation::SameContent(of),
            (None, None) => Relation::New,
        };
        Stored::New(self.take_in(id, body, relation))
    }

    fn take_in(&mut self, id: u8, body: u8, relation: Relation) -> u64 {
        self.rows.push(Row {
            id,
            body,
            relation,
            duplicates: 0,
            is_matched: false,
            place: None,
            posts: BTreeMap::new(),
            settled_ms: None,
        });
        self.rows.len() as u64
    }

    fn places(&self, of: impl Fn(&Row) -> bool) -> Vec<u64> {
        let all = self.rows.iter().enumerate().filter(|(_, row)| of(row));
        all.map(|(place, _)| place as u64 + 1).collect()
    }

    fn unmatched(&self) -> Vec<u64> {
        self.places(|row| !row.is_matched)
    }

    fn waiting(&self) -> Vec<u64> {
        self.places(|row| row.place == Some(Place::Waiting))
    }

    fn queued(&self, session: u8) -> Vec<(u64, u64, bool)> {
        let of = |(place, row): (usize, &Row)| match row.posts.get(&session) {
            Some(Post::Waiting { number, told }) => Some((*number, place as u64 + 1, *told)),
            _ => None,
        };
        let mut queued: Vec<_> = self.rows.iter().enumerate().filter_map(of).collect();
        queued.sort_unstable();
        queued
    }

    fn open(&mut self, batch: u64) -> Option<&mut ModelBatch> {
        let place = usize::try_from(batch).unwrap().checked_sub(1)?;
        self.batches.get_mut(place).filter(|it| it.is_open)
    }

    /// Closes an attempted batch and puts its members somewhere.
    fn close(&mut self, batch: u64, needs_attempt: bool, place: &Place) -> bool {
        let Some(open) = self.open(batch) else { return false };
        if needs_attempt && open.attempts == 0 {
            return false;
        }
        open.is_open = false;
        let members = open.members.clone();
        for member in members {
            self.row(member).unwrap().place = Some(place.clone());
        }
        true
    }

    fn settle_rows(&mut self, now_ms: u64) {
        for row in &mut self.rows {
            let is_open = |it: &Place| matches!(it, Place::Waiting | Place::Batch(_));
            let is_waiting = |it: &Post| matches!(it, Post::Waiting { .. });
            let settled = row.is_matched
                && !row.place.as_ref().is_some_and(is_open)
                && !row.posts.values().any(is_waiting);
            if settled {
                row.settled_ms.get_or_insert(now_ms);
            }
        }
    }

    /// The most telling of a row's effects.
    fn shown(&self, row: &Row) -> String {
        let mut ranked: Vec<(u8, String)> = vec![(2, "declined".to_owned())];
        match &row.place {
            None => {}
            Some(Place::Waiting) => ranked.push((7, "waiting".to_owned())),
            Some(Place::Batch(batch)) => {
                let batch = &self.batches[usize::try_from(*batch).unwrap() - 1];
                let (rank, word) = if batch.waits { (7, "waiting") } else { (6, "matched") };
                ranked.push((rank, word.to_owned()));
            }
            Some(Place::Spawned(id)) => ranked.push((4, format!("spawned ({id})"))),
            Some(Place::Failed) => ranked.push((8, "failed".to_owned())),
            Some(Place::Withdrawn) => ranked.push((2, "declined".to_owned())),
        }
        for post in row.posts.values() {
            ranked.push(match post {
                Post::Waiting { .. } => (5, "waiting".to_owned()),
                Post::Acknowledged => (3, "delivered".to_owned()),
                Post::LeftOut => (8, "failed".to_owned()),
                Post::Gone => (2, "declined".to_owned()),
            });
        }
        let best = ranked.iter().map(|it| it.0).max().unwrap();
        if !row.is_matched {
            return "received".to_owned();
        }
        ranked.into_iter().find(|it| it.0 == best).unwrap().1
    }
}

fn reference(number: u8) -> SessionRef {
    session(&format!("alice-{number}"), &format!("id{number}"))
}

/// Does one operation with both, and compares what they say.
async fn step(rig: &mut Rig, model: &mut Model, operation: Operation, now_ms: u64) {
    let batch_id = |number| BatchId { inbox: 0, number };
    match operation {
        Operation::Store { id, body } => {
            let sent = incoming("github", &format!("d{id}"), &[body; 100], now_ms);
            assert_eq!(rig.store(sent).await, model.store(id, body));
        }
        Operation::Match { watch, sessions } => {
            let Some(sequence) = model.unmatched().first().copied() else { return };
            let sessions: BTreeSet<u8> = sessions.into_iter().collect();
            let mut expected = Vec::new();
            for number in &sessions {
                if model.queued(*number).len() as u64 >= QUEUE.messages {
                    model.numbers += 1;
                    model.row(sequence).unwrap().posts.insert(*number, Post::LeftOut);
                    expected.push(Enqueued::LeftOut);
                } else {
                    model.numbers += 1;
                    let post = Post::Waiting { number: model.numbers, told: false };
                    model.row(sequence).unwrap().posts.insert(*number, post);
                    expected.push(Enqueued::Queued(model.numbers));
                }
            }
            let row = model.row(sequence).unwrap();
            row.is_matched = true;
            row.place = watch.then_some(Place::Waiting);
            let done = rig.write(move |tx| {
                let mut done = Vec::new();
                for number in sessions {
                    let (to, meta) = (reference(number), json!({}));
                    done.push(tx.enqueue(sequence, &to, "text", &meta, QUEUE, now_ms)?);
                }
                if watch {
                    wait(tx, sequence, now_ms)?;
                } else {
                    decline(tx, sequence, now_ms)?;
                }
                Ok(done)
            });
            assert_eq!(done.await, expected);
        }
        Operation::Freeze { count } => {
            let members: Vec<u64> = model.waiting().into_iter().take(count).collect();
            let may = !members.is_empty() && !model.batches.iter().any(|it| it.is_open);
            let batch = new_batch(&members, now_ms);
            let frozen = rig.inbox().write(move |tx| tx.freeze(&batch)).await;
            assert_eq!(frozen.is_ok(), may, "{frozen:?}");
            if let Ok(id) = frozen {
                model.batches.push(ModelBatch {
                    members: members.clone(),
                    attempts: 0,
                    is_ended: true,
                    waits: false,
                    is_open: true,
                });
                assert_eq!(id.number, model.batches.len() as u64);
                for member in members {
                    model.row(member).unwrap().place = Some(Place::Batch(id.number));
                }
            }
        }
        Operation::Attempt { batch } => {
            let expected = model.open(batch).map(|it| {
                it.attempts += u32::from(it.is_ended);
                (it.is_ended, it.waits) = (false, false);
                it.attempts
            });
            let done = transition(rig, batch_id(batch), move |tx, id| tx.attempt(id, now_ms)).await;
            assert_eq!(done.ok(), expected);
        }
        Operation::Settle { batch } => {
            let session_id = format!("s{batch}");
            let expected = model.close(batch, true, &Place::Spawned(session_id.clone()));
            let done = transition(rig, batch_id(batch), move |tx, id| {
                tx.settle(id, &answer(&session_id), now_ms)
            });
            assert_eq!(done.await.is_ok(), expected);
        }
        Operation::Defer { batch } => {
            let expected = model.close(batch, true, &Place::Waiting);
            let done = transition(rig, batch_id(batch), move |tx, id| tx.defer(id, 0, now_ms));
            assert_eq!(done.await.is_ok(), expected);
        }
        Operation::Hold { batch } => {
            let open = model.open(batch).filter(|it| it.attempts > 0);
            let expected = open.is_some();
            if let Some(open) = open {
                open.waits = true;
            }
            let done = transition(rig, batch_id(batch), move |tx, id| {
                tx.hold(id, now_ms + 9, "exit 74", now_ms)
            });
            assert_eq!(done.await.is_ok(), expected);
        }
        Operation::Retry { batch } => {
            let open = model.open(batch).filter(|it| it.attempts > 0);
            let expected = open.is_some();
            if let Some(open) = open {
                (open.is_ended, open.waits) = (true, true);
            }
            let done = transition(rig, batch_id(batch), move |tx, id| {
                tx.retry_at(id, now_ms + 9, "exit 1", now_ms)
            });
            assert_eq!(done.await.is_ok(), expected);
        }
        Operation::Park { batch } => {
            let expected = model.close(batch, false, &Place::Failed);
            let done = transition(rig, batch_id(batch), move |tx, id| tx.park(id, "why", now_ms));
            assert_eq!(done.await.is_ok(), expected);
        }
        Operation::Withdraw { sequence } => {
            let row = model.row(sequence).filter(|it| it.place == Some(Place::Waiting));
            let expected = row.is_some();
            if let Some(row) = row {
                row.place = Some(Place::Withdrawn);
            }
            let done = rig.inbox().write(move |tx| tx.withdraw(sequence, "why", now_ms)).await;
            assert_eq!(done.is_ok(), expected, "{done:?}");
        }
        Operation::Tell { session } => {
            let queued = model.queued(session);
            let numbers: Vec<u64> = queued.iter().map(|it| it.0).collect();
            for (number, sequence, _) in queued {
                let told = Post::Waiting { number, told: true };
                model.row(sequence).unwrap().posts.insert(session, told);
            }
            rig.write(move |tx| tx.told(&numbers, now_ms)).await;
        }
        Operation::Acknowledge { number } => {
            for row in &mut model.rows {
                for post in row.posts.values_mut() {
                    if matches!(post, Post::Waiting { number: it, .. } if *it == number) {
                        *post = Post::Acknowledged;
                    }
                }
            }
            rig.write(move |tx| tx.acknowledge(&[number], now_ms)).await;
        }
        Operation::Forget { session } => {
            let queued = model.queued(session);
            for (_, sequence, _) in &queued {
                model.row(*sequence).unwrap().posts.insert(session, Post::Gone);
            }
            let id = format!("id{session}");
            let gone = rig.write(move |tx| tx.forget_session(&id, now_ms)).await;
            assert_eq!(gone, queued.len() as u64);
        }
        Operation::Replay { sequence } => {
            let row = model.row(sequence).filter(|it| it.settled_ms.is_some()).cloned();
            let expected = row.map(|it| model.take_in(it.id, it.body, Relation::Replay(sequence)));
            let done = rig.inbox().write(move |tx| tx.replay(sequence, now_ms)).await;
            assert_eq!(done.ok(), expected);
        }
        Operation::Retain => {
            // Everything is younger than what must be remembered.
            let retention = agent_box_webhook::inbox::Retention::default();
            let removed = rig.write(move |tx| tx.retain(now_ms, &retention)).await;
            assert_eq!((removed.deliveries, removed.bodies), (0, 0));
        }
        Operation::Reopen => rig.reopen(),
    }
}

async fn transition<T: Send + 'static>(
    rig: &Rig,
    batch: BatchId,
    job: impl FnOnce(&mut agent_box_webhook::inbox::Tx<'_>, BatchId) -> Result<T, InboxError>
    + Send
    + 'static,
) -> Result<T, InboxError> {
    let id = BatchId { inbox: rig.inbox().id(), ..batch };
    rig.inbox().write(move |tx| job(tx, id)).await
}

async fn compare(rig: &Rig, model: &Model) {
    let all = rig.inbox().read(|look| look.list(&Criteria::default(), 999)).await.unwrap();
    assert_eq!(all.len(), model.rows.len());
    for (delivery, row) in all.iter().rev().zip(&model.rows) {
        let place = delivery.sequence;
        assert_eq!(delivery.relation, row.relation, "#{place}");
        assert_eq!(delivery.duplicates, row.duplicates, "#{place}");
        assert_eq!(delivery.settled_ms, row.settled_ms, "#{place}");
        let (shown, expected) = (delivery.state.to_string(), model.shown(row));
        assert!(shown.starts_with(&expected), "#{place}: {shown}, expected {expected}");
        assert_eq!(
            row.settled_ms.is_none() && delivery.state == DeliveryState::Received,
            !row.is_matched,
            "#{place}"
        );
    }
    let unmatched = rig.inbox().read(|look| look.unmatched(999)).await.unwrap();
    let unmatched: Vec<u64> = unmatched.iter().map(|it| it.delivery.sequence).collect();
    assert_eq!(unmatched, model.unmatched());

    let lanes: Vec<Lane> = rig.inbox().read(Look::lanes).await.unwrap();
    let waiting = lanes.iter().flat_map(|lane| &lane.waiting).map(|it| it.sequence);
    assert_eq!(waiting.collect::<Vec<u64>>(), model.waiting());
    let frozen = rig.inbox().read(Look::unsettled_batches).await.unwrap();
    let expected = model.batches.iter().enumerate().filter(|(_, it)| it.is_open);
    let expected: Vec<(u64, Vec<u64>, u32)> =
        expected.map(|(place, it)| (place as u64 + 1, it.members.clone(), it.attempts)).collect();
    let frozen: Vec<(u64, Vec<u64>, u32)> =
        frozen.into_iter().map(|it| (it.id.number, it.members, it.attempts)).collect();
    assert_eq!(frozen, expected);
    let next = model.batches.len() as u64 + 1;
    let lowest = rig.inbox().read(Look::lowest_unsettled).await.unwrap();
    assert_eq!(lowest.number, expected.first().map_or(next, |it| it.0));

    for number in 0..2 {
        let to = reference(number);
        let pending = rig.inbox().read(move |look| look.pending(&to, None, 99)).await.unwrap();
        let pending =
            pending.into_iter().map(|it: Message| (it.number, it.sequence, it.is_repeated));
        assert_eq!(pending.collect::<Vec<_>>(), model.queued(number));
    }
    let unsettled = model.rows.iter().filter(|row| row.settled_ms.is_none()).count() as u64;
    let counters = rig.inbox().read(Look::counters).await.unwrap();
    assert_eq!((counters.unsettled, counters.unsettled_bytes), (unsettled, unsettled * 100));
}

/// Random operations with both, comparing after each.
pub(crate) fn compare_both(cases: u32) {
    let config = ProptestConfig {
        cases,
        max_shrink_iters: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let operations = prop::collection::vec(operation(), 1..60);
    let run = |operations: Vec<Operation>| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut rig = Rig::with(LIMITS);
            let mut model = Model::default();
            for (number, operation) in operations.into_iter().enumerate() {
                let now_ms = number as u64 + 1;
                step(&mut rig, &mut model, operation, now_ms).await;
                model.settle_rows(now_ms);
                compare(&rig, &model).await;
            }
        });
        Ok(())
    };
    TestRunner::new(config).run(&operations, run).unwrap();
}

// More cases are in the slow tests.
#[test]
fn it_does_what_a_simple_model_does() {
    compare_both(6);
}
