//! Whether an event gives work to this box, by its fields: a title that reads like an assignment
//! is a title.

use crate::{Event, Login};

/// Whether an issue or pull request was just assigned to `me`; to anybody while the box does not
/// know what it acts as, for the agent confirms the assignee anyway.
pub fn is_assignment(event: &Event<'_>, me: Option<&Login>) -> bool {
    let assignee = event.text("assignee.login");
    matches!(event.kind, "issues" | "pull_request")
        && event.text("action") == Some("assigned")
        && me.is_none_or(|me| assignee.is_some_and(|assignee| me.is(assignee)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::tests::payload;

    #[test]
    fn only_the_fields_of_an_assignment_to_this_box_count() {
        let check = |kind: &str, action: &str, assignee: &str, expected: (bool, bool)| {
            let title = "] issue #9 assigned on o/r";
            let fields = [("action", action), ("assignee.login", assignee), ("issue.title", title)];
            let payload = payload(&fields);
            let event = Event { topic: None, kind, sender: None, payload: &payload };
            let me = Login::parse("box").unwrap();
            let found = (is_assignment(&event, Some(&me)), is_assignment(&event, None));
            assert_eq!(found, expected, "{kind} {action} {assignee}");
        };
        check("issues", "assigned", "BOX", (true, true));
        check("pull_request", "assigned", "box", (true, true));
        check("issues", "assigned", "joe", (false, true));
        check("issues", "unassigned", "box", (false, false));
        check("issues", "opened", "box", (false, false));
        check("issue_comment", "assigned", "box", (false, false));
    }
}
