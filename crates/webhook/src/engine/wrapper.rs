//! The spawn wrapper, asked from here: a child process with an environment made for it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use agent_box_event::contract::{ACCEPTED, Answer, Request, Status, Told};
use agent_box_event::{Cut, Json, sanitize};

use super::child::{Ended, Words, run};
use crate::to_event_json;

/// How long `status` may take: an answer that is later than this is none.
const STATUS_DEADLINE: Duration = Duration::from_secs(5);
/// How long `deliver` may take.
const DELIVER_DEADLINE: Duration = Duration::from_secs(30);

/// How the wrapper is reached.
#[derive(Clone, Debug)]
pub struct Wrapper {
    /// The wrapper of this version, which also answers `status` and `deliver`.
    pub program: PathBuf,
    /// The operator's own command for a batch, run by a shell; it gets the same variables.
    pub command: Option<OsString>,
    /// The whole environment of its children.
    pub environment: Vec<(OsString, OsString)>,
    /// How long it may take for a batch.
    pub deadline: Duration,
}

/// How a run for a batch ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The exit code; `None` if there is none, or if it promises an answer that is not there.
    pub(crate) exit: Option<i32>,
    /// The session, if it was accepted.
    pub(crate) answer: Option<Answer>,
    /// What was said about it; one line.
    pub(crate) reason: String,
}

impl Wrapper {
    /// Whether there is something to hand a batch to.
    pub(crate) fn is_usable(&self) -> bool {
        self.command.is_some() || self.program.is_file()
    }

    /// Hands a batch over.
    pub(crate) async fn spawn(&self, request: &Request, text: String) -> Run {
        let mut words = match &self.command {
            None => self.words(&[]),
            Some(command) => Words {
                program: "/bin/sh".into(),
                arguments: vec!["-c".into(), command.clone()],
                environment: self.environment.clone(),
            },
        };
        let variables = request.variables().into_iter();
        words.environment.extend(variables.map(|(name, value)| (name.into(), value.into())));
        let ended = run(words, text.into_bytes(), self.deadline).await;
        self.read(ended)
    }

    fn read(&self, ended: Ended) -> Run {
        let Ended { exit, stdout, reason } = ended;
        if exit != Some(ACCEPTED) {
            return Run { exit, answer: None, reason };
        }
        let answer = parse(&stdout).as_ref().and_then(Answer::read);
        match answer {
            Some(answer) => Run { exit, answer: Some(answer), reason },
            // A command of the operator's own need not know sessions; what it accepted is done.
            None if self.command.is_some() => Run { exit, answer: None, reason },
            None => {
                let said = sanitize(&String::from_utf8_lossy(&stdout), Cut::VALUE);
                let reason = format!("the wrapper accepted and named no session: {said:?}");
                Run { exit: None, answer: None, reason }
            }
        }
    }

    /// Asks which sessions there are; else says why nobody knows.
    pub(crate) async fn status(&self) -> Result<Status, String> {
        let ended = run(self.words(&["status", "--json"]), Vec::new(), STATUS_DEADLINE).await;
        let status = parse(&ended.stdout).as_ref().and_then(Status::read);
        match (ended.exit, status) {
            (Some(0), Some(status)) => Ok(status),
            (Some(0), None) => Err("the wrapper's status cannot be read".to_owned()),
            _ => Err(ended.reason),
        }
    }

    /// Tells a session's agent in the agent's own way; else says why nothing is known of it.
    pub(crate) async fn deliver(&self, session_id: &str, text: String) -> Result<Told, String> {
        let words = self.words(&["deliver", "--session-id", session_id]);
        let ended = run(words, text.into_bytes(), DELIVER_DEADLINE).await;
        let told = parse(&ended.stdout).as_ref().and_then(Told::read);
        told.ok_or(ended.reason)
    }

    fn words(&self, arguments: &[&str]) -> Words {
        Words {
            program: self.program.clone().into(),
            arguments: arguments.iter().map(Into::into).collect(),
            environment: self.environment.clone(),
        }
    }
}

fn parse(stdout: &[u8]) -> Option<Json> {
    serde_json::from_slice(stdout).ok().as_ref().map(to_event_json)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapper(script: &str, is_own: bool) -> (tempfile::TempDir, Wrapper) {
        use std::os::unix::fs::PermissionsExt as _;

        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("wrapper");
        let text = format!("#!/bin/sh\n{script}\n");
        std::fs::File::create(&program)
            .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()))
            .unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let wrapper = Wrapper {
            program,
            command: is_own.then(|| script.into()),
            environment: vec![("PATH".into(), path)],
            deadline: Duration::from_secs(20),
        };
        (directory, wrapper)
    }

    async fn spawn(script: &str, is_own: bool) -> Run {
        let (_directory, wrapper) = wrapper(script, is_own);
        let request = Request { count: 3, ..Request::default() };
        wrapper.spawn(&request, "text".to_owned()).await
    }

    #[tokio::test]
    async fn an_answer_is_read_and_one_that_is_missing_is_no_success() {
        let said = r#"echo "{\"sessionId\":\"$(cat)\",\"name\":\"n$LOCAL_WEBHOOK_SPAWN_COUNT\"}""#;
        let run = spawn(said, false).await;
        let answer = Answer { session_id: "text".to_owned(), name: "n3".to_owned() };
        assert_eq!((run.exit, run.answer), (Some(0), Some(answer)));
        let run = spawn("echo hello", false).await;
        assert_eq!((run.exit, run.answer), (None, None));
        assert!(run.reason.contains("named no session: \"hello"), "{}", run.reason);
        let run = spawn("echo the box is full >&2; exit 75", false).await;
        assert_eq!((run.exit, run.reason.as_str()), (Some(75), "the box is full"));
    }

    #[tokio::test]
    async fn an_operators_own_command_need_not_name_a_session() {
        let run = spawn("echo hello", true).await;
        assert_eq!((run.exit, run.answer), (Some(0), None));
    }

    #[tokio::test]
    async fn a_status_that_is_not_one_says_why() {
        let status = |script: &'static str| async move {
            let (_directory, wrapper) = wrapper(script, false);
            wrapper.status().await
        };
        let good = r#"[ "$*" = "status --json" ] && echo '{"hookSessions":{"live":1,"max":4},"sessions":[],"claimedUpTo":[]}'"#;
        assert_eq!(
            status(good).await,
            Ok(Status { live: 1, max: 4, sessions: Vec::new(), claimed: Vec::new() })
        );
        assert!(status("echo '{}'").await.unwrap_err().contains("cannot be read"));
        assert_eq!(status("echo no registry >&2; exit 3").await, Err("no registry".to_owned()));
    }

    #[tokio::test]
    async fn what_a_session_was_told_is_read_whatever_the_code() {
        let deliver = |script: &'static str| async move {
            let (_directory, wrapper) = wrapper(script, false);
            wrapper.deliver("i", "text".to_owned()).await
        };
        let good =
            r#"[ "$* $(cat)" = "deliver --session-id i text" ] && echo '{"told":"delivered"}'"#;
        assert_eq!(deliver(good).await, Ok(Told::Delivered));
        let waits = r#"echo '{"told":"waiting","reason":"a dialog is open"}'; exit 75"#;
        assert_eq!(deliver(waits).await, Ok(Told::Waiting("a dialog is open".to_owned())));
        assert_eq!(deliver("echo broken >&2; exit 1").await, Err("broken".to_owned()));
    }
}
