//! The budgets of a box, measured on the release build with stub agents and a real tmux.
//!
//! Numbers are what a user waits for or pays: whole commands from outside, processor time and
//! resident memory from `/proc`. The disk's own flush time stands beside them, since most
//! latencies contain two or three of those.

mod assemble;
mod clock;
mod latency;
mod load;
mod notice;
mod receiver;
mod sender;

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

/// One measured number with its budget.
#[derive(Debug)]
pub(crate) struct Measurement {
    what: &'static str,
    value: f64,
    unit: &'static str,
    budget: Option<f64>,
    /// The budget is a lower limit, not an upper one.
    is_least: bool,
}

impl Measurement {
    pub(crate) fn new(
        what: &'static str,
        value: f64,
        unit: &'static str,
        budget: impl Into<Option<f64>>,
    ) -> Self {
        Self { what, value, unit, budget: budget.into(), is_least: false }
    }

    /// The same with a budget that is a lower limit.
    pub(crate) fn at_least(self, budget: f64) -> Self {
        Self { budget: Some(budget), is_least: true, ..self }
    }

    fn is_within(&self) -> Option<bool> {
        let is_kept =
            |budget| if self.is_least { self.value >= budget } else { self.value <= budget };
        self.budget.map(is_kept)
    }
}

/// Measures and prints everything.
pub(crate) fn run(quick: bool, json: bool) -> Result<(), String> {
    let program = release_build()?;
    let mut results = latency::flush(if quick { 50 } else { 300 });
    let progress = |text: &str| {
        if !json {
            eprintln!("… {text}");
        }
    };
    progress("rendering the module");
    results.extend(assemble::render(
        &program.with_file_name("assemble"),
        if quick { 10 } else { 50 },
    )?);
    progress("starts and removals");
    results.extend(latency::starts_and_removals(&program, if quick { 15 } else { 100 })?);
    progress("store edits");
    results.extend(latency::edits(if quick { 50 } else { 300 })?);
    progress("a box with 100 sessions");
    results.extend(load::list(&program, 100, if quick { 10 } else { 50 })?);
    progress("a box with 200 sessions: cold start, then a while idle");
    results.extend(load::crowd(&program, 200, if quick { 10 } else { 60 })?);
    progress("a receiver: a while idle, then signed deliveries");
    results.extend(receiver::costs(&program, quick)?);
    print(&results, json);
    Ok(())
}

/// Builds what is measured, next to this program.
fn release_build() -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--release", "--quiet", "-p", "agent-box", "-p", "agent-box-assemble"])
        .args(["-p", "agent-box-webhook-spawn"])
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if !built.success() {
        return Err("the release build failed".to_owned());
    }
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    let target =
        here.ancestors().nth(2).ok_or("this program does not lie in a target directory")?;
    Ok(target.join("release/agent-box"))
}

fn print(results: &[Measurement], json: bool) {
    if json {
        let rows: Vec<Value> = results
            .iter()
            .map(|it| {
                json!({
                    "what": it.what,
                    "value": it.value,
                    "unit": it.unit,
                    "budget": it.budget,
                    "within": it.is_within(),
                })
            })
            .collect();
        println!("{}", json!(rows));
        return;
    }
    println!("{:<58} {:>10} {:<8} {:>10}", "WHAT", "VALUE", "UNIT", "BUDGET");
    for it in results {
        let sign = if it.is_least { "≥" } else { "≤" };
        let budget = it.budget.map_or_else(String::new, |budget| format!("{sign} {budget}"));
        let verdict = match it.is_within() {
            Some(false) => "  over",
            _ => "",
        };
        println!("{:<58} {:>10.2} {:<8} {budget:>10}{verdict}", it.what, it.value, it.unit);
    }
}

/// The value below which `share` of the sorted samples lie.
pub(crate) fn percentile(samples: &mut [f64], share: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index among few samples"
    )]
    let at = ((samples.len() as f64 - 1.0) * share).round() as usize;
    samples.get(at).copied().unwrap_or(f64::NAN)
}
