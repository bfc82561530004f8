//! Rules that the operator declared for watches, laid over the rows when something is decided.
//!
//! Laid over at every decision and never written into the rows, so a watch that was added or
//! edited a moment ago is governed too, and a policy that cannot be read changes nothing else.

use crate::{Filter, Muted, Predicate, TopicPattern};

/// What is declared for one pattern.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeclaredRules {
    /// Replaces the row's `include`.
    pub include: Option<Predicate>,
    /// Replaces the row's `exclude`.
    pub exclude: Option<Predicate>,
    /// Replaces the row's muted senders.
    pub muted: Vec<Muted>,
    /// Replaces the row's note, if there is one.
    pub note: Option<String>,
}

/// All that is declared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    /// By pattern; a row is governed by the first that is the same as its own.
    pub rules: Vec<(TopicPattern, DeclaredRules)>,
}

impl Policy {
    /// The filter as it counts: the governed rows have the declared rules and keep the rest.
    #[must_use]
    pub fn govern(&self, filter: &Filter) -> Filter {
        let mut governed = filter.clone();
        for row in &mut governed.rows {
            let declared = self.rules.iter().find(|(pattern, _)| pattern.is_same(&row.pattern));
            let Some((_, rules)) = declared else { continue };
            row.include.clone_from(&rules.include);
            row.exclude.clone_from(&rules.exclude);
            row.muted.clone_from(&rules.muted);
            if rules.note.is_some() {
                row.note.clone_from(&rules.note);
            }
        }
        governed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subscription::tests::row;
    use crate::{Json, Test};

    #[test]
    fn declared_rules_replace_those_of_the_same_pattern_in_any_case() {
        let rule = Predicate::Leaf("action".to_owned(), Test::In(vec![Json::text("opened")]));
        let declared = DeclaredRules { include: Some(rule.clone()), ..DeclaredRules::default() };
        let pattern = TopicPattern::parse("GITHUB:O/*").unwrap();
        let policy = Policy { rules: vec![(pattern, declared)] };
        let mut ours = row("github:o/*");
        (ours.exclude, ours.muted, ours.ttl_ms) =
            (Some(rule.clone()), vec![Muted::Myself], Some(0));
        ours.note = Some("kept".to_owned());
        let filter = Filter { enabled: true, ttl_ms: None, rows: vec![ours.clone(), row("o/r")] };
        let governed = policy.govern(&filter);
        (ours.include, ours.exclude, ours.muted) = (Some(rule), None, Vec::new());
        assert_eq!(governed.rows, [ours, row("o/r")]);
    }
}
