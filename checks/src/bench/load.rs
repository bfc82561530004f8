//! What many sessions cost.

use std::path::Path;

use agent_box_session::{Agent, SessionName, SessionSpec};
use agent_box_session_store::Change;
use agent_box_testkit::{TestBox, process, within};

use super::clock::{idle, timed};
use super::latency::store_of;
use super::{Measurement, percentile};

/// `agent-box ls` in a box with `sessions` live sessions.
pub(crate) fn list(
    program: &Path,
    sessions: usize,
    times: usize,
) -> Result<Vec<Measurement>, String> {
    let mut test_box = TestBox::new(program);
    add(&test_box, sessions)?;
    let mut supervisor = test_box.supervise(&["supervise"]);
    supervisor.wait_ready();
    within(60).until("all sessions run", || test_box.stubs().launches().len() == sessions);
    let mut samples: Vec<f64> =
        (0..times).map(|_| timed(|| test_box.run(&["ls"]).expect_success()).0).collect();
    Ok(vec![Measurement::new(
        "agent-box ls with 100 sessions, whole command, p50",
        percentile(&mut samples, 0.5),
        "ms",
        15.0,
    )])
}

/// A cold start of `sessions` sessions, then `seconds` without anything to do.
pub(crate) fn crowd(
    program: &Path,
    sessions: usize,
    seconds: u64,
) -> Result<Vec<Measurement>, String> {
    let mut test_box = TestBox::new(program);
    test_box.set("AGENT_BOX_LOG", "debug");
    add(&test_box, sessions)?;
    let (cold, supervisor) = timed(|| {
        let supervisor = test_box.supervise(&["supervise"]);
        within(120).until("all sessions run", || test_box.stubs().launches().len() == sessions);
        supervisor
    });
    // What the start still writes belongs to the start.
    idle(5);
    let pid = supervisor.pid();
    let (ticks, passes) = (processor_ticks(pid), passes(&supervisor.output()));
    idle(seconds);
    let used = processor_ticks(pid).saturating_sub(ticks);
    let passes = &self::passes(&supervisor.output())[passes.len()..];
    let trips: u64 = passes.iter().sum();
    let mut launchers: Vec<f64> = test_box
        .processes()
        .into_iter()
        .filter(|pid| process::arguments(*pid).get(1).is_some_and(|word| word == "pane"))
        .filter_map(process::resident_kib)
        .map(mebibytes)
        .collect();
    let share = processor_share(used, seconds);
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let trips = trips as f64 / passes.len().max(1) as f64;
    Ok(vec![
        Measurement::new("200 sessions from cold, all agents run", cold / 1000.0, "s", 10.0),
        Measurement::new("supervisor with 200 idle sessions, processor", share, "% core", 0.1),
        Measurement::new(
            "supervisor with 200 idle sessions, resident",
            process::resident_kib(pid).map_or(f64::NAN, mebibytes),
            "MiB",
            12.0,
        ),
        Measurement::new("tmux round trips per idle pass", trips, "", 1.0),
        Measurement::new("launcher, resident, p50", percentile(&mut launchers, 0.5), "MiB", 3.0),
        Measurement::new("launcher, resident, most", percentile(&mut launchers, 1.0), "MiB", None),
    ])
}

fn add(test_box: &TestBox, sessions: usize) -> Result<(), String> {
    let store = store_of(test_box)?;
    let change = Change::Operator { by: "bench".to_owned(), summary: "add".to_owned() };
    store
        .transact(change, |tx| {
            for n in 0..sessions {
                let name = SessionName::parse(&format!("s{n:03}")).expect("BUG: a legal name");
                tx.add(name, SessionSpec::new(Agent::Claude), "bench")?;
            }
            Ok::<_, agent_box_session::AddRefusal>(())
        })
        .map_err(|error| error.to_string())
}

/// Processor time of a process and the children it waited for, in clock ticks.
pub(crate) fn processor_ticks(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let Some((_, fields)) = stat.rsplit_once(") ") else { return 0 };
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    fields.get(11..15).into_iter().flatten().filter_map(|it| it.parse::<u64>().ok()).sum()
}

/// Such clock ticks within so many seconds, in percent of a core.
pub(crate) fn processor_share(ticks: u64, seconds: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let share = ticks as f64 / rustix::param::clock_ticks_per_second() as f64 / seconds as f64;
    share * 100.0
}

/// The tmux round trips of each pass, from the supervisor's debug log.
fn passes(log: &str) -> Vec<u64> {
    log.lines()
        .filter_map(|line| line.split_once("round_trips="))
        .filter_map(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok())
        .collect()
}

pub(crate) fn mebibytes(kibibytes: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "memory of one process")]
    let kibibytes = kibibytes as f64;
    kibibytes / 1024.0
}
