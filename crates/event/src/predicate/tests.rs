//! Every operator against present, absent and odd fields, and reading what was printed.

use proptest::prelude::*;

use super::*;
use crate::Number;

fn object(members: Vec<(&str, Json)>) -> Json {
    Json::Object(members.into_iter().map(|(name, it)| (name.to_owned(), it)).collect())
}

fn list(items: &[Json]) -> Json {
    Json::List(items.to_vec())
}

fn leaf(path: &str, operator: &str, operands: &[Json]) -> Json {
    object(vec![("path", Json::text(path)), (operator, list(operands))])
}

fn one() -> Json {
    Json::Number(Number::integer(1))
}

fn payload() -> Json {
    object(vec![
        ("action", Json::text("Opened")),
        ("n", one()),
        ("yes", Json::Bool(true)),
        ("none", Json::Null),
        ("sender", object(vec![("login", Json::text("Box"))])),
        ("body", Json::text("Please look, @Box.")),
    ])
}

fn matches(rule: &Json) -> bool {
    Predicate::read(rule).matches(&payload())
}

#[test]
fn every_operator_on_present_absent_and_other_fields() {
    let check = |path: &str, operator: &str, operands: &[Json], expected: bool| {
        let rule = leaf(path, operator, operands);
        assert_eq!(matches(&rule), expected, "{rule:?}");
    };
    let text = |text: &str| Json::text(text);
    check("action", "in", &[text("Opened")], true);
    check("action", "in", &[text("opened")], false);
    check("action", "notIn", &[text("opened")], true);
    check("action", "notIn", &[text("Opened")], false);
    check("action", "in", &[], false);
    check("action", "notIn", &[], true);
    check("absent", "in", &[Json::Null], true);
    check("none", "in", &[Json::Null], true);
    check("absent", "in", &[text("")], false);
    check("absent", "notIn", &[text("x")], true);
    check("absent", "notIn", &[Json::Null], false);
    check("n", "in", &[Json::Bool(true)], false);
    check("yes", "in", &[one()], false);
    check("n", "in", &[Json::Number(Number::float(1.0).unwrap())], true);
    check("n", "in", &[text("1")], false);
    check("sender", "in", &[Json::Null], false);
    check("sender.login", "in", &[text("bOX")], true);
    check("sender.login", "notIn", &[text("BOX")], false);
    check("action", "contains", &[text("PEN")], true);
    check("action", "notContains", &[text("PEN")], false);
    check("n", "contains", &[text("1")], false);
    check("n", "notContains", &[text("1")], true);
    check("absent", "notContains", &[text("x")], true);
    check("absent", "contains", &[text("x")], false);
}

#[test]
fn lists_without_rules_are_all_true_and_any_false() {
    assert!(!matches(&object(vec![("any", list(&[]))])));
    assert!(matches(&object(vec![("all", list(&[]))])));
    let good = leaf("n", "in", &[one()]);
    let both = object(vec![("all", list(&[])), ("any", list(&[]))]);
    assert!(!matches(&both), "`any` is looked at first");
    assert!(matches(&object(vec![("any", list(&[Json::Null, good]))])));
}

#[test]
fn a_mention_is_a_word_in_any_case() {
    let check = |text: &str, expected: bool| assert_eq!(occurs("@box", text), expected, "{text}");
    check("@box", true);
    check("ping @BOX, please", true);
    check("(@box)", true);
    check("thanks @box.", true);
    check("@box/@joe", true);
    check("joe@box.com", false);
    check("@box.com", false);
    check("@boxer", false);
    check("@box-two", false);
    check("@box_two", false);
    check("@box/team", false);
    check("not@box", false);
    check("@boxer and then @box", true);
    assert!(occurs("@box/team", "hello @box/team"));
    assert!(occurs("@ box", "x@ boxer"), "not a mention: a plain needle");
}

#[test]
fn what_is_malformed_matches_nothing_and_is_refused_when_given() {
    let many =
        object(vec![("path", Json::text("n")), ("in", list(&[one()])), ("notIn", list(&[]))]);
    for bad in [
        Json::Null,
        list(&[]),
        object(vec![]),
        object(vec![("any", Json::Null)]),
        object(vec![("path", Json::text("n"))]),
        object(vec![("path", one()), ("in", list(&[one()]))]),
        leaf("", "in", &[Json::Null]),
        leaf("a..b", "in", &[Json::Null]),
        leaf("n", "in", &[list(&[])]),
        leaf("n", "matches", &[one()]),
        leaf("n", "contains", &[one()]),
        leaf("n", "notContains", &[Json::text("")]),
        many,
    ] {
        assert!(!matches(&bad), "{bad:?}");
        assert!(Predicate::parse(&bad).is_err(), "{bad:?}");
        assert_eq!(Predicate::read(&bad).to_json(), bad, "kept as it was");
    }
    let inner = object(vec![("all", list(&[object(vec![("any", list(&[Json::Null]))])]))]);
    let error = Predicate::parse(&inner).unwrap_err().to_string();
    assert!(error.starts_with("the rule.all[0].any[0] is no rule"), "{error}");
}

fn scalar() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i64>().prop_map(|it| Json::Number(Number::integer(it))),
        "\\PC{0,5}".prop_map(Json::Text),
    ]
}

fn any_json() -> impl Strategy<Value = Json> {
    scalar().prop_recursive(4, 24, 4, |inner| {
        let name = prop_oneof![Just("any"), Just("all"), Just("path"), Just("in"), Just("x")];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::List),
            prop::collection::vec((name.prop_map(str::to_owned), inner), 0..4)
                .prop_map(Json::Object),
        ]
    })
}

fn predicate() -> impl Strategy<Value = Predicate> {
    let scalars = || prop::collection::vec(scalar(), 0..3);
    let needles = || prop::collection::vec("[@a-z]{1,4}", 0..3);
    let test = prop_oneof![
        scalars().prop_map(Test::In),
        scalars().prop_map(Test::NotIn),
        needles().prop_map(Test::Contains),
        needles().prop_map(Test::NotContains),
    ];
    let leaf =
        ("[a-z]{1,3}(\\.[a-z]{1,3})?", test).prop_map(|(path, it)| Predicate::Leaf(path, it));
    leaf.prop_recursive(3, 16, 3, |inner| {
        let children = prop::collection::vec(inner, 0..3);
        prop_oneof![children.clone().prop_map(Predicate::Any), children.prop_map(Predicate::All)]
    })
}

proptest! {
    #[test]
    fn rules_read_what_they_print(predicate in predicate()) {
        prop_assert_eq!(Predicate::parse(&predicate.to_json()).unwrap(), predicate);
    }

    #[test]
    fn no_tree_breaks_reading_or_matching(rule in any_json(), payload in any_json()) {
        let predicate = Predicate::read(&rule);
        let _ = predicate.matches(&payload);
        prop_assert_eq!(Predicate::read(&predicate.to_json()), predicate);
    }
}
