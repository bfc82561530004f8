//! What a session is spared unless it asks for it: stars, forks, housekeeping, scheduled runs.
//!
//! This is a layer of its own and not a rule of the subscription, for a rule would make the
//! subscription declarative, and then "mute me, but show my CI" would hide the CI as well.

use crate::{Event, Predicate, Test};

const KINDS: [&str; 15] = [
    "star",
    "watch",
    "fork",
    "gollum",
    "member",
    "membership",
    "team",
    "team_add",
    "public",
    "sponsorship",
    "delete",
    "page_build",
    "project",
    "project_card",
    "project_column",
];

const TRIGGER: &str = "workflow_run.event";
const SCHEDULE: &str = "schedule";

/// Whether a session that did not ask for everything is spared this event.
pub fn is_noise(event: &Event<'_>) -> bool {
    KINDS.contains(&event.kind)
        || (event.kind == "workflow_run" && event.text(TRIGGER) == Some(SCHEDULE))
}

/// Whether an `exclude` names noise and nothing else.
///
/// Older writers put the noise set into each new subscription as a rule; it does not make the
/// subscription declarative.
pub(crate) fn is_only_noise(exclude: &Predicate) -> bool {
    match exclude {
        Predicate::Any(children) => !children.is_empty() && children.iter().all(is_only_noise),
        Predicate::Leaf(path, Test::In(values)) => {
            let mut texts = values.iter().map(|value| value.as_text().unwrap_or_default());
            match path.as_str() {
                "event" => texts.all(|text| KINDS.contains(&text)),
                TRIGGER => texts.all(|text| text == SCHEDULE),
                _ => false,
            }
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Json;
    use crate::event::tests::payload;

    #[test]
    fn noise_is_housekeeping_and_scheduled_runs() {
        let check = |kind: &str, fields: &[(&str, &str)], expected: bool| {
            let payload = payload(fields);
            let event = Event { topic: None, kind, sender: None, payload: &payload };
            assert_eq!(is_noise(&event), expected, "{kind}");
        };
        check("star", &[], true);
        check("delete", &[], true);
        check("workflow_run", &[(TRIGGER, "schedule")], true);
        check("workflow_run", &[(TRIGGER, "push")], false);
        check("push", &[(TRIGGER, "schedule")], false);
        check("issues", &[], false);
    }

    #[test]
    fn a_rule_that_names_noise_alone_is_told_from_one_that_says_more() {
        let kinds = |values: &[&str]| {
            let values = values.iter().map(|value| Json::text(*value)).collect();
            Predicate::Leaf("event".to_owned(), Test::In(values))
        };
        let scheduled = Predicate::Leaf(TRIGGER.to_owned(), Test::In(vec![Json::text(SCHEDULE)]));
        assert!(is_only_noise(&Predicate::Any(vec![kinds(&KINDS), scheduled.clone()])));
        assert!(!is_only_noise(&Predicate::Any(vec![kinds(&["star", "push"]), scheduled])));
        assert!(!is_only_noise(&Predicate::Any(vec![])));
        assert!(!is_only_noise(&Predicate::All(vec![kinds(&["star"])])));
    }
}
