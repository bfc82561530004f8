//! What one command costs.

use std::io::Write as _;
use std::path::Path;

use agent_box_session::paths::Paths;
use agent_box_session::{Agent, SessionName, SessionSpec};
use agent_box_session_store::{Change, Store};
use agent_box_testkit::{TestBox, within};

use super::clock::timed;
use super::notice::Notices;
use super::{Measurement, percentile};

/// The disk: 2 KB written, flushed, renamed, and the directory flushed.
pub(crate) fn flush(times: usize) -> Vec<Measurement> {
    let test_box = tempfile::tempdir().expect("make a temporary directory");
    let directory = test_box.path();
    let bytes = vec![b'x'; 2048];
    let mut samples: Vec<f64> = (0..times)
        .map(|n| {
            timed(|| {
                let mut file = tempfile::NamedTempFile::new_in(directory).expect("make a file");
                file.write_all(&bytes).expect("write");
                file.as_file().sync_all().expect("flush the file");
                file.persist(directory.join(format!("f{}", n % 2))).expect("rename");
                std::fs::File::open(directory).and_then(|it| it.sync_all()).expect("flush");
            })
            .0
        })
        .collect();
    vec![
        Measurement::new(
            "disk: write, flush, rename, flush of 2 KB, p50",
            percentile(&mut samples, 0.5),
            "ms",
            None,
        ),
        Measurement::new("disk: the same, p99", percentile(&mut samples, 0.99), "ms", None),
    ]
}

/// From the registry's rename to the tmux session, and from `rm` to its return.
pub(crate) fn starts_and_removals(
    program: &Path,
    times: usize,
) -> Result<Vec<Measurement>, String> {
    let mut test_box = TestBox::new(program);
    let mut supervisor = test_box.supervise(&["supervise"]);
    supervisor.wait_ready();
    // The server exists before the clock runs.
    test_box.run(&["add", "first", "--agent", "claude"]).expect_success();
    within(10).until("the first start", || test_box.stubs().launches().len() == 1);
    let mut notices = Notices::attach(&test_box)?;
    let store = store_of(&test_box)?;
    let (mut starts, mut removals) = (Vec::new(), Vec::new());
    for n in 0..times {
        let name = SessionName::parse(&format!("s{n}")).map_err(|error| error.to_string())?;
        let change = Change::Operator { by: "bench".to_owned(), summary: "add".to_owned() };
        let spec = SessionSpec::new(Agent::Claude);
        store
            .transact(change, |tx| tx.add(name.clone(), spec, "bench"))
            .map_err(|error| error.to_string())?;
        let (milliseconds, seen) = timed(|| notices.sessions_changed());
        seen?;
        starts.push(milliseconds);
        let stubs = test_box.stubs();
        within(10).until("the stub runs", || stubs.launches().len() == n + 2);
        let (milliseconds, _) = timed(|| test_box.run(&["rm", name.as_str()]).expect_success());
        removals.push(milliseconds);
        notices.sessions_changed()?;
    }
    Ok(vec![
        Measurement::new(
            "registry write → tmux session, p50",
            percentile(&mut starts, 0.5),
            "ms",
            25.0,
        ),
        Measurement::new(
            "registry write → tmux session, p99",
            percentile(&mut starts, 0.99),
            "ms",
            100.0,
        ),
        Measurement::new(
            "rm of a polite agent, whole command, p50",
            percentile(&mut removals, 0.5),
            "ms",
            40.0,
        ),
        Measurement::new(
            "rm of a polite agent, whole command, p99",
            percentile(&mut removals, 0.99),
            "ms",
            None,
        ),
    ])
}

/// Durable edits of a registry with 50 entries.
pub(crate) fn edits(times: usize) -> Result<Vec<Measurement>, String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let paths = Paths::new(home.path(), home.path().join("tmux.sock"));
    let store = Store::open(paths).map_err(|error| error.to_string())?;
    let change = || Change::Operator { by: "bench".to_owned(), summary: "edit".to_owned() };
    let name = |n: usize| SessionName::parse(&format!("s{n}")).map_err(|error| error.to_string());
    for n in 0..50 {
        let (name, spec) = (name(n)?, SessionSpec::new(Agent::Shell));
        store
            .transact(change(), |tx| tx.add(name, spec, "bench"))
            .map_err(|error| error.to_string())?;
    }
    let (milliseconds, done) = timed(|| {
        for n in 0..times {
            let name = name(n % 50)?;
            store
                .transact(change(), |tx| tx.stop(&name, "bench"))
                .map_err(|error| error.to_string())?;
        }
        Ok::<_, String>(())
    });
    done?;
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let rate = times as f64 / milliseconds * 1000.0;
    Ok(vec![Measurement::new("durable registry edits, one process", rate, "per s", None)])
}

pub(crate) fn store_of(test_box: &TestBox) -> Result<Store, String> {
    let paths = Paths::new(test_box.home(), test_box.tmux().socket());
    Store::open(paths).map_err(|error| error.to_string())
}
