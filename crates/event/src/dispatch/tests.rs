//! Windows, cap, turns and budgets at their edges, and a whole day's run without a loss.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::Budget;

const T: u64 = 1_000_000_000;

fn lane(key: &str, waiting: &[(u64, &str)]) -> Lane {
    let member = |(sequence, sender): &(u64, &str)| Member {
        sequence: *sequence,
        received_ms: T + sequence,
        sender: (!sender.is_empty()).then(|| (*sender).to_owned()),
    };
    Lane {
        topic: Topic::parse(&format!("github:{key}")).unwrap(),
        waiting: waiting.iter().map(member).collect(),
        started_ms: None,
        is_running: false,
        not_before_ms: 0,
    }
}

/// `key=members` of each batch.
fn batches(dispatch: &Dispatch) -> Vec<String> {
    let shown = |it: &Batch| format!("{}={:?}", it.topic.key().as_str(), it.members);
    dispatch.batches.iter().map(shown).collect()
}

#[test]
fn the_first_event_starts_at_once_and_a_window_coalesces_the_next() {
    let limits = Limits::default();
    let first = dispatch(&[lane("a", &[(2, ""), (1, "")])], 0, &[], &limits, T);
    assert_eq!(batches(&first), ["a=[1, 2]"], "in order of arrival");
    assert_eq!(first.wake_ms(), None);
    let mut next = lane("a", &[(3, "")]);
    next.started_ms = Some(T);
    let end = T + limits.window_ms;
    let held = dispatch(std::slice::from_ref(&next), 0, &[], &limits, end - 1);
    assert_eq!(held.held[0].hold, Hold::Window(end));
    assert_eq!((held.batches.len(), held.wake_ms()), (0, Some(end)));
    for now in [end, end + 1] {
        assert_eq!(batches(&dispatch(std::slice::from_ref(&next), 0, &[], &limits, now)).len(), 1);
    }
}

#[test]
fn a_failed_attempt_and_a_running_batch_hold_their_own_lane_only() {
    let limits = Limits::default();
    let mut failed = lane("a", &[(1, "")]);
    failed.not_before_ms = T;
    let mut running = lane("b", &[(2, "")]);
    running.is_running = true;
    let lanes = [failed, running, lane("c", &[(3, "")])];
    let before = dispatch(&lanes, 0, &[], &limits, T - 1);
    assert_eq!(batches(&before), ["c=[3]"]);
    assert_eq!(before.held[0].hold, Hold::Retry(T));
    assert_eq!(before.held[1].hold, Hold::Running);
    for now in [T, T + 1] {
        assert_eq!(batches(&dispatch(&lanes, 0, &[], &limits, now)), ["a=[1]", "c=[3]"]);
    }
}

#[test]
fn at_the_cap_everything_waits_and_a_free_slot_goes_to_whose_turn_it_is() {
    let limits = Limits { cap: 2, ..Limits::default() };
    let mut busy = lane("busy", &[(1, "")]);
    busy.started_ms = Some(T + 3);
    let lanes = [busy, lane("late", &[(4, "")]), lane("early", &[(2, "")])];
    let now = T + 100_000;
    for (in_use, expected) in
        [(3, &[] as &[&str]), (2, &[]), (1, &["early=[2]"]), (0, &["early=[2]", "busy=[1]"])]
    {
        let result = dispatch(&lanes, in_use, &[], &limits, now);
        assert_eq!(batches(&result), expected, "{in_use}");
        assert!(result.held.iter().all(|held| held.hold == Hold::Cap));
        assert_eq!(result.held.len() + result.batches.len(), 3);
    }
}

#[test]
fn a_sender_without_budget_holds_back_its_own_events_only() {
    let budgets = Budgets { per_sender: Some(1), ..Budgets::default() };
    let limits = Limits { budgets, ..Limits::default() };
    let lanes = [
        lane("a", &[(1, "joe"), (2, "ann"), (3, "joe")]),
        lane("b", &[(4, "joe"), (5, "bob"), (6, "Joe")]),
    ];
    let result = dispatch(&lanes, 0, &[], &limits, T);
    assert_eq!(batches(&result), ["a=[1, 2, 3]", "b=[5]"]);
    assert_eq!(result.held.len(), 1);
    assert_eq!(result.held[0].members, [4, 6]);
    let Hold::Budget(exhausted) = result.held[0].hold else { panic!("{:?}", result.held) };
    assert_eq!(exhausted.budget, Budget::Sender);
    assert_eq!(result.wake_ms(), Some(T + 24 * 3_600_000));
}

