//! The protocol model with all actors of each configuration at once.

use agent_box_checks::protocol::config::{
    CRASH_LOOP, DEATHS, DELETER_AND_TMUX, EDITS, EDITS_AND_ADD, ENDS, GENERATIONS, PARK, STOP,
    TWO_DELETERS,
};
use agent_box_checks::protocol::{Config, check, print_trace};

fn holds(config: &Config) {
    let outcome = check(config, 2);
    if let Some((claim, trace)) = outcome.broken {
        panic!("{}: {claim:?} is broken by\n{}", config.name, print_trace(&trace));
    }
    eprintln!("{}: {} states", config.name, outcome.states);
}

#[test]
fn two_deleters_an_adder_and_a_killed_launcher() {
    holds(&Config { launches: 2, ..TWO_DELETERS });
}

#[test]
fn a_deleter_an_adder_and_the_death_of_tmux() {
    holds(&Config { launches: 2, ..DELETER_AND_TMUX });
}

#[test]
fn three_launches_of_one_session() {
    holds(&ENDS);
}

#[test]
fn three_launches_between_stop_and_restart() {
    holds(&STOP);
}

#[test]
fn four_quick_launches() {
    holds(&Config { launches: 4, ..CRASH_LOOP });
}

#[test]
fn three_launches_and_every_death() {
    holds(&DEATHS);
}

#[test]
fn hand_edits_beside_rm_and_restart() {
    holds(&Config { launches: 2, ..EDITS });
}

#[test]
fn hand_edits_beside_rm_and_add() {
    holds(&Config { launches: 2, ..EDITS_AND_ADD });
}

#[test]
fn two_restarts_beside_a_stale_copy() {
    holds(&Config { launches: 2, ..GENERATIONS });
}

#[test]
fn parking_beside_hand_edits_and_a_restart() {
    holds(&Config { launches: 2, ..PARK });
}
