//! The launcher from its first line to its last: gate, agent, report, post-mortem.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use agent_box_session::{Ending, Exit, LaunchRecord, LaunchState, Timestamp, env, sort_ending};
use agent_box_session_store::{Event, EventKind, OpenError, Store, TransactError};
use agent_box_testpoint as testpoint;
use rustix::event::PollFlags;
use rustix::process::{Pid, getpid, set_child_subreaper};
use thiserror::Error;

use crate::cgroup::Cgroup;
use crate::chain;
use crate::clock::Deadline;
use crate::environment::Environment;
use crate::footing;
use crate::gate::{self, PassError, Passed};
use crate::last_words;
use crate::place::{Place, PlaceError};
use crate::post_mortem::PostMortem;
use crate::process;
use crate::report::{Ended, Report, ReportError, describe_end};
use crate::signals::Signals;
use crate::terminal::Terminal;
use crate::trampoline;
use crate::watch::{End, Watch};

/// The verb under which the program runs [`launch`].
const VERB: &str = "pane";

/// How long a pane that closes by itself shows why.
const READING_TIME: Duration = Duration::from_secs(10);

/// Why a launcher could not do its work.
#[derive(Debug, Error)]
pub(crate) enum LauncherError {
    /// Its command line.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The process itself: signals, `/proc`.
    #[error("cannot set up the launcher's process")]
    Process(#[from] io::Error),
    /// The box's files.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The gate could not be tried.
    #[error("cannot check whether this start is still wanted; nothing was started")]
    Gate(#[from] TransactError<PassError>),
}

/// See [`crate::launch`].
pub(crate) fn launch(args: &[OsString]) -> ExitCode {
    let terminal = Terminal::open();
    let prepared = footing::ensure(VERB, args).and_then(|()| Signals::install());
    let error = match prepared.map_err(LauncherError::from) {
        Ok(mut signals) => match run(args, &mut signals, &terminal) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(error) => {
                terminal.say(&format!("[agent-box] {}\n", chain(&error)));
                wait_for_reader(&mut signals, &terminal);
                return ExitCode::FAILURE;
            }
        },
        Err(error) => error,
    };
    terminal.say(&format!("[agent-box] {}\n", chain(&error)));
    ExitCode::FAILURE
}

/// Leaves a person the time to read, until a key, a hang-up or the end of patience.
fn wait_for_reader(signals: &mut Signals, terminal: &Terminal) {
    terminal.take();
    let deadline = Deadline::after(READING_TIME);
    while !deadline.is_over() && !signals.asked() && terminal.is_there() {
        let stdin = (terminal.input(), PollFlags::IN);
        if !signals.wait(Some(stdin), Some(deadline.left())).is_empty() {
            return;
        }
    }
}

fn run(args: &[OsString], signals: &mut Signals, terminal: &Terminal) -> Result<(), LauncherError> {
    let place = Place::parse(args, std::env::var_os(env::TMUX_SERVER).as_deref())?;
    let store = Store::open(place.paths.clone())?;
    testpoint::hit("pane.before-gate");
    let launcher = process::describe(getpid())?;
    let mut cgroup = Cgroup::find(place.session);
    let passed = gate::pass(&store, &place, &launcher, cgroup.as_ref().map(Cgroup::path));
    let passed = match passed {
        Ok(passed) => passed,
        Err(error) => return closed(&store, &place, terminal, error),
    };
    testpoint::hit("pane.after-starting");
    let record = match &passed {
        Passed::Start { record, .. } | Passed::PostMortem(record) => record,
    };
    let report = Report { store: &store, place: &place, name: record.name.clone() };
    // Before the first child, so that none can escape to another parent.
    set_child_subreaper(Some(getpid())).map_err(io::Error::from)?;
    enter_cgroup(&mut cgroup, record, &report, terminal);
    let grace = Duration::from_millis(record.grace_ms);
    let mut watch = Watch { signals, terminal, cgroup: cgroup.as_ref(), grace };
    let fresh_pane = matches!(passed, Passed::PostMortem(_));
    let failed = match passed {
        Passed::PostMortem(_) => true,
        Passed::Start { record, at, lifetime } => {
            let failed = run_agent(&report, *record, at, &mut watch);
            drop(lifetime);
            failed
        }
    };
    if failed {
        PostMortem { store: &store, place: &place, report: &report, fresh_pane }.show(&mut watch);
    }
    if let Some(cgroup) = &cgroup {
        cgroup.remove();
    }
    Ok(())
}

/// The gate did not open: an expected no closes the pane quietly, a fault is shown.
fn closed(
    store: &Store,
    place: &Place,
    terminal: &Terminal,
    error: TransactError<PassError>,
) -> Result<(), LauncherError> {
    let refused = matches!(&error, TransactError::Refused(refusal) if refusal.is_refusal());
    let text = match &error {
        TransactError::Refused(refusal) => chain(refusal),
        fault => chain(fault),
    };
    let kind = if refused { EventKind::Refusal } else { EventKind::Trouble };
    let mut event = Event::new(store.now(), kind, text.clone()).in_launch(place.launch);
    event.session = Some(place.session);
    let _ = store.journal().append(&event.by("launcher"));
    if !refused {
        return Err(error.into());
    }
    terminal.say(&format!("[agent-box] not started: {text}\n"));
    Ok(())
}

/// Enters the session's control group; says so if limits cannot be held.
fn enter_cgroup(
    cgroup: &mut Option<Cgroup>,
    record: &LaunchRecord,
    report: &Report<'_>,
    terminal: &Terminal,
) {
    let limits = &record.limits;
    let failures = match cgroup.as_mut().map(|cgroup| cgroup.enter(limits)) {
        Some(Ok(failures)) => failures,
        Some(Err(error)) => {
            *cgroup = None;
            vec![format!("the session has no control group: {error}")]
        }
        None if limits.is_unlimited() => Vec::new(),
        None => vec!["limits do not hold: no control group is delegated to this box".to_owned()],
    };
    for failure in failures {
        terminal.say(&format!("[agent-box] {failure}\n"));
        report.note(EventKind::Trouble, failure);
    }
}

/// Starts the agent, waits for its end and writes it down; returns whether a post-mortem follows.
fn run_agent(
    report: &Report<'_>,
    record: LaunchRecord,
    started: Timestamp,
    watch: &mut Watch<'_>,
) -> bool {
    for note in &record.notes {
        watch.terminal.say(&format!("\x1b[2m{note}\x1b[0m\n"));
    }
    let agent = record.agent.clone();
    let login_hints = record.login_hints.clone();
    let started_agent = start(report, &record, watch);
    // It holds the prompt and the whole environment, and the agent may run for days.
    drop(record);
    let end = match started_agent {
        Ok(child) => {
            record_start(report, child);
            watch.until_end(child, &mut |suspended| report.suspended(suspended))
        }
        Err(why) => {
            watch.terminal.say(&format!("[agent-box] not started: {why}\n"));
            End { exit: Exit::NotStarted(why), asked: watch.signals.asked() }
        }
    };
    let at = report.store.now();
    let out_of_memory = matches!(end.exit, Exit::Signal(9) | Exit::Code(137))
        && watch.cgroup.is_some_and(Cgroup::ran_out_of_memory);
    let exit = if out_of_memory { Exit::OutOfMemory } else { end.exit };
    watch.terminal.take();
    if !watch.end_leftovers() {
        let text = "a process that the agent left behind cannot be ended";
        report.note(EventKind::Trouble, text);
    }
    let ending = sort_ending(&agent, &exit, end.asked);
    let words = if matches!(ending, Ending::PostMortem | Ending::Respawn) {
        watch.terminal.settle(watch.signals);
        last_words::capture().unwrap_or_else(|error| {
            let text = format!("the agent's last words are lost: {}", chain(&error));
            report.note(EventKind::Trouble, text);
            None
        })
    } else {
        None
    };
    watch.terminal.reset();
    if let Some(words) = &words {
        let _ = last_words::keep(&report.place.paths, report.place.session, words);
    }
    let needs_login = words.is_some_and(|words| last_words::ask_to_sign_in(&words, &login_hints));
    let end = Ended { started, at, exit, asked: end.asked, needs_login };
    let record = write_end(report, &end, watch);
    testpoint::hit("pane.after-ended");
    let failed = record.is_some_and(|record| {
        matches!(record.state, LaunchState::Ended { ending: Ending::PostMortem, .. })
    });
    if !failed {
        let text = describe_end(&end.exit, end.at.since(end.started));
        watch.terminal.say(&format!("[agent-box] ended: {text}\n"));
    }
    failed
}

/// From the record to a running agent.
///
/// # Errors
/// A text for people when there is none.
fn start(report: &Report<'_>, record: &LaunchRecord, watch: &Watch<'_>) -> Result<Pid, String> {
    let env_file = report.store.env().map_err(|error| chain(&error))?;
    let environment = Environment::new(record, &env_file);
    let directory = Path::new(&record.directory);
    let held = trampoline::hold(&record.argv, &environment, directory)?;
    let child = held.pid();
    if let Some(cgroup) = watch.cgroup {
        cgroup.admit(child).map_err(|error| format!("cannot enter its control group: {error}"))?;
    }
    watch.terminal.lend(child, None);
    let only_once = record.carries_prompt && !record.agent.keeps_transcripts();
    if only_once {
        report.handed(true).map_err(|error| chain(&error))?;
    }
    testpoint::hit("pane.before-exec");
    if let Err(why) = held.go() {
        if only_once && let Err(error) = report.handed(false) {
            let text = format!("a prompt that nobody got counts as handed over: {}", chain(&error));
            report.note(EventKind::Trouble, text);
        }
        return Err(why);
    }
    Ok(child)
}

/// Writes down that the agent runs. It does whether or not this can be written.
fn record_start(report: &Report<'_>, child: Pid) {
    let agent = process::describe(child).map_err(|error| error.to_string());
    let written = agent.and_then(|agent| report.started(&agent).map_err(|error| chain(&error)));
    if let Err(error) = written {
        report.note(EventKind::Trouble, format!("the start is not on record: {error}"));
    }
    testpoint::hit("pane.after-exec");
}

/// Writes the end, again and again while the disk is full; `None` if it cannot be written.
fn write_end(report: &Report<'_>, end: &Ended, watch: &mut Watch<'_>) -> Option<LaunchRecord> {
    let mut said = false;
    loop {
        match report.ended(end) {
            Ok(record) => return Some(record),
            Err(ReportError::Replaced) => {
                let text = chain(&ReportError::Replaced);
                report.note(EventKind::Trouble, text);
                return None;
            }
            Err(error) if !said => {
                said = true;
                let text = format!("[agent-box] the end is not on record yet: {}\n", chain(&error));
                watch.terminal.say(&text);
            }
            Err(_) => {}
        }
        // An end that was asked for needs no record to be understood: the launcher is gone.
        if watch.signals.asked() {
            return None;
        }
        watch.signals.wait(None, Some(Duration::from_secs(1)));
    }
}
