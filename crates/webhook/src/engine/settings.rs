//! How dispatch is limited on this box: the member `dispatch` of `sources.json`, read anew at
//! every pass, so that an edit needs no restart.
//!
//! ```json
//! { "dispatch": { "windowSeconds": 60, "perDay": 200, "perSource": 100, "perSender": 20,
//!                 "minimumAssociation": "CONTRIBUTOR" } }
//! ```
//!
//! Every member may be absent; without any, the window is a minute, nothing is budgeted and every
//! author counts. The cap is not among them: it is the spawn wrapper's, which says it in `status`.

use std::time::Duration;

use agent_box_event::{Association, Budgets};
use serde_json::Value;

/// What limits the dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) window: Duration,
    pub(crate) budgets: Budgets,
    /// What is asked of authors in public repositories.
    pub(crate) minimum: Option<Association>,
}

impl Settings {
    /// Reads them; a member that cannot be read is as strict as can be: a budget of nothing, an
    /// owner's word. It is named, for the log.
    pub(crate) fn read(sources: &Value, window: Duration) -> (Self, Vec<String>) {
        let none = Self { window, budgets: Budgets::default(), minimum: None };
        let Some(dispatch) = sources.get("dispatch") else { return (none, Vec::new()) };
        let mut problems = Vec::new();
        if !dispatch.is_object() {
            problems.push("`dispatch` in sources.json is no object and is ignored".to_owned());
            return (none, problems);
        }
        let mut number = |name: &str| {
            let given = dispatch.get(name)?;
            let number = given.as_u64().and_then(|it| usize::try_from(it).ok());
            if number.is_none() {
                problems.push(format!(
                    "`dispatch.{name}` in sources.json is no whole number and counts as 0"
                ));
            }
            Some(number.unwrap_or(0))
        };
        let window = number("windowSeconds").map_or(window, |it| Duration::from_secs(it as u64));
        let budgets = Budgets {
            per_day: number("perDay"),
            per_source: number("perSource"),
            per_sender: number("perSender"),
        };
        let minimum = dispatch.get("minimumAssociation").and_then(|given| {
            let word = given.as_str().unwrap_or_default();
            let association = Association::parse(word);
            match (association, word) {
                (Association::Stranger, "NONE") => None,
                (Association::Stranger, _) => {
                    problems.push(
                        "`dispatch.minimumAssociation` in sources.json is none of OWNER, MEMBER, \
                         COLLABORATOR, CONTRIBUTOR, FIRST_TIMER and NONE, and counts as OWNER"
                            .to_owned(),
                    );
                    Some(Association::Owner)
                }
                (association, _) => Some(association),
            }
        });
        (Self { window, budgets, minimum }, problems)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    #[test]
    fn absent_members_limit_nothing_and_unreadable_ones_limit_all() {
        let read = |sources: Value| Settings::read(&sources, MINUTE);
        let none = Settings { window: MINUTE, budgets: Budgets::default(), minimum: None };
        assert_eq!(read(json!({"sources": {}})), (none, Vec::new()));
        assert_eq!(read(json!({"dispatch": {"minimumAssociation": "NONE"}})), (none, Vec::new()));
        let given = json!({"dispatch": {
            "windowSeconds": 5, "perDay": 9, "perSender": 2, "minimumAssociation": "MEMBER"
        }});
        let expected = Settings {
            window: Duration::from_secs(5),
            budgets: Budgets { per_day: Some(9), per_source: None, per_sender: Some(2) },
            minimum: Some(Association::Member),
        };
        assert_eq!(read(given), (expected, Vec::new()));
        let (strict, problems) =
            read(json!({"dispatch": {"perDay": "9", "minimumAssociation": "member"}}));
        assert_eq!(strict.budgets.per_day, Some(0));
        assert_eq!(strict.minimum, Some(Association::Owner));
        assert_eq!(problems.len(), 2, "{problems:?}");
    }
}
