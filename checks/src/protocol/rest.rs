//! Can rest be reached from every state, by finishing what was begun and nothing else?
//!
//! The search engine's own "eventually" sees only paths without cycles, and a supervisor that
//! looks and finds nothing to do is a cycle. So the whole graph is built here, and walked
//! backwards from the states at rest.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use agent_box_supervisor::plan::Action;

use super::actors::{Step, decide, steps, take};
use super::config::Config;
use super::properties::is_at_rest;
use super::state::{State, Supervisor};

/// A state from which rest cannot be reached, and the steps to it.
#[derive(Debug)]
pub struct Stuck {
    /// The state.
    pub state: State,
    /// How it came about.
    pub trace: Vec<Step>,
}

/// Searches for a state from which rest cannot be reached; says how many states there are.
///
/// # Errors
/// With the first such state.
pub fn rest_is_reachable(config: &Config) -> Result<usize, Box<Stuck>> {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let mut numbers: HashMap<u64, u32> = HashMap::new();
    let mut parents: Vec<u32> = vec![0];
    let mut towards: Vec<Vec<u32>> = vec![Vec::new()];
    let mut resting: Vec<u32> = Vec::new();
    let mut frontier = vec![(0, State::initial())];
    numbers.insert(hasher.hash_one(&frontier[0].1), 0);
    let mut possible = Vec::new();
    while !frontier.is_empty() {
        for (number, state) in std::mem::take(&mut frontier) {
            if is_at_rest(config, &state) || wants_more_launches(config, &state) {
                resting.push(number);
            }
            possible.clear();
            steps(config, &state, &mut possible);
            for step in &possible {
                let next = take(config, &state, step);
                let fresh = u32::try_from(parents.len()).expect("BUG: far fewer states");
                let to = *numbers.entry(hasher.hash_one(&next)).or_insert(fresh);
                if to == fresh {
                    parents.push(number);
                    towards.push(Vec::new());
                    frontier.push((to, next));
                }
                if step.is_progress() {
                    towards[to as usize].push(number);
                }
            }
        }
    }
    let mut calm = vec![false; parents.len()];
    while let Some(number) = resting.pop() {
        if !std::mem::replace(&mut calm[number as usize], true) {
            resting.extend(&towards[number as usize]);
        }
    }
    match calm.iter().position(|calm| !calm) {
        None => Ok(parents.len()),
        Some(stuck) => Err(Box::new(trace_to(config, &parents, stuck))),
    }
}

/// Whether only the bound on launches keeps the supervisor from acting.
fn wants_more_launches(config: &Config, state: &State) -> bool {
    let Supervisor::SawTerminals(records, terminal) = &state.supervisor else { return false };
    state.launches.len() == config.launches
        && decide(config, state, records, *terminal)
            .actions
            .iter()
            .any(|action| matches!(action, Action::Start { .. }))
}

/// Walks from the first state to this one again.
fn trace_to(config: &Config, parents: &[u32], number: usize) -> Stuck {
    let mut depth = 0;
    let mut ancestor = number;
    while ancestor != 0 {
        ancestor = parents[ancestor] as usize;
        depth += 1;
    }
    // States are not kept; the same breadth-first numbering leads to the same state again.
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let mut numbers: HashMap<u64, u32> = HashMap::new();
    let mut layer = vec![(0_u32, State::initial(), Vec::new())];
    numbers.insert(hasher.hash_one(&layer[0].1), 0);
    for _ in 0..depth {
        let mut below = Vec::new();
        for (_, state, trace) in &layer {
            let mut possible = Vec::new();
            steps(config, state, &mut possible);
            for step in possible {
                let next = take(config, state, &step);
                let fresh = u32::try_from(numbers.len()).expect("BUG: far fewer states");
                if *numbers.entry(hasher.hash_one(&next)).or_insert(fresh) == fresh {
                    let mut longer: Vec<Step> = trace.clone();
                    longer.push(step);
                    below.push((fresh, next, longer));
                }
            }
        }
        layer = below;
    }
    let found = layer.into_iter().find(|(found, ..)| *found as usize == number);
    let (_, state, trace) = found.expect("BUG: the numbering is the same");
    Stuck { state, trace }
}
