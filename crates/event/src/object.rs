//! The things that work is about: a pull request, an issue, a branch, a run, a commit.
//!
//! Claims are for these and not for whole repositories, so that one session's work on one pull
//! request does not hide an unrelated failure.

use std::fmt;

use crate::{Event, Value};

/// One thing inside a topic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Object {
    /// A pull request, by number.
    PullRequest(u64),
    /// An issue that is no pull request, by number.
    Issue(u64),
    /// A CI run, by id.
    Run(u64),
    /// A branch, as `owner/repository@name`: a fork's `main` is not ours.
    Branch(String),
    /// A commit, by hash.
    Commit(String),
}

impl Object {
    /// Reads what [`fmt::Display`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once(':')?;
        match kind {
            "pr" => name.parse().ok().map(Self::PullRequest),
            "issue" => name.parse().ok().map(Self::Issue),
            "run" => name.parse().ok().map(Self::Run),
            "branch" => Some(Self::Branch(name.to_owned())),
            "commit" => Some(Self::Commit(name.to_owned())),
            _ => None,
        }
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PullRequest(number) => write!(f, "pr:{number}"),
            Self::Issue(number) => write!(f, "issue:{number}"),
            Self::Run(id) => write!(f, "run:{id}"),
            Self::Branch(name) => write!(f, "branch:{name}"),
            Self::Commit(hash) => write!(f, "commit:{hash}"),
        }
    }
}

/// What an event is about, by the fields that GitHub's payloads have; empty for all others.
pub fn objects_of(event: &Event<'_>) -> Vec<Object> {
    let branch = |repository: &str, name: &str| {
        let (repository, name) = (event.text(repository)?, event.text(name)?);
        let name = name.strip_prefix("refs/heads/").unwrap_or(name);
        Some(Object::Branch(format!("{repository}@{name}")))
    };
    let commit = |path: &str| event.text(path).map(|hash| Object::Commit(hash.to_owned()));
    let issue = || {
        let number = event.number("issue.number")?;
        let is_pull_request = event.payload.at("issue.pull_request") == Some(Value::Nested);
        Some(if is_pull_request { Object::PullRequest(number) } else { Object::Issue(number) })
    };
    let found = match event.kind {
        "push" => vec![branch("repository.full_name", "ref"), commit("after")],
        "workflow_run" => vec![
            event.number("workflow_run.id").map(Object::Run),
            branch("workflow_run.head_repository.full_name", "workflow_run.head_branch"),
            commit("workflow_run.head_sha"),
        ],
        "workflow_job" => vec![
            event.number("workflow_job.run_id").map(Object::Run),
            commit("workflow_job.head_sha"),
        ],
        "check_run" => vec![commit("check_run.head_sha")],
        "check_suite" => vec![commit("check_suite.head_sha")],
        "status" => vec![commit("sha")],
        "deployment_status" => vec![commit("deployment.sha")],
        _ => vec![
            event.number("pull_request.number").map(Object::PullRequest),
            branch("pull_request.head.repo.full_name", "pull_request.head.ref"),
            commit("pull_request.head.sha"),
            issue(),
        ],
    };
    found.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::tests::payload;

    #[test]
    fn objects_of_each_kind_and_reading_what_they_print() {
        let check = |kind: &str, fields: &[(&str, &str)], expected: &[&str]| {
            let payload = payload(fields);
            let event = Event { topic: None, kind, sender: None, payload: &payload };
            let objects = objects_of(&event);
            let printed: Vec<String> = objects.iter().map(Object::to_string).collect();
            assert_eq!(printed, expected, "{kind}");
            let read: Vec<Object> = printed.iter().filter_map(|it| Object::parse(it)).collect();
            assert_eq!(read, objects);
        };
        check("star", &[], &[]);
        check("issues", &[("issue.number", "7")], &["issue:7"]);
        let on_pull_request = [("issue.number", "7"), ("issue.pull_request", "{}")];
        check("issue_comment", &on_pull_request, &["pr:7"]);
        let pull_request = [
            ("pull_request.number", "7"),
            ("pull_request.head.repo.full_name", "fork/r"),
            ("pull_request.head.ref", "main"),
            ("pull_request.head.sha", "abc"),
        ];
        let objects = ["pr:7", "branch:fork/r@main", "commit:abc"];
        check("pull_request_review", &pull_request, &objects);
        let push = [("repository.full_name", "o/r"), ("ref", "refs/heads/a/b"), ("after", "abc")];
        check("push", &push, &["branch:o/r@a/b", "commit:abc"]);
        let run = [
            ("workflow_run.id", "99"),
            ("workflow_run.head_branch", "main"),
            ("workflow_run.head_repository.full_name", "o/r"),
        ];
        check("workflow_run", &run, &["run:99", "branch:o/r@main"]);
        check("workflow_job", &[("workflow_job.run_id", "99")], &["run:99"]);
        check("status", &[("sha", "abc")], &["commit:abc"]);
        for bad in ["", "pr", "pr:x", "pr:-1", "thing:1"] {
            assert_eq!(Object::parse(bad), None, "{bad:?}");
        }
    }
}
