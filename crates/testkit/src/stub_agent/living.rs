//! The stub agent's life on its terminal, from the first word to its end.

use std::io::BufRead as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Resource, Rlimit, Signal, getpid, kill_process, setrlimit};
use rustix::termios::{QueueSelector, tcflush};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::leave::{exit, say};
use super::ledger::{Ledger, append};
use super::plan::Step;
use super::{Agent, Kind, Surroundings, descendant};
use crate::clock;

/// The real CLIs have many threads, which matters to how their ends are seen.
const THREADS: usize = 8;

/// Lives until the step, the terminal or a signal ends it.
pub(super) fn run(
    program: &str,
    mut agent: Agent,
    step: &Step,
    ledger: &Ledger,
    around: &Surroundings,
) -> ExitCode {
    for _ in 0..THREADS {
        let idle = std::thread::Builder::new().stack_size(64 * 1024);
        let _ = idle.spawn(|| {
            loop {
                std::thread::park();
            }
        });
    }
    std::thread::spawn(|| {
        clock::pause(descendant::LIFE);
        exit(75);
    });
    if step.login_error {
        say(login_text(&agent));
        return ExitCode::from(1);
    }
    if let Some(dialog) = agent.dialog {
        say(dialog);
        sleep_for_ever();
    }

    if let Kind::Claude(claude) = &agent.kind {
        claude.run_hooks(if agent.resumed { "resume" } else { "startup" });
    }
    if !step.no_transcript {
        agent.open_transcript();
    }
    agent.status("idle");
    descendant::leave_behind(step.fork_child, step.fork_setsid, ledger);
    if step.write_pid_every_second {
        write_pids(ledger, around);
    }
    let greeting = format!("stub {program} {}", agent.conversation);
    say(step.print.as_deref().unwrap_or(&greeting));
    if let Some(mib) = step.alloc {
        allocate(mib);
    }

    clock::pause(Duration::from_millis(step.after_ms));
    if let Some(signal) = step.signal {
        end_by_signal(signal);
    }
    if let Some(code) = step.exit {
        agent.tidy();
        exit(code);
    }
    if agent.print_mode {
        agent.record("assistant", "PONG");
        say("PONG");
        agent.tidy();
        return ExitCode::SUCCESS;
    }
    if step.deaf_ms > 0 {
        clock::pause(Duration::from_millis(step.deaf_ms));
        let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
    }
    let code = converse(&mut agent, step);
    agent.tidy();
    exit(code)
}

/// claude ends with a code of its own on HUP, TERM and INT; codex and others just die.
pub(super) fn answer_signals(agent: &Agent, step: &Step) {
    if step.ignore_hup {
        let heard = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGTERM] {
            let _ = signal_hook::flag::register(signal, heard.clone());
        }
        return;
    }
    let registration = match &agent.kind {
        Kind::Claude(claude) => Some(claude.registration()),
        Kind::Codex(_) | Kind::Other => None,
    };
    if registration.is_none() && !step.polite_hup {
        return;
    }
    let polite = step.polite_hup;
    let heard: &[i32] = if polite { &[SIGHUP, SIGTERM] } else { &[SIGHUP, SIGTERM, SIGINT] };
    let Ok(mut signals) = Signals::new(heard) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            if let Some(registration) = registration {
                let _ = std::fs::remove_file(registration);
            }
            exit(if polite || signal == SIGINT { 0 } else { 128 + signal });
        }
    });
}

fn login_text(agent: &Agent) -> &'static str {
    match &agent.kind {
        Kind::Codex(_) => "Unexpected status 401 Unauthorized: invalid api key",
        Kind::Claude(_) | Kind::Other => "Not logged in · Please run /login",
    }
}

/// Reads the terminal until it says how to end.
fn converse(agent: &mut Agent, step: &Step) -> i32 {
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("exit" | "/exit" | "/quit"), code) => {
                return code.and_then(|code| code.parse().ok()).unwrap_or(0);
            }
            (Some("crash"), None) => end_by_signal(11),
            (Some(status @ ("busy" | "idle")), None) => agent.status(status),
            (Some("/clear"), None) => {
                if let Kind::Claude(claude) = &mut agent.kind {
                    claude.clear();
                    claude.status("idle");
                    say(&format!("stub claude {}", claude.id()));
                }
            }
            (None, _) => {}
            _ => {
                agent.record("user", &line);
                agent.record("assistant", "PONG");
                say("PONG");
            }
        }
    }
    if is_hung_up() {
        // The real claude ends by itself seconds later, codex does not. Both count on HUP, which
        // answers before this.
        if matches!(agent.kind, Kind::Claude(_)) && !step.ignore_hup {
            clock::pause(Duration::from_secs(7));
            return 0;
        }
        sleep_for_ever();
    }
    if step.ignore_hup {
        sleep_for_ever();
    }
    0
}

/// A terminal whose other side is gone reads as ended, just like Ctrl-D.
fn is_hung_up() -> bool {
    let stdin = std::io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let polled = poll(&mut fds, Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 }));
    polled.is_ok() && fds[0].revents().contains(PollFlags::HUP)
}

fn sleep_for_ever() -> ! {
    loop {
        std::thread::park();
    }
}

fn write_pids(ledger: &Ledger, around: &Surroundings) {
    let path = ledger.pids(around.session().unwrap_or("unnamed"));
    std::thread::spawn(move || {
        loop {
            append(&path, &std::process::id().to_string());
            clock::pause(Duration::from_secs(1));
        }
    });
}

fn allocate(mib: u64) {
    let mut held = Vec::new();
    while mib == 0 || (held.len() as u64) < mib {
        // Written to, so that the kernel has to find real pages.
        held.push(vec![1_u8; 1024 * 1024]);
    }
    std::mem::forget(held);
}

fn end_by_signal(raw: i32) -> ! {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    let _ = setrlimit(Resource::Core, none);
    let Some(signal) = Signal::from_named_raw(raw) else { exit(70) };
    loop {
        // Twice for SIGSEGV: the first only takes away the handler of Rust's runtime.
        let _ = kill_process(getpid(), signal);
        clock::pause(Duration::from_millis(1));
    }
}