fn lanes() -> impl Strategy<Value = Vec<Lane>> {
    let member = (0..200_000_u64, prop::option::of("[ab]"));
    let lane = (
        prop::collection::vec(member, 0..6),
        prop::option::of(0..200_000_u64),
        any::<bool>(),
        0..200_000_u64,
    );
    prop::collection::vec(lane, 0..6).prop_map(|lanes| {
        let mut sequence = 0;
        let mut place = || {
            sequence += 1;
            sequence
        };
        let lane = |(index, (waiting, started_ms, is_running, not_before_ms))| {
            let waiting: Vec<(u64, Option<String>)> = waiting;
            let waiting = waiting.into_iter().map(|(received_ms, sender)| Member {
                sequence: place(),
                received_ms,
                sender,
            });
            let waiting = waiting.collect();
            let topic = Topic::parse(&format!("github:k{index}")).unwrap();
            Lane { topic, waiting, started_ms, is_running, not_before_ms }
        };
        lanes.into_iter().enumerate().map(lane).collect()
    })
}

proptest! {
    #[test]
    fn every_event_is_started_or_held_exactly_once(
        lanes in lanes(),
        in_use in 0..5_usize,
        cap in 0..5_usize,
        per_sender in prop::option::of(0..3_usize),
        now in 0..200_000_u64,
    ) {
        let budgets = Budgets { per_sender, ..Budgets::default() };
        let limits = Limits { cap, budgets, ..Limits::default() };
        let result = dispatch(&lanes, in_use, &[], &limits, now);
        let mut seen: Vec<u64> = Vec::new();
        for batch in &result.batches {
            prop_assert!(batch.members.is_sorted() && !batch.members.is_empty());
            seen.extend(&batch.members);
        }
        seen.extend(result.held.iter().flat_map(|held| &held.members));
        seen.sort_unstable();
        let all = lanes.iter().flat_map(|lane| &lane.waiting).map(|it| it.sequence);
        prop_assert_eq!(seen, all.collect::<Vec<_>>());
        prop_assert!(result.batches.len() <= cap.saturating_sub(in_use));
        prop_assert!(result.wake_ms().is_none_or(|wake| wake > now));
    }

    #[test]
    fn every_waiting_lane_gets_its_turn(lanes in lanes(), flood in 0..4_usize) {
        // One slot, freed at every step, while new keys and new events of the old ones keep
        // arriving: who waited first is served within as many steps as there were lanes.
        let limits = Limits { cap: 1, window_ms: 0, ..Limits::default() };
        let mut lanes = lanes;
        for lane in &mut lanes {
            (lane.is_running, lane.not_before_ms) = (false, 0);
        }
        let mut waiting: BTreeSet<u64> =
            lanes.iter().flat_map(|lane| &lane.waiting).map(|it| it.sequence).collect();
        let first = lanes.len();
        for step in 0..first as u64 {
            let now = 300_000 + step;
            for lane in &mut lanes {
                lane.waiting.push(Member { sequence: now, received_ms: now, sender: None });
            }
            for n in 0..flood {
                let mut new = lane(&format!("new-{step}-{n}"), &[(1_000 + step, "")]);
                new.waiting[0].received_ms = now;
                lanes.push(new);
            }
            for batch in dispatch(&lanes, 0, &[], &limits, now).batches {
                let lane = lanes.iter_mut().find(|it| it.topic == batch.topic).unwrap();
                lane.waiting.clear();
                lane.started_ms = Some(now);
                for place in batch.members {
                    waiting.remove(&place);
                }
            }
        }
        prop_assert!(waiting.is_empty(), "{:?}", waiting);
    }
}
