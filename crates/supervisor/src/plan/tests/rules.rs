//! Each rule with its edge, in one session.

use agent_box_session::{
    Backoff, Ending, LaunchState, SessionSpec, Trouble, TroubleKind, Unusable,
};

use super::*;
use crate::plan::{Action, EndReason, Plan, plan};

/// What is planned for session 1 with this entry.
fn planned(entry: Entry, observed: &Observed) -> Plan {
    plan(&Known::Known(intent(vec![(name(1), entry)])), observed, at(NOW))
}

fn check(entry: Entry, observed: &Observed, expect: &[Action]) {
    assert_eq!(planned(entry, observed).actions, expect);
}

fn start(generation: u64, base: Option<(u128, LaunchState)>) -> Action {
    let base = base.map(|(which, state)| (launch(which), state));
    Action::Start { session: session(1), generation, base }
}

fn end(which: u128, reason: EndReason) -> Action {
    Action::End { session: session(1), launch: launch(which), reason }
}

#[test]
fn a_wanted_session_without_a_launch_is_started() {
    check(entry(1, 1), &observed(vec![], vec![]), &[start(1, None)]);
}

#[test]
fn a_live_wanted_session_is_left_alone() {
    let seen = observed(vec![terminal(1, 1)], vec![live(record(1, 1, 1, starting()))]);
    check(entry(1, 1), &seen, &[]);
}

#[test]
fn a_stopped_session_is_neither_started_nor_kept() {
    let stopped = Entry { stopped: true, ..entry(1, 2) };
    check(stopped.clone(), &observed(vec![], vec![]), &[]);
    let seen = observed(vec![terminal(1, 1)], vec![live(record(1, 1, 1, starting()))]);
    check(stopped.clone(), &seen, &[end(1, EndReason::Stopped)]);
    let without_terminal = observed(vec![], vec![live(record(1, 1, 1, starting()))]);
    check(stopped, &without_terminal, &[end(1, EndReason::Stopped)]);
}

#[test]
fn an_unlisted_session_of_ours_is_ended_and_a_stranger_is_not() {
    let nothing = Known::Known(intent(vec![]));
    let seen = observed(vec![terminal(1, 1), untagged(2)], vec![]);
    let expect = [end(1, EndReason::NotListed)];
    assert_eq!(plan(&nothing, &seen, at(NOW)).actions, expect);
}

#[test]
fn an_id_with_a_tombstone_is_ended_although_it_is_listed() {
    let mut intent = intent(vec![(name(1), entry(1, 1))]);
    intent.removed.insert(session(1));
    intent.unsettled = true;
    let seen = observed(vec![terminal(1, 1)], vec![live(record(1, 1, 1, starting()))]);
    let plan = plan(&Known::Known(intent), &seen, at(NOW));
    assert_eq!(plan.actions, [Action::Settle, end(1, EndReason::NotListed)]);
}

#[test]
fn an_unusable_entry_leaves_what_runs_alone() {
    let unusable =
        Unusable { key: "s1".to_owned(), id: Some(session(1)), reason: "no object".to_owned() };
    let intent =
        Intent { registry: Registry::from_parts(Vec::new(), vec![unusable]), ..intent(Vec::new()) };
    let seen = observed(vec![terminal(1, 1)], vec![live(record(1, 1, 1, starting()))]);
    assert_eq!(plan(&Known::Known(intent), &seen, at(NOW)).actions, []);
}

#[test]
fn a_newer_intent_ends_the_launch_and_then_starts_without_waiting() {
    let old = record(1, 1, 1, starting());
    let seen = observed(vec![terminal(1, 1)], vec![live(old.clone())]);
    check(entry(1, 2), &seen, &[end(1, EndReason::OlderGeneration)]);
    check(entry(1, 2), &observed(vec![], vec![gone(old)]), &[start(2, Some((1, starting())))]);
    for ending in [Ending::PostMortem, Ending::Parked, Ending::Respawn] {
        let state = ended(ending, NOW - 1, NOW - 1);
        let mut record = record(1, 1, 1, state.clone());
        record.quick_deaths = Backoff::LIMIT;
        check(entry(1, 2), &observed(vec![], vec![gone(record)]), &[start(2, Some((1, state)))]);
    }
}

