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

/// A commit is in few pull requests; more are not looked at.
const MOST_PULL_REQUESTS: usize = 20;

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
    let repository = event.number("repository.id");
    let checked = |list: &str, commit: Option<Object>| {
        let count = event.payload.length(list).unwrap_or(0).min(MOST_PULL_REQUESTS);
        let number = |index, path| match event.payload.item(list, index, path) {
            Some(Value::Number(number)) => number.as_u64(),
            _ => None,
        };
        let pull_request = |index| {
            // A number is another pull request's in another repository.
            let is_ours = number(index, "base.repo.id").is_some_and(|it| Some(it) == repository);
            number(index, "number").filter(|_| is_ours).map(Object::PullRequest)
        };
        (0..count).map(pull_request).chain([commit]).collect::<Vec<_>>()
    };
    let found = match event.kind {
        "push" => vec![branch("repository.full_name", "ref"), commit("after")],
        "workflow_run" => [
            event.number("workflow_run.id").map(Object::Run),
            branch("workflow_run.head_repository.full_name", "workflow_run.head_branch"),
        ]
        .into_iter()
        .chain(checked("workflow_run.pull_requests", commit("workflow_run.head_sha")))
        .collect(),
        "workflow_job" => vec![
            event.number("workflow_job.run_id").map(Object::Run),
            commit("workflow_job.head_sha"),
        ],
        "check_run" => checked("check_run.pull_requests", commit("check_run.head_sha")),
        "check_suite" => checked("check_suite.pull_requests", commit("check_suite.head_sha")),
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
    use crate::{Json, Number};

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
        // A commit that was pushed later is still the pull request's.
        let id = |id| Json::Number(Number::integer(id));
        let object = |name: &str, value| Json::Object(vec![(name.to_owned(), value)]);
        let pull_request = |number, repository| {
            let base = object("repo", object("id", id(repository)));
            Json::Object(vec![("number".to_owned(), id(number)), ("base".to_owned(), base)])
        };
        let list = Json::List(vec![pull_request(7, 1), pull_request(8, 2), Json::Null]);
        let run = vec![("head_sha".to_owned(), Json::text("new")), ("pull_requests".into(), list)];
        let payload = Json::Object(vec![
            ("repository".to_owned(), object("id", id(1))),
            ("check_run".to_owned(), Json::Object(run)),
        ]);
        let event = Event { topic: None, kind: "check_run", sender: None, payload: &payload };
        let expected = [Object::PullRequest(7), Object::Commit("new".to_owned())];
        assert_eq!(objects_of(&event), expected, "8 is another repository's");
        check("status", &[("sha", "abc")], &["commit:abc"]);
        for bad in ["", "pr", "pr:x", "pr:-1", "thing:1"] {
            assert_eq!(Object::parse(bad), None, "{bad:?}");
        }
    }
}
