//! How close an author is to a repository, for boxes that watch public ones: any stranger can
//! open an issue there, and each would cost a session.

use crate::{Event, Value};

/// GitHub's author association, from stranger to owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Association {
    /// No connection, a placeholder account, or a word that is not known.
    Stranger,
    /// Has never committed anywhere, or not here.
    Newcomer,
    /// Has committed here before.
    Contributor,
    /// Was invited.
    Collaborator,
    /// Belongs to the organisation.
    Member,
    /// Owns the repository.
    Owner,
}

impl Association {
    /// Reads GitHub's word.
    pub fn parse(text: &str) -> Self {
        match text {
            "OWNER" => Self::Owner,
            "MEMBER" => Self::Member,
            "COLLABORATOR" => Self::Collaborator,
            "CONTRIBUTOR" => Self::Contributor,
            "FIRST_TIMER" | "FIRST_TIME_CONTRIBUTOR" => Self::Newcomer,
            _ => Self::Stranger,
        }
    }
}

/// Whether an event may start a session when at least `minimum` is asked of authors.
///
/// In a private repository everybody was let in. Elsewhere the words' author is asked, where the
/// author is who acted: others can only act on an issue or pull request with rights to it, as
/// they can only push or run CI with them.
pub fn passes_association(event: &Event<'_>, minimum: Association) -> bool {
    if event.payload.at("repository.private") == Some(Value::Bool(true)) {
        return true;
    }
    // From the innermost: a comment by a stranger on an owner's issue is a stranger's.
    let authored = ["comment", "review", "issue", "pull_request", "discussion"];
    let Some(thing) = authored.into_iter().find(|thing| event.payload.at(thing).is_some()) else {
        return !matches!(event.kind, "star" | "watch" | "fork");
    };
    let author = event.text(&format!("{thing}.user.login"));
    let acted_on_others = match (author, event.sender) {
        (Some(author), Some(sender)) => !author.eq_ignore_ascii_case(sender),
        _ => false,
    };
    let association = event.text(&format!("{thing}.author_association"));
    acted_on_others || Association::parse(association.unwrap_or_default()) >= minimum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Json;
    use crate::event::tests::payload;

    #[test]
    fn strangers_words_start_nothing_and_insiders_acts_do() {
        let check = |kind: &str, sender: &str, fields: &[(&str, &str)], expected: bool| {
            let payload = payload(fields);
            let event = Event { topic: None, kind, sender: Some(sender), payload: &payload };
            let passes = passes_association(&event, Association::Contributor);
            assert_eq!(passes, expected, "{kind} {fields:?}");
        };
        let issue = |word| [("issue.user.login", "joe"), ("issue.author_association", word)];
        for word in ["OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR"] {
            check("issues", "joe", &issue(word), true);
        }
        for word in ["NONE", "MANNEQUIN", "FIRST_TIMER", "FIRST_TIME_CONTRIBUTOR", "", "new"] {
            check("issues", "Joe", &issue(word), false);
        }
        check("issues", "maintainer", &issue("NONE"), true);
        let comment = [
            ("issue.user.login", "owner"),
            ("issue.author_association", "OWNER"),
            ("comment.user.login", "joe"),
            ("comment.author_association", "NONE"),
        ];
        check("issue_comment", "joe", &comment, false);
        check("issues", "joe", &[("issue", "{}")], false);
        check("push", "joe", &[], true);
        check("star", "joe", &[], false);
        let private = Json::Object(vec![(
            "repository".to_owned(),
            Json::Object(vec![("private".to_owned(), Json::Bool(true))]),
        )]);
        let event = Event { topic: None, kind: "star", sender: None, payload: &private };
        assert!(passes_association(&event, Association::Owner));
    }
}