#[test]
fn a_terminal_of_a_replaced_launch_is_ended() {
    let seen = observed(vec![terminal(1, 1)], vec![live(record(1, 2, 1, starting()))]);
    check(entry(1, 1), &seen, &[end(1, EndReason::OlderGeneration)]);
}

#[test]
fn a_launch_without_terminal_is_ended_first() {
    let seen = observed(vec![], vec![live(record(1, 1, 1, starting()))]);
    check(entry(1, 1), &seen, &[end(1, EndReason::NoTerminal)]);
}

#[test]
fn what_a_dead_launcher_left_is_ended_first() {
    let left = LaunchView { leftovers: true, ..gone(record(1, 1, 1, starting())) };
    check(entry(1, 1), &observed(vec![], vec![left]), &[end(1, EndReason::NoLauncher)]);
}

#[test]
fn a_launch_is_gone_only_when_lock_launcher_and_processes_say_so() {
    let base = gone(record(1, 1, 1, starting()));
    check(entry(1, 1), &observed(vec![], vec![base.clone()]), &[start(1, Some((1, starting())))]);
    let held = LaunchView { lock_free: false, ..base };
    check(entry(1, 1), &observed(vec![], vec![held]), &[]);
}

#[test]
fn a_clean_end_is_parked_and_a_failed_one_is_shown() {
    let parked = record(1, 1, 1, ended(Ending::Parked, NOW - 9000, NOW - 5000));
    let park = Action::Park { session: session(1), generation: 1 };
    check(entry(1, 1), &observed(vec![], vec![gone(parked)]), &[park]);
    let failed = record(1, 1, 1, ended(Ending::PostMortem, NOW - 9000, NOW - 5000));
    let show = Action::ShowPostMortem { session: session(1), launch: launch(1) };
    check(entry(1, 1), &observed(vec![], vec![gone(failed.clone())]), &[show]);
    // Shown already: it stays for whoever comes to look.
    check(entry(1, 1), &observed(vec![terminal(1, 1)], vec![live(failed)]), &[]);
}

#[test]
fn a_terminal_may_outlive_its_launch_for_one_second() {
    for (passed, lingers) in [(999, false), (1000, true), (1001, true)] {
        let state = ended(Ending::Respawn, NOW - 9000, NOW - passed);
        let seen = observed(vec![terminal(1, 1)], vec![live(record(1, 1, 1, state))]);
        let plan = planned(entry(1, 1), &seen);
        let expect: &[Action] = if lingers { &[end(1, EndReason::Lingers)] } else { &[] };
        assert_eq!(plan.actions, expect, "{passed}");
        assert_eq!(plan.wake.is_some(), !lingers, "{passed}");
    }
}

#[test]
fn a_terminal_whose_launcher_was_killed_unnoticed_is_ended() {
    let failed = ended(Ending::PostMortem, NOW - 9000, NOW - 5000);
    for state in [LaunchState::Prepared, starting(), failed] {
        let dead = LaunchView { lock_free: false, ..gone(record(1, 1, 1, state)) };
        let seen = observed(vec![terminal(1, 1)], vec![dead]);
        check(entry(1, 1), &seen, &[end(1, EndReason::NoLauncher)]);
    }
}

/// Nothing at `due - 1`, but a wake-up for `due`; a start at `due` and at `due + 1`.
fn check_due(view: &LaunchView, attempts: &[(u64, u64)], due: u64) {
    for (now, starts) in [(due - 1, false), (due, true), (due + 1, true)] {
        let mut seen = observed(vec![], vec![view.clone()]);
        for (generation, attempt) in attempts {
            seen.attempts.insert(session(1), (*generation, at(*attempt)));
        }
        let plan = plan(&Known::Known(intent(vec![(name(1), entry(1, 1))])), &seen, at(now));
        assert_eq!(plan.actions.len(), usize::from(starts), "{now} of {due}: {plan:?}");
        assert_eq!(plan.wake, (!starts).then_some(at(due)), "{now} of {due}");
    }
}

