//! What the receiver takes in, and what it costs: signed deliveries over its socket, each on disk
//! before it is answered, and looked at by the engine meanwhile.

use std::fs::{File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use agent_box_session::WebhookPaths;
use agent_box_testkit::{Supervisor, TestBox, process};

use super::clock::{idle, timed};
use super::load::{mebibytes, processor_share, processor_ticks};
use super::sender::{SECRET, Sender};
use super::{Measurement, percentile};

/// A load: its bytes a body, its senders, and how many deliveries of all in the whole benchmark.
struct Load {
    what: &'static str,
    size: usize,
    senders: usize,
    count: usize,
}

/// The size of a body that has budgets.
const BUDGETED: usize = 12_000;

/// What is usual, together 100,000 deliveries.
const SMALL: [Load; 4] = [
    Load { what: "signed deliveries of 1 KB, 1 sender", size: 1_000, senders: 1, count: 2_000 },
    Load { what: "the same, 8 senders", size: 1_000, senders: 8, count: 88_000 },
    Load { what: "signed deliveries of 12 KB, 1 sender", size: BUDGETED, senders: 1, count: 2_000 },
    Load { what: "the same, 8 senders", size: BUDGETED, senders: 8, count: 8_000 },
];

/// What is as large as a body may be that is held in memory.
const LARGE: [Load; 2] = [
    Load { what: "signed deliveries of 250 KB, 1 sender", size: 250_000, senders: 1, count: 200 },
    Load { what: "the same, 8 senders", size: 250_000, senders: 8, count: 800 },
];

/// A receiver that has a source and nothing to do; then all loads, one after the other.
pub(crate) fn costs(program: &Path, is_quick: bool) -> Result<Vec<Measurement>, String> {
    let mut test_box = TestBox::new(program);
    let paths = set_up(&test_box)?;
    let mut receiver = test_box.supervise(&["webhook", "serve"]);
    receiver.wait_ready();
    let mut results = vec![size_of(program)?];
    results.extend(at_rest(&receiver, if is_quick { 10 } else { 60 }));
    let flushes = flushes_a_second(paths.state(), if is_quick { 200 } else { 1_000 })?;
    results.push(Measurement::new("disk: small appends, each flushed", flushes, "per s", None));
    let mut send_all = |loads: &[Load]| {
        for load in loads {
            let count = if is_quick { load.count.min(400) } else { load.count };
            results.extend(rates(load, count, &paths.ingress(), flushes)?);
        }
        Ok::<_, String>(resident(&receiver))
    };
    let (small, large) = (send_all(&SMALL)?, send_all(&LARGE)?);
    let (what, budget) = if is_quick {
        ("receiver, resident, after the first 1,600", None)
    } else {
        ("receiver, resident, after the first 100,000", Some(16.0))
    };
    results.push(Measurement::new(what, small, "MiB", budget));
    results.push(Measurement::new("receiver, resident, after all", large, "MiB", None));
    Ok(results)
}

fn set_up(test_box: &TestBox) -> Result<WebhookPaths, String> {
    let paths = WebhookPaths::of_home(test_box.home());
    let state = paths.state().strip_prefix(test_box.home()).map_err(|error| error.to_string())?;
    test_box.put(state.join("github.secret"), SECRET);
    let sources = r#"{"sources":{"github":{"secretFile":"github.secret"}}}"#;
    test_box.put(state.join("sources.json"), sources);
    for (path, mode) in
        [(paths.secret("github"), 0o600), (paths.sources(), 0o600), (paths.state().into(), 0o700)]
    {
        std::fs::set_permissions(path, Permissions::from_mode(mode))
            .map_err(|error| error.to_string())?;
    }
    Ok(paths)
}

/// What one program costs that does nothing for so many seconds.
fn at_rest(receiver: &Supervisor, seconds: u64) -> [Measurement; 3] {
    // What the start still does belongs to the start.
    idle(5);
    let pid = receiver.pid();
    let (ticks, wakeups) = (processor_ticks(pid), wakeups(pid));
    idle(seconds);
    let share = processor_share(processor_ticks(pid).saturating_sub(ticks), seconds);
    let wakeups = self::wakeups(pid).saturating_sub(wakeups);
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let a_minute = wakeups as f64 / seconds as f64 * 60.0;
    [
        Measurement::new("receiver, idle, processor", share, "% core", None),
        Measurement::new("receiver, idle, wakeups of all its threads", a_minute, "per min", None),
        Measurement::new("receiver, idle, resident", resident(receiver), "MiB", None),
    ]
}

fn rates(
    load: &Load,
    count: usize,
    socket: &Path,
    flushes: f64,
) -> Result<Vec<Measurement>, String> {
    let each = count / load.senders;
    let (took, answers) = timed(|| send(load, each, socket));
    let mut answers = answers?;
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let rate = answers.len() as f64 / took * 1000.0;
    let p50 = percentile(&mut answers, 0.5);
    let is_budgeted = load.size == BUDGETED;
    let mut results = Vec::new();
    if load.senders == 1 {
        results.push(Measurement::new(load.what, rate, "per s", None));
        let budget = is_budgeted.then_some(5.0);
        results.push(Measurement::new("the same, answered, p50", p50, "ms", budget));
    } else {
        // On a slow disk what counts is that several share a flush.
        let least = if flushes >= 2_500.0 { 3_000.0 } else { (flushes * 1.3).round() };
        let result = Measurement::new(load.what, rate, "per s", None);
        results.push(if is_budgeted { result.at_least(least) } else { result });
    }
    Ok(results)
}

/// All senders at once; how long each answer took.
fn send(load: &Load, each: usize, socket: &Path) -> Result<Vec<f64>, String> {
    std::thread::scope(|scope| {
        let senders: Vec<_> = (0..load.senders)
            .map(|number| {
                scope.spawn(move || {
                    let name = format!("{}-{}-{number}", load.size, load.senders);
                    Sender::connect(socket, name)?.send(each, load.size)
                })
            })
            .collect();
        let mut answers = Vec::new();
        for sender in senders {
            answers.extend(sender.join().map_err(|_| "a sender panicked")??);
        }
        Ok(answers)
    })
}

/// What this disk does one by one.
fn flushes_a_second(directory: &Path, times: usize) -> Result<f64, String> {
    let mut file = File::create(directory.join("flushes")).map_err(|error| error.to_string())?;
    let (took, done) = timed(|| {
        (0..times).try_for_each(|_| {
            file.write_all(&[0; 512])?;
            file.sync_data()
        })
    });
    done.map_err(|error| error.to_string())?;
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let times = times as f64;
    Ok(times / took * 1000.0)
}

fn size_of(program: &Path) -> Result<Measurement, String> {
    let length = program.metadata().map_err(|error| error.to_string())?.len();
    Ok(Measurement::new("the program on disk", mebibytes(length / 1024), "MiB", None))
}

fn resident(receiver: &Supervisor) -> f64 {
    process::resident_kib(receiver.pid()).map_or(f64::NAN, mebibytes)
}

/// How often its threads began to wait, since they began.
fn wakeups(pid: i32) -> u64 {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return 0 };
    let of_one = |status: String| {
        let count = status.lines().find_map(|it| it.strip_prefix("voluntary_ctxt_switches:"));
        count.and_then(|it| it.trim().parse::<u64>().ok())
    };
    threads
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("status")).ok())
        .filter_map(of_one)
        .sum()
}
