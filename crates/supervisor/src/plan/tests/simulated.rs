//! Whatever the world looks like: what no plan ever does, and that carrying plans out ends.

use agent_box_session::{Trouble, TroubleKind};
use proptest::prelude::*;

use super::*;
use crate::plan::{Action, EndReason, plan};

/// How one session stands in the generated world.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of the generated world")]
struct Case {
    listed: bool,
    stopped: bool,
    removed: bool,
    generation: u64,
    record: Option<(u128, u64, LaunchState, u32, bool)>,
    readable: bool,
    proof: (bool, bool, bool),
    terminals: Vec<u128>,
    stranger: Option<(bool, bool)>,
    busy: bool,
    attempt: Option<(u64, u64)>,
}

fn a_state() -> impl Strategy<Value = LaunchState> {
    let time = || NOW - 70_000..NOW + 70_000;
    let ending = prop_oneof![
        Just(Ending::Parked),
        Just(Ending::Interrupted),
        Just(Ending::PostMortem),
        Just(Ending::Respawn)
    ];
    prop_oneof![
        Just(LaunchState::Prepared),
        Just(starting()),
        (ending, time(), time()).prop_map(|(ending, begun, over)| ended(
            ending,
            begun.min(over),
            begun.max(over)
        )),
    ]
}

fn a_case() -> impl Strategy<Value = Case> {
    let rarely = || prop::bool::weighted(0.15);
    let record = (1_u128..3, 1_u64..4, a_state(), 0_u32..6, rarely());
    (
        (prop::bool::weighted(0.8), rarely(), rarely(), 1_u64..4),
        prop::option::of(record),
        prop::bool::weighted(0.9),
        any::<(bool, bool, bool)>(),
        prop::collection::vec(1_u128..3, 0..2),
        prop::option::weighted(0.2, any::<(bool, bool)>()),
        rarely(),
        prop::option::weighted(0.3, (1_u64..4, NOW - 2000..NOW)),
    )
        .prop_map(|(wish, record, readable, proof, terminals, stranger, busy, attempt)| {
            let (listed, stopped, removed, generation) = wish;
            Case {
                listed,
                stopped,
                removed,
                generation,
                record,
                readable,
                proof,
                terminals,
                stranger,
                busy,
                attempt,
            }
        })
}

fn worlds() -> impl Strategy<Value = (Intent, Observed)> {
    (prop::collection::vec(a_case(), 0..4), prop::bool::weighted(0.9)).prop_map(
        |(cases, answered)| {
            let mut intent = intent(Vec::new());
            let mut seen = observed(Vec::new(), Vec::new());
            let mut entries = Vec::new();
            let mut terminals = Vec::new();
            for (case, number) in cases.into_iter().zip(1..) {
                add_case(number, case, &mut intent, &mut seen, &mut entries, &mut terminals);
            }
            intent.registry = Registry::from_parts(entries, Vec::new());
            intent.unsettled = !intent.removed.is_empty();
            seen.terminals = if answered {
                Known::Known(terminals)
            } else {
                Known::Unknown("timed out".to_owned())
            };
            (intent, seen)
        },
    )
}

fn add_case(
    number: u128,
    case: Case,
    intent: &mut Intent,
    seen: &mut Observed,
    entries: &mut Vec<(SessionName, Entry)>,
    terminals: &mut Vec<Terminal>,
) {
    let id = session(number);
    let which = |launch: u128| number * 10 + launch;
    if case.listed {
        let mut entry = Entry { stopped: case.stopped, ..entry(number, case.generation) };
        entry.conversation = Some(format!("c{number}"));
        entries.push((name(number), entry));
        if case.removed {
            intent.removed.insert(id);
        }
    }
    if let Some((launch, generation, state, deaths, troubled)) = case.record {
        let mut record = record(number, which(launch), generation, state);
        record.quick_deaths = deaths;
        record.trouble = troubled.then(|| Trouble {
            kind: TroubleKind::StartFailed,
            text: "no".to_owned(),
            at: at(NOW - 500),
            attempts: 2,
        });
        let (lock_free, launcher_alive, leftovers) = case.proof;
        let known = Known::Known(record);
        let record = if case.readable { known } else { Known::Unknown("torn".to_owned()) };
        let view = LaunchView { record, lock_free, launcher_alive, leftovers };
        seen.launches.insert(id, view);
    }
    terminals.extend(case.terminals.iter().map(|launch| terminal(number, which(*launch))));
    if let Some((foreign, matches)) = case.stranger
        && case.terminals.is_empty()
    {
        let conversation = matches.then(|| format!("c{number}"));
        terminals.push(Terminal { foreign, conversation, ..untagged(number) });
    }
    if case.busy {
        seen.busy.insert(id);
    }
    if let Some((generation, attempt)) = case.attempt {
        seen.attempts.insert(id, (generation, at(attempt)));
    }
}

