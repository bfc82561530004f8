//! Other processes: this very test program, run again with a task in its environment.

use std::convert::Infallible;
use std::env;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use agent_box_session::{Agent, SessionSpec};

use crate::home::{name, open, operator};

const TASK: &str = "STORE_TEST_TASK";
const HOME: &str = "STORE_TEST_HOME";

/// A command that runs `task` on the store below `home`.
pub(crate) fn command(home: &Path, task: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", "child::runs_its_task", "--nocapture"])
        .env(TASK, task)
        .env(HOME, home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

pub(crate) fn spawn(home: &Path, task: &str) -> Child {
    command(home, task).spawn().unwrap()
}

/// Waits for success; says what a failed one printed.
#[track_caller]
pub(crate) fn succeed(child: Child) {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
}

/// Whether SIGKILL ended it.
pub(crate) fn was_killed(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    status.signal() == Some(9)
}

/// Waits until it holds the lock ([`HOLD`]).
pub(crate) fn wait_locked(child: &mut Child) {
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("locked")), "it never had the lock");
}

/// The task that holds the registry's lock until its stdin ends.
pub(crate) const HOLD: &str = "hold";

#[test]
fn runs_its_task() {
    let (Some(task), Some(home)) = (env::var_os(TASK), env::var_os(HOME)) else { return };
    let task = task.into_string().unwrap();
    let store = open(Path::new(&home));
    let words: Vec<&str> = task.split(' ').collect();
    match words[..] {
        [HOLD] => store
            .transact(operator("hold"), |_| -> Result<(), Infallible> {
                std::io::stdout().write_all(b"locked\n").unwrap();
                std::io::stdout().flush().unwrap();
                std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
                Ok(())
            })
            .unwrap(),
        ["add", key] => {
            store
                .transact(operator(&task), |tx| {
                    tx.add(name(key), SessionSpec::new(Agent::Shell), "child")
                })
                .unwrap();
        }
        ["rm", key] => {
            store.transact(operator(&task), |tx| tx.delist(&name(key), "child")).unwrap();
        }
        ["stop", key] => {
            store.transact(operator(&task), |tx| tx.stop(&name(key), "child")).unwrap();
        }
        // Counts in a field of one session, and in a key that all share.
        ["count", key, times] => {
            for _ in 0..times.parse().unwrap() {
                store
                    .transact(operator("count"), |tx| {
                        let total = tx.extra("total").and_then(|it| it.as_u64()).unwrap_or(0);
                        tx.set_extra("total", (total + 1).into());
                        tx.intend(&name(key), |entry| {
                            let tasks = &mut entry.spec.limits.tasks_max;
                            *tasks = Some(tasks.unwrap_or(0) + 1);
                        })
                    })
                    .unwrap();
            }
        }
        ["journal", times] => {
            use agent_box_session_store::{Event, EventKind};
            for number in 0..times.parse().unwrap() {
                let event = Event::new(store.now(), EventKind::Spawn, format!("number {number}"));
                store.journal().append(&event).unwrap();
            }
        }
        ["env", key] => {
            store.edit_env(|env| env.set(key, "value")).unwrap();
        }
        _ => panic!("unknown task {task}"),
    }
}
