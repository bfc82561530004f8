//! Rules that the operator declared for watches, laid over the rows when something is decided.
//!
//! Laid over at every decision and never written into the rows, so a watch that was added or
//! edited a moment ago is governed too, and a policy that cannot be read changes nothing else.

mod usual;

use crate::filter_document::Rules;
use crate::{Cut, Filter, Json, Muted, Predicate, TopicPattern, sanitize};

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
    /// Reads a map from topic to `{when, drop, ignoreSenders, note}`, the rules under their older
    /// or newer names. What cannot be read is left out and warned of, each warning naming the
    /// topic; it never keeps the rest from counting.
    pub fn read(json: &Json) -> (Self, Vec<String>) {
        let Json::Object(members) = json else {
            return (Self::default(), vec!["the policy is no map of topics to rules".to_owned()]);
        };
        let (mut policy, mut warnings) = (Self::default(), Vec::new());
        for (topic, entry) in members {
            let topic_shown = sanitize(topic, Cut::VALUE);
            let mut warn = |what: &str| warnings.push(format!("{topic_shown}: {what}"));
            let pattern = match TopicPattern::parse(topic) {
                Ok(pattern) => pattern,
                Err(error) => {
                    warn(&error.to_string());
                    continue;
                }
            };
            let Json::Object(names) = entry else {
                warn("its rules are no object and are left out");
                continue;
            };
            if policy.rules.iter().any(|(known, _)| known.is_same(&pattern)) {
                warn("it is declared twice; the first counts");
                continue;
            }
            for (name, _) in names.iter().filter(|it| !Rules::NAMES.contains(&it.0.as_str())) {
                warn(&format!("`{}` is no rule and is ignored", sanitize(name, Cut::VALUE)));
            }
            let rules = Rules::read(entry);
            rules.problems.iter().for_each(|problem| warn(problem));
            let Rules { include, exclude, muted, note, .. } = rules;
            policy.rules.push((pattern, DeclaredRules { include, exclude, muted, note }));
        }
        (policy, warnings)
    }

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
    use crate::Test;
    use crate::subscription::tests::row;

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

    fn object(members: Vec<(&str, Json)>) -> Json {
        Json::Object(members.into_iter().map(|(name, it)| (name.to_owned(), it)).collect())
    }

    #[test]
    fn a_policy_is_read_around_what_cannot_be_read() {
        let rule = object(vec![("path", Json::text("a")), ("in", Json::List(vec![Json::Null]))]);
        let senders = Json::List(vec![Json::text("@self"), Json::Null, Json::text("Joe")]);
        let full = object(vec![
            ("when", rule.clone()),
            ("drop", Json::Null),
            ("ignoreSenders", senders),
            ("note", Json::text("why")),
            ("wehn", Json::Null),
        ]);
        let json = object(vec![
            ("github:o/*", full),
            ("GITHUB:O/*", object(vec![])),
            ("github:*", object(vec![])),
            ("github:o/a", Json::Number(crate::Number::integer(3))),
            ("github:o/b", object(vec![("include", rule.clone()), ("when", Json::Null)])),
            ("github:o/c", object(vec![("when", Json::text("broken")), ("drop", Json::Null)])),
            ("bad\u{202e}\ntopic", object(vec![])),
        ]);
        let (policy, warnings) = Policy::read(&json);
        let patterns: Vec<String> = policy.rules.iter().map(|it| it.0.to_string()).collect();
        assert_eq!(patterns, ["github:o/*", "github:o/b", "github:o/c"]);
        let (first, third) = (&policy.rules[0].1, &policy.rules[2].1);
        assert_eq!(first.include, Some(Predicate::read(&rule)));
        assert_eq!(first.exclude, None);
        assert_eq!(first.muted, [Muted::Myself, Muted::Sender("Joe".to_owned())]);
        assert_eq!(first.note.as_deref(), Some("why"));
        assert_eq!(third.include, Some(Predicate::Malformed(Json::text("broken"))));
        let starts = [
            "github:o/*: `wehn` is no rule",
            "github:o/*: `ignoreSenders` holds what is no login",
            "GITHUB:O/*: it is declared twice",
            "github:*: `github:*` would match everything",
            "github:o/a: its rules are no object",
            "github:o/c: `include` cannot be read, so nothing is wanted",
            "bad⏎topic: ",
        ];
        assert_eq!(warnings.len(), starts.len(), "{warnings:?}");
        for (warning, start) in warnings.iter().zip(starts) {
            assert!(warning.starts_with(start), "{warning}");
            assert!(!warning.contains('\n'), "{warning}");
        }
        assert_eq!(Policy::read(&Json::List(vec![])).0, Policy::default());
        assert_eq!(Policy::read(&Json::Null).1.len(), 1);
    }
}