fn terminals_of(seen: &Observed, id: SessionId) -> usize {
    let all = seen.terminals.known().into_iter().flatten();
    all.filter(|terminal| terminal.session == Some(id)).count()
}

proptest! {
    #[test]
    fn plans_are_the_same_for_the_same_world((intent, seen) in worlds()) {
        let again = plan(&Known::Known(intent.clone()), &seen.clone(), at(NOW));
        prop_assert_eq!(plan(&Known::Known(intent), &seen, at(NOW)), again);
    }

    #[test]
    fn a_session_gets_one_action_at_most((intent, seen) in worlds()) {
        let plan = plan(&Known::Known(intent), &seen, at(NOW));
        let mut about: Vec<_> = plan.actions.iter().map(Action::session).collect();
        about.sort();
        let all = about.len();
        about.dedup();
        prop_assert_eq!(about.len(), all);
    }

    #[test]
    fn an_unreadable_registry_leads_to_nothing((_, seen) in worlds()) {
        let plan = plan(&Known::Unknown("torn".to_owned()), &seen, at(NOW));
        prop_assert_eq!(plan.actions, vec![]);
    }

    #[test]
    fn a_silent_tmux_leads_to_no_start_and_no_orphan((intent, seen) in worlds()) {
        let seen = Observed { terminals: Known::Unknown("timed out".to_owned()), ..seen };
        for action in plan(&Known::Known(intent), &seen, at(NOW)).actions {
            let harmless = !matches!(
                action,
                Action::Start { .. }
                    | Action::ShowPostMortem { .. }
                    | Action::Adopt { .. }
                    | Action::Report { .. }
                    | Action::End { reason: EndReason::NoTerminal | EndReason::Lingers, .. }
            );
            prop_assert!(harmless, "{:?}", action);
        }
    }

    #[test]
    fn nothing_is_started_beside_something_that_may_live((intent, seen) in worlds()) {
        for action in plan(&Known::Known(intent.clone()), &seen, at(NOW)).actions {
            let Action::Start { session, generation, base } = action else { continue };
            let (listed_as, entry) = intent.registry.by_id(session).unwrap();
            prop_assert!(!entry.stopped && !intent.removed.contains(&session));
            prop_assert_eq!(entry.generation, generation);
            prop_assert!(!seen.busy.contains(&session));
            prop_assert_eq!(terminals_of(&seen, session), 0);
            let mut names = seen.terminals.known().unwrap().iter().map(|it| it.name.as_str());
            prop_assert!(names.all(|taken| taken != listed_as.as_str()));
            let view = seen.launches.get(&session);
            prop_assert!(view.is_none_or(LaunchView::is_gone), "{:?}", view);
            let on_record = view.and_then(|view| view.record.known());
            prop_assert_eq!(base, on_record.map(|it| (it.launch, it.state.clone())));
        }
    }

    #[test]
    fn only_launches_that_were_seen_are_ended((intent, seen) in worlds()) {
        for action in plan(&Known::Known(intent), &seen, at(NOW)).actions {
            let Action::End { session, launch, .. } = action else { continue };
            let in_terminal = seen.terminals.known().into_iter().flatten().any(|terminal| {
                terminal.session == Some(session) && terminal.launch == Some(launch)
            });
            let view = seen.launches.get(&session);
            let record = view.and_then(|view| view.record.known());
            let on_record = record.is_some_and(|record| record.launch == launch);
            prop_assert!(in_terminal || on_record);
        }
    }

    #[test]
    fn carrying_plans_out_ends_with_an_empty_plan((intent, seen) in worlds()) {
        let (mut intent, mut seen) = (intent, seen);
        let mut minted = 0x100;
        let mut started = BTreeSet::new();
        for _ in 0..6 {
            let plan = plan(&Known::Known(intent.clone()), &seen, at(NOW));
            if plan.actions.is_empty() {
                return Ok(());
            }
            for action in plan.actions {
                if let Action::Start { session, .. } = action {
                    prop_assert!(started.insert(session), "{} started twice", session);
                }
                apply(&mut intent, &mut seen, &mut minted, action);
            }
        }
        prop_assert!(false, "no end: {:#?} {:#?}", intent, seen);
    }
}

