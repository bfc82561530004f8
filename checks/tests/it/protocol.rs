//! The protocol model in configurations that are searched completely within seconds.
//!
//! The larger ones are in the `slow` tests. Each broken variant must be found broken, so that a
//! search that finds nothing means something.

use agent_box_checks::protocol::config::{
    CRASH_LOOP, DEATHS, DELETER_AND_TMUX, EDITS, EDITS_AND_ADD, ENDS, GENERATIONS, PARK, STOP,
    TWO_DELETERS,
};
use agent_box_checks::protocol::{Broken, Claim, Config, check, print_trace, rest_is_reachable};

/// No promise is broken in any state, and rest can be reached from every state.
fn holds(config: &Config) {
    let outcome = check(config, 2);
    if let Some((claim, trace)) = outcome.broken {
        panic!("{}: {claim:?} is broken by\n{}", config.name, print_trace(&trace));
    }
    if let Err(stuck) = rest_is_reachable(config) {
        let trace = print_trace(&stuck.trace);
        panic!("{}: no rest after\n{trace}{:#?}", config.name, stuck.state);
    }
    eprintln!("{}: {} states", config.name, outcome.states);
}

/// Leaving the rule out is noticed, by this promise.
fn is_found(rule: Broken, claim: Claim, config: Config) {
    let config = config.without(rule, claim);
    let outcome = check(&config, 1);
    match outcome.broken {
        Some((_, trace)) => {
            eprintln!("without {rule:?}, {claim:?} is broken by\n{}", print_trace(&trace));
        }
        None => panic!(
            "leaving out {rule:?} breaks {claim:?} nowhere in {} states of \"{}\": \
             the search does not look where it should",
            outcome.states, config.name
        ),
    }
}

#[test]
fn two_deleters_of_one_session_leave_nothing() {
    holds(&Config { launches: 1, kills: 0, ..TWO_DELETERS });
}

#[test]
fn a_session_added_after_a_removal_owes_nothing_to_it() {
    holds(&Config { launches: 2, descendants: 0, servers: 0, ..DELETER_AND_TMUX });
}

#[test]
fn every_end_leads_to_what_it_means() {
    holds(&Config { launches: 2, kills: 0, ..ENDS });
}

#[test]
fn stop_and_restart_are_never_lost() {
    holds(&Config { launches: 2, ..STOP });
}

#[test]
fn deaths_of_launchers_and_tmux_are_survived() {
    holds(&Config { launches: 2, kills: 1, ..DEATHS });
}

#[test]
fn hand_edits_beside_rm_bring_nothing_back() {
    holds(&Config { launches: 1, restarts: 0, ..EDITS });
}

#[test]
fn hand_edits_beside_add_mix_nothing_up() {
    holds(&Config { launches: 1, ..EDITS_AND_ADD });
}

#[test]
fn a_stale_copy_never_outruns_a_generation() {
    holds(&Config { launches: 2, restarts: 1, ..GENERATIONS });
}

#[test]
fn a_parked_session_can_be_wanted_again_by_hand() {
    holds(&Config { launches: 2, restarts: 0, ..PARK });
}

#[test]
fn quick_deaths_end_in_a_held_crash_loop() {
    holds(&Config { launches: 2, ..CRASH_LOOP });
}

#[test]
fn a_check_made_before_tmux_is_asked_is_found_wanting() {
    is_found(Broken::CheckBeforeTmux, Claim::RemovedIsGone, DELETER_AND_TMUX);
}

#[test]
fn a_registry_without_lock_is_found_wanting() {
    is_found(Broken::NoLock, Claim::RemovedStaysRemoved, DELETER_AND_TMUX);
}

#[test]
fn identity_by_name_is_found_wanting() {
    is_found(Broken::IdentityByName, Claim::NothingInherited, DELETER_AND_TMUX);
}

#[test]
fn ids_and_a_lock_without_reaping_are_found_wanting() {
    is_found(Broken::NoReaping, Claim::NothingUnwanted, DELETER_AND_TMUX);
}

#[test]
fn intents_without_generation_are_found_wanting() {
    is_found(Broken::NoGeneration, Claim::IntentKept, ENDS);
}

#[test]
fn starting_without_proof_of_the_last_end_is_found_wanting() {
    is_found(Broken::NoProof, Claim::OneAgent, DEATHS);
}

#[test]
fn a_record_written_without_comparing_is_found_wanting() {
    is_found(Broken::NoComparing, Claim::OneAgent, DEATHS);
}
