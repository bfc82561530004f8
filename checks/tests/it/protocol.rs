//! The protocol model in configurations that are searched completely within seconds.

use agent_box_checks::protocol::config::{CRASH_LOOP, DEATHS, DELETER_AND_TMUX, EDITS, EDITS_AND_ADD, ENDS, GENERATIONS, PARK, STOP, TWO_DELETERS};
use agent_box_checks::protocol::{Config, check, print_trace, rest_is_reachable};

fn holds(config: &Config) {
    let outcome = check(config, 2);
    if let Some((claim, trace)) = outcome.broken {
        panic!("{}: {claim:?} is broken by\n{}", config.name, print_trace(&trace));
    }
    eprintln!("{}: {} states", config.name, outcome.states);
}

fn comes_to_rest(config: &Config) {
    match rest_is_reachable(config) {
        Ok(states) => eprintln!("{}: rest is reachable from {states} states", config.name),
        Err(stuck) => panic!(
            "{}: no rest after\n{}{:#?}",
            config.name,
            print_trace(&stuck.trace),
            stuck.state
        ),
    }
}
macro_rules! t { ($($n:ident = $c:ident),*) => { $(#[test] fn $n() { let c = Config { launches: std::env::var("L").map_or(3, |l| l.parse().unwrap()), ..$c.clone() }; holds(&c); comes_to_rest(&c); })* } }
t!(two_del = TWO_DELETERS, del_tmux = DELETER_AND_TMUX, ends = ENDS, stop = STOP, deaths = DEATHS, edits = EDITS, edits_add = EDITS_AND_ADD, gens = GENERATIONS, park = PARK, crash = CRASH_LOOP);
