//! The escaping proof: every short hostile string, read back by a parser that is not ours.

use rnix::ast;

use super::{NixString, Rule, indented};

/// What Nix gives a meaning to inside strings, and one letter that means nothing.
const HOSTILE: [char; 8] = ['\'', '$', '{', '\\', '"', '\n', ' ', 'n'];

/// What the other eight leave out.
const OTHER: [char; 8] = ['\'', '$', '{', '}', '\r', '\n', ' ', '\t'];

/// How many strings are parsed together; one parse a string would cost ten times as much.
const BATCH: usize = 512;

/// Every string of exactly `length` characters of the alphabet.
fn strings(alphabet: &[char; 8], length: u32) -> impl Iterator<Item = String> + '_ {
    (0..8_usize.pow(length))
        .map(move |number| (0..length).map(|place| alphabet[number >> (3 * place) & 7]).collect())
}

/// The strings that a list of Nix literals means, by rnix; `None` if it is not such a list.
fn read_back(list: &str) -> Option<Vec<String>> {
    let parsed = rnix::Root::parse(list);
    if !parsed.errors().is_empty() {
        return None;
    }
    let Some(ast::Expr::List(list)) = parsed.tree().expr() else { return None };
    list.items().map(|item| literal(&item)).collect()
}

fn literal(expression: &ast::Expr) -> Option<String> {
    let ast::Expr::Str(string) = expression else { return None };
    let mut text = String::new();
    for part in string.normalized_parts() {
        match part {
            ast::InterpolPart::Literal(literal) => text.push_str(&literal),
            ast::InterpolPart::Interpolation(_) => return None,
        }
    }
    Some(text)
}

/// Whether every string is read back from the form that `write` gives it.
fn all_are_read_back(texts: &[String], write: impl Fn(&str) -> String) -> bool {
    texts.chunks(BATCH).all(|batch| {
        let literals: Vec<String> = batch.iter().map(|text| write(text)).collect();
        read_back(&format!("[\n{}\n]", literals.join("\n"))).is_some_and(|read| read == batch)
    })
}

fn prove(alphabet: &[char; 8], write: impl Fn(NixString<'_>) -> String) {
    for length in 0..=6 {
        let texts: Vec<String> = strings(alphabet, length).collect();
        let write = |text: &str| write(NixString::new(text).unwrap());
        if !all_are_read_back(&texts, write) {
            let one = |text: &&String| !all_are_read_back(std::slice::from_ref(*text), write);
            let text = texts.iter().find(one);
            panic!("{text:?} becomes {:?}", text.map(|text| write(text)));
        }
    }
}

#[test]
fn every_short_string_is_read_back() {
    prove(&HOSTILE, |text| text.indented(4).to_string());
}

#[test]
fn every_short_string_of_the_other_letters_is_read_back() {
    prove(&OTHER, |text| text.indented(4).to_string());
}

#[test]
fn every_short_string_is_read_back_without_indentation() {
    prove(&HOSTILE, |text| text.indented(0).to_string());
}

#[test]
fn every_short_string_is_read_back_from_one_line() {
    prove(&HOSTILE, |text| text.quoted().to_string());
    prove(&OTHER, |text| text.quoted().to_string());
}

#[test]
fn leaving_out_any_rule_is_noticed() {
    use Rule::{Anchor, ApostrophePair, BlankTail, ClosingLine, Interpolation, LoneApostrophe};
    let texts: Vec<String> =
        (0..=4).flat_map(|length| strings(&HOSTILE, length).collect::<Vec<_>>()).collect();
    assert!(all_are_read_back(&texts, |text| indented(text, 4, None)));
    for rule in [ApostrophePair, LoneApostrophe, Interpolation, Anchor, BlankTail, ClosingLine] {
        assert!(
            !all_are_read_back(&texts, |text| indented(text, 4, Some(rule))),
            "the proof does not see that {rule:?} is missing"
        );
    }
}

#[test]
fn no_carriage_return_reaches_the_file() {
    let text = NixString::new("a\r\n'\r").unwrap();
    assert_eq!(text.indented(2).to_string(), "''\n  a''\\r\n  ''\\'''\\r''");
    assert_eq!(text.quoted().to_string(), "\"a\\r\\n'\\r\"");
}

#[test]
fn ordinary_lines_stay_as_they_are() {
    let text = NixString::new("fn of<'a>() {\n    x\n}\n").unwrap();
    assert_eq!(
        text.indented(6).to_string(),
        "''\n      fn of<'a>() {\n          x\n      }\n    ''"
    );
}

#[test]
fn nul_is_refused_with_its_place() {
    assert_eq!(NixString::new("ab\0").unwrap_err().offset, 2);
}
