//! Running one child with bounds: its text in, its output out, a deadline, and nothing left over.

use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;

use agent_box_event::{Cut, sanitize};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// So much output is kept of each stream; the rest is read and dropped.
const KEPT: usize = 4 * 1024 * 1024;
/// How long the pipes of a child that ended may stay open in a process that it left behind.
const DRAIN: Duration = Duration::from_secs(1);
/// How much of a child's complaint becomes a reason.
const REASON: Cut = Cut { chars: 300, bytes: 1000 };

/// A child's program, arguments and whole environment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
}

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Its code; `None` if it did not start, was killed, or did not end in time.
    pub(crate) exit: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    /// The first line that it complained with, or why there is none; one line, printable.
    pub(crate) reason: String,
}

impl Ended {
    fn without_exit(reason: impl AsRef<str>) -> Self {
        Self { exit: None, stdout: Vec::new(), reason: sanitize(reason.as_ref(), REASON) }
    }
}

/// Runs a child to its end; after `deadline` its whole process group is killed.
pub(crate) async fn run(words: Words, text: Vec<u8>, deadline: Duration) -> Ended {
    let program = words.program.to_string_lossy().into_owned();
    let started = Command::new(&words.program)
        .args(&words.arguments)
        .env_clear()
        .envs(words.environment)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => return Ended::without_exit(format!("cannot start {program}: {error}")),
    };
    let group = Group::of(&child);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let exit = timeout(deadline, attend(&mut child, text, &mut stdout, &mut stderr)).await;
    let Ok(exit) = exit else {
        drop(group);
        let _ = child.wait().await;
        let seconds = deadline.as_secs_f32();
        return Ended::without_exit(format!("{program} did not end within {seconds} s"));
    };
    group.forget();
    Ended { exit, stdout, reason: reason(exit, &stderr, &program) }
}

/// Writes and reads at the same time, for either pipe may be full first.
async fn attend(
    child: &mut Child,
    text: Vec<u8>,
    stdout: &mut Vec<u8>,
    stderr: &mut Vec<u8>,
) -> Option<i32> {
    let (stdin, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async move {
        // A child that reads nothing closes its end; what counts is how it exits.
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(&text).await;
        }
    };
    let pipes = async { tokio::join!(write, keep(out, stdout), keep(err, stderr)) };
    tokio::pin!(pipes);
    let status = tokio::select! {
        status = child.wait() => {
            let _ = timeout(DRAIN, &mut pipes).await;
            status
        }
        _ = &mut pipes => child.wait().await,
    };
    status.ok()?.code()
}

async fn keep(pipe: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>) {
    let Some(mut pipe) = pipe else { return };
    let mut piece = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = pipe.read(&mut piece).await {
        let room = KEPT.saturating_sub(kept.len());
        kept.extend_from_slice(&piece[..count.min(room)]);
    }
}

fn reason(exit: Option<i32>, stderr: &[u8], program: &str) -> String {
    let text = String::from_utf8_lossy(stderr);
    let said = text.lines().find(|line| !line.trim().is_empty());
    let said = said.map(|line| sanitize(line.trim(), REASON));
    said.unwrap_or_else(|| match exit {
        Some(code) => format!("{program} exited {code} and said nothing"),
        None => format!("{program} was killed by a signal"),
    })
}

/// A process group that is killed unless its leader ended by itself.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // The group can be gone already.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Words {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Words {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: vec![("PATH".into(), path), ("GIVEN".into(), "yes".into())],
        }
    }

    const LONG: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn a_megabyte_goes_in_while_a_megabyte_comes_out() {
        let text = vec![b'x'; 1024 * 1024];
        let ended = run(shell("cat; echo gone wrong >&2; echo more >&2"), text.clone(), LONG).await;
        assert_eq!((ended.exit, ended.reason.as_str()), (Some(0), "gone wrong"));
        assert!(ended.stdout == text);
    }

    #[tokio::test]
    async fn a_child_that_reads_nothing_and_says_nothing_has_its_code() {
        let ended = run(shell("exit 75"), vec![b'x'; 1024 * 1024], LONG).await;
        assert_eq!(ended.exit, Some(75));
        assert_eq!(ended.reason, "/bin/sh exited 75 and said nothing");
        let ended = run(shell("kill -9 $$"), Vec::new(), LONG).await;
        assert_eq!(ended.exit, None);
    }

    #[tokio::test]
    async fn the_environment_is_what_was_given_and_nothing_else() {
        let ended = run(shell("echo $GIVEN; echo $HOME$USER"), Vec::new(), LONG).await;
        assert_eq!(String::from_utf8(ended.stdout).unwrap(), "yes\n\n");
    }

    #[tokio::test]
    async fn a_deadline_ends_the_whole_group() {
        let directory = tempfile::tempdir().unwrap();
        let note = directory.path().join("pid");
        let script = format!("sleep 600 & echo $! > {}; wait", note.display());
        let ended = run(shell(&script), Vec::new(), Duration::from_millis(500)).await;
        assert_eq!(ended.exit, None);
        assert!(ended.reason.contains("did not end within 0.5 s"), "{}", ended.reason);
        let pid: i32 = std::fs::read_to_string(&note).unwrap().trim().parse().unwrap();
        agent_box_testkit::within(10)
            .until("the grandchild is gone", || !agent_box_testkit::process::is_alive(pid));
    }

    #[tokio::test]
    async fn a_process_left_behind_with_the_pipes_does_not_keep_the_answer() {
        let ended = run(shell("sleep 5 & echo done"), Vec::new(), LONG).await;
        assert_eq!((ended.exit, ended.stdout), (Some(0), b"done\n".to_vec()));
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_named() {
        let words = Words { program: "/nonexistent/wrapper".into(), ..Words::default() };
        let ended = run(words, Vec::new(), LONG).await;
        assert_eq!(ended.exit, None);
        assert!(ended.reason.starts_with("cannot start /nonexistent/wrapper: "));
    }
}
