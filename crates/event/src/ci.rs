//! Which events are CI results, and which of them say that something broke.

use crate::Event;

const KINDS: [&str; 6] =
    ["workflow_run", "workflow_job", "check_run", "check_suite", "status", "deployment_status"];

pub(crate) const FAILING: [&str; 6] =
    ["failure", "timed_out", "action_required", "startup_failure", "stale", "error"];

/// Whether the event is of a kind that CI sends.
pub fn is_ci(kind: &str) -> bool {
    KINDS.contains(&kind)
}

/// Whether a conclusion or state is one of something that broke.
pub(crate) fn is_failing_value(value: &str) -> bool {
    FAILING.contains(&value)
}

/// Whether a CI event says that something broke.
///
/// A completed run without a conclusion counts as broken, so that an unknown shape never hides a
/// break; one that is still running does not.
pub fn is_failing(event: &Event<'_>) -> bool {
    match event.kind {
        "status" => event.text("state").is_some_and(is_failing_value),
        "deployment_status" => event.text("deployment_status.state").is_some_and(is_failing_value),
        kind if is_ci(kind) => {
            if event.payload.at("action").is_some() && event.text("action") != Some("completed") {
                return false;
            }
            let runs = ["workflow_run", "workflow_job", "check_run", "check_suite"];
            let run = runs.into_iter().find(|run| event.payload.at(run).is_some());
            let conclusion = run.and_then(|run| event.text(&format!("{run}.conclusion")));
            conclusion.is_none_or(is_failing_value)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::tests::payload;

    fn check(kind: &str, fields: &[(&str, &str)], expected: bool) {
        let payload = payload(fields);
        let event = Event { topic: None, kind, sender: None, payload: &payload };
        assert_eq!(is_failing(&event), expected, "{kind} {fields:?}");
    }

    #[test]
    fn only_what_ended_badly_or_without_saying_how_is_failing() {
        for run in ["workflow_run", "workflow_job", "check_run", "check_suite"] {
            let path = format!("{run}.conclusion");
            for value in FAILING {
                check(run, &[("action", "completed"), (&path, value)], true);
                check(run, &[(&path, value)], true);
                check(run, &[("action", "requested"), (&path, value)], false);
            }
            for value in ["success", "neutral", "skipped", "cancelled"] {
                check(run, &[("action", "completed"), (&path, value)], false);
            }
            check(run, &[("action", "completed"), (run, "{}")], true);
            check(run, &[("action", "completed")], true);
            check(run, &[("action", "in_progress")], false);
        }
        check("status", &[("state", "error")], true);
        check("status", &[("state", "pending")], false);
        check("status", &[], false);
        check("deployment_status", &[("deployment_status.state", "failure")], true);
        check("deployment_status", &[("state", "failure")], false);
        check("push", &[("state", "failure")], false);
        check("", &[], false);
    }
}