/// The world after an action went well.
fn apply(intent: &mut Intent, seen: &mut Observed, minted: &mut u128, action: Action) {
    *minted += 1;
    let new = launch(*minted);
    let Known::Known(terminals) = &mut seen.terminals else {
        return apply_without_tmux(intent, seen, minted, action);
    };
    match action {
        Action::Settle | Action::Park { .. } | Action::Report { .. } => {
            apply_without_tmux(intent, seen, minted, action);
        }
        Action::End { session, launch, .. } => {
            terminals.retain(|it| it.session != Some(session) || it.launch != Some(launch));
            end(seen, session, launch);
        }
        Action::Start { session, generation, .. } => {
            let (listed_as, _) = intent.registry.by_id(session).unwrap();
            terminals.push(Terminal {
                name: listed_as.as_str().to_owned(),
                session: Some(session),
                launch: Some(new),
                ..untagged(0)
            });
            let record = LaunchRecord {
                session,
                launch: new,
                generation,
                ..record(0, 0, generation, starting())
            };
            seen.launches.insert(session, live(record));
            seen.attempts.insert(session, (generation, at(NOW)));
        }
        Action::ShowPostMortem { session, launch } => {
            let (listed_as, _) = intent.registry.by_id(session).unwrap();
            terminals.push(Terminal {
                name: listed_as.as_str().to_owned(),
                session: Some(session),
                launch: Some(launch),
                ..untagged(0)
            });
            let view = seen.launches.get_mut(&session).unwrap();
            view.lock_free = false;
            view.launcher_alive = true;
        }
        Action::Adopt { session, .. } => {
            let (listed_as, entry) = intent.registry.by_id(session).unwrap();
            let holder = terminals.iter_mut().find(|it| it.name == listed_as.as_str()).unwrap();
            holder.session = Some(session);
            holder.launch = Some(new);
            let record =
                LaunchRecord { session, launch: new, ..record(0, 0, entry.generation, starting()) };
            seen.launches.insert(session, live(record));
        }
    }
}

fn apply_without_tmux(intent: &mut Intent, seen: &mut Observed, minted: &mut u128, action: Action) {
    match action {
        Action::Settle => {
            for id in std::mem::take(&mut intent.removed) {
                *minted += 1;
                let entry = intent.registry.by_id_mut(id).unwrap();
                entry.id = Some(session(*minted));
                entry.generation = 1;
                entry.conversation = None;
            }
            intent.unsettled = false;
        }
        Action::Park { session, .. } => {
            let entry = intent.registry.by_id_mut(session).unwrap();
            entry.stopped = true;
            entry.generation += 1;
        }
        Action::Report { session, kind, text } => {
            let trouble = Trouble { kind, text, at: at(NOW), attempts: 1 };
            let (_, entry) = intent.registry.by_id(session).unwrap();
            let blank = LaunchRecord {
                session,
                ..record(0, *minted, entry.generation, LaunchState::Prepared)
            };
            let view = seen.launches.entry(session).or_insert_with(|| gone(blank));
            let Known::Known(record) = &mut view.record else { return };
            record.trouble = Some(trouble);
        }
        Action::End { session, launch, .. } => end(seen, session, launch),
        other => panic!("planned without an answer from tmux: {other:?}"),
    }
}

fn end(seen: &mut Observed, session: SessionId, launch: LaunchId) {
    let Some(view) = seen.launches.get_mut(&session) else { return };
    if view.record.known().is_some_and(|record| record.launch == launch) {
        view.lock_free = true;
        view.launcher_alive = false;
        view.leftovers = false;
    }
}