#[test]
fn a_respawn_waits_exactly_as_long_as_its_deaths_say() {
    for (deaths, delay) in [(0, 1000), (1, 1000), (2, 2000), (3, 4000), (4, 8000)] {
        let mut record = record(1, 1, 1, ended(Ending::Respawn, NOW - 500, NOW));
        record.quick_deaths = deaths;
        check_due(&gone(record), &[], NOW + delay);
    }
}

#[test]
fn an_interrupted_or_unfinished_launch_is_one_second_apart_from_the_next() {
    let interrupted = record(1, 1, 1, ended(Ending::Interrupted, NOW, NOW + 300));
    check_due(&gone(interrupted), &[], NOW + 1000);
    let unfinished = record(1, 1, 1, starting());
    check_due(&gone(unfinished), &[], NOW - 4000);
    let mut prepared = record(1, 1, 1, LaunchState::Prepared);
    prepared.prepared = at(NOW);
    check_due(&gone(prepared), &[], NOW + 1000);
}

#[test]
fn one_session_is_not_given_to_tmux_twice_within_a_second() {
    let interrupted = record(1, 1, 1, ended(Ending::Interrupted, NOW - 9000, NOW - 9000));
    check_due(&gone(interrupted.clone()), &[(1, NOW)], NOW + 1000);
    // An attempt for an older intent holds up nothing.
    let mut seen = observed(vec![], vec![gone(interrupted)]);
    seen.attempts.insert(session(1), (1, at(NOW)));
    assert_eq!(planned(entry(1, 2), &seen).actions.len(), 1);
}

#[test]
fn five_quick_deaths_are_held_until_somebody_asks() {
    let state = ended(Ending::Respawn, NOW - 900_001, NOW - 900_000);
    let mut record = record(1, 1, 1, state);
    record.quick_deaths = Backoff::LIMIT;
    let plan = planned(entry(1, 1), &observed(vec![], vec![gone(record)]));
    assert_eq!(plan, Plan::default());
}

#[test]
fn trouble_is_tried_again_later_and_later() {
    for (attempts, delay) in [(1, 1000), (2, 2000), (6, 32_000), (7, 60_000), (40, 60_000)] {
        let mut record = record(1, 1, 1, LaunchState::Prepared);
        record.trouble = Some(Trouble {
            kind: TroubleKind::NotInstalled,
            text: "not installed".to_owned(),
            at: at(NOW),
            attempts,
        });
        check_due(&gone(record), &[], NOW + delay);
    }
}

#[test]
fn a_clock_that_was_set_back_holds_up_nothing() {
    let state = ended(Ending::Respawn, NOW + 900_000, NOW + 900_000);
    let seen = observed(vec![], vec![gone(record(1, 1, 1, state.clone()))]);
    check(entry(1, 1), &seen, &[start(1, Some((1, state)))]);
}

#[test]
fn a_taken_name_is_adopted_with_proof_and_reported_once_without() {
    let mut holder = untagged(1);
    holder.conversation = Some("c".to_owned());
    let mut wanted = entry(1, 1);
    wanted.conversation = Some("c".to_owned());
    let adopt = Action::Adopt { session: session(1), tmux_id: "$99".to_owned(), pane_pid: 7 };
    check(wanted.clone(), &observed(vec![holder.clone()], vec![]), &[adopt]);

    holder.foreign = true;
    let plan = planned(wanted, &observed(vec![holder], vec![]));
    assert!(
        matches!(&plan.actions[..], [Action::Report { kind: TroubleKind::NameTaken, .. }]),
        "{plan:?}"
    );
    let known = LaunchRecord {
        trouble: Some(Trouble {
            kind: TroubleKind::NameTaken,
            text: String::new(),
            at: at(NOW - 1),
            attempts: 1,
        }),
        ..record(1, 1, 1, LaunchState::Prepared)
    };
    check(entry(1, 1), &observed(vec![untagged(1)], vec![gone(known)]), &[]);
}

#[test]
fn a_name_held_by_another_session_of_ours_is_waited_for_and_said() {
    let mut holder = terminal(2, 2);
    name(1).as_str().clone_into(&mut holder.name);
    let entries = vec![(name(1), entry(1, 1)), (name(2), entry(2, 1))];
    let seen = observed(vec![holder], vec![live(record(2, 2, 1, starting()))]);
    let plan = plan(&Known::Known(intent(entries)), &seen, at(NOW));
    assert!(plan.wake.is_some());
    // It shall run on under its own name: only a person can have renamed its terminal.
    let [Action::Report { session: told, text, .. }] = &plan.actions[..] else {
        panic!("{plan:?}")
    };
    assert_eq!(*told, session(1));
    assert!(text.contains(&format!("session `{}`", name(2))), "{text}");
}

#[test]
fn a_name_held_by_a_session_that_is_being_ended_is_waited_for() {
    let mut holder = terminal(2, 2);
    name(1).as_str().clone_into(&mut holder.name);
    let seen = observed(vec![holder], vec![live(record(2, 2, 1, starting()))]);
    let plan = plan(&Known::Known(intent(vec![(name(1), entry(1, 1))])), &seen, at(NOW));
    assert!(matches!(&plan.actions[..], [Action::End { .. }]), "{plan:?}");
    assert!(plan.wake.is_some());
}

#[test]
fn a_copied_entry_is_settled_before_it_is_started() {
    let entries = vec![(name(1), entry(1, 1)), (name(2), entry(1, 1))];
    let intent = Intent { unsettled: true, ..intent(entries) };
    let plan = plan(&Known::Known(intent), &observed(vec![], vec![]), at(NOW));
    assert_eq!(plan.actions, [Action::Settle]);
}

#[test]
fn an_entry_without_id_is_settled_before_it_is_started() {
    let nameless = Entry { id: None, ..Entry::new(session(1), SessionSpec::new(Agent::Shell)) };
    let intent = Intent { unsettled: true, ..intent(vec![(name(1), nameless)]) };
    let plan = plan(&Known::Known(intent), &observed(vec![], vec![]), at(NOW));
    assert_eq!(plan.actions, [Action::Settle]);
}

#[test]
fn while_an_entry_has_no_id_nothing_is_ended_for_not_being_listed() {
    let nameless = Entry { id: None, ..Entry::new(session(1), SessionSpec::new(Agent::Shell)) };
    let intent = Intent { unsettled: true, ..intent(vec![(name(1), nameless)]) };
    let seen = observed(vec![terminal(1, 1)], vec![live(record(1, 1, 1, starting()))]);
    let plan = plan(&Known::Known(intent), &seen, at(NOW));
    assert_eq!(plan.actions, [Action::Settle]);
}

#[test]
fn an_unreadable_record_stops_only_its_own_session() {
    let mut seen = observed(vec![], vec![]);
    seen.launches.insert(
        session(1),
        LaunchView {
            record: Known::Unknown("torn".to_owned()),
            ..gone(record(1, 1, 1, LaunchState::Prepared))
        },
    );
    let entries = vec![(name(1), entry(1, 1)), (name(2), entry(2, 1))];
    let plan = plan(&Known::Known(intent(entries)), &seen, at(NOW));
    let other = Action::Start { session: session(2), generation: 1, base: None };
    assert_eq!(plan.actions, [other]);
}

#[test]
fn a_busy_session_gets_nothing_new() {
    let mut seen = observed(vec![], vec![]);
    seen.busy.insert(session(1));
    check(entry(1, 1), &seen, &[]);
    let mut seen = observed(vec![terminal(1, 1)], vec![live(record(1, 1, 1, starting()))]);
    seen.busy.insert(session(1));
    check(Entry { stopped: true, ..entry(1, 2) }, &seen, &[]);
}
