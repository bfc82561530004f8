//! Text from outside as a type: it prints only in a form that cannot pose as ours.

use std::fmt;

/// A value that a payload brought, or that was made from one.
///
/// Decisions may look at it; whoever prints it gets it sanitised, cut and wrapped.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Untrusted<T>(T);

/// How much of a text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// At most so many characters.
    pub chars: usize,
    /// And at most so many bytes.
    pub bytes: usize,
}

impl Cut {
    /// Of a single value: a title, a name, a URL.
    pub const VALUE: Self = Self { chars: 200, bytes: 800 };
    /// Nothing is cut.
    pub const NONE: Self = Self { chars: usize::MAX, bytes: usize::MAX };
}

/// Opens and closes a value inside a line; neither survives in the value itself.
const OPEN: &str = "⟪UNTRUSTED:";
const CLOSE: &str = "⟫";
/// Stands where the text had a line end.
const LINE_END: char = '⏎';
/// Stands where the rest was cut.
const REST: char = '…';

impl<T> Untrusted<T> {
    /// Marks a value as coming from outside.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself, to compare or to store; never to print.
    pub fn for_decisions(&self) -> &T {
        &self.0
    }
}

impl<T: AsRef<str>> Untrusted<T> {
    /// The wrapped form with a cut of one's own.
    pub(crate) fn wrapped(&self, cut: Cut) -> String {
        format!("{OPEN}{}{CLOSE}", sanitize(self.0.as_ref(), cut))
    }
}

impl<T: AsRef<str>> fmt::Display for Untrusted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.wrapped(Cut::VALUE))
    }
}

impl<T: AsRef<str>> fmt::Debug for Untrusted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One line of plain, visible text.
///
/// Line ends become a visible mark and blanks of all kinds a blank; control, bidirectional,
/// zero-width and other invisible characters are gone; the marks that wrap untrusted values are
/// replaced by quotes. What does not fit is cut between characters, the mark for it included in
/// the limits.
pub fn sanitize(text: &str, cut: Cut) -> String {
    let mut shown = String::new();
    let mut count = 0_usize;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let visible = match c {
            '\r' if chars.peek() == Some(&'\n') => continue,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => LINE_END,
            '⟪' => '«',
            '⟫' => '»',
            c if is_invisible(c) => continue,
            c if c.is_whitespace() => ' ',
            c => c,
        };
        if count == cut.chars || shown.len() + visible.len_utf8() > cut.bytes {
            cut_for_mark(&mut shown, count, cut);
            return shown;
        }
        shown.push(visible);
        count += 1;
    }
    shown
}

fn cut_for_mark(shown: &mut String, mut count: usize, cut: Cut) {
    if cut.chars == 0 || cut.bytes < REST.len_utf8() {
        return;
    }
    while count == cut.chars || shown.len() + REST.len_utf8() > cut.bytes {
        shown.pop();
        count -= 1;
    }
    shown.push(REST);
}

/// Characters that show nothing, or change how their neighbours are shown. A joined emoji falls
/// apart by this, and stays readable.
fn is_invisible(c: char) -> bool {
    // Blanks that are control characters are handled as blanks.
    (c.is_control() && c != '\t')
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_invisible_goes_and_line_ends_are_seen() {
        let check = |text: &str, expected: &str| assert_eq!(sanitize(text, Cut::NONE), expected);
        check("plain Grüße 你好 🦀", "plain Grüße 你好 🦀");
        check("a\nb\r\nc\rd\u{2028}e\u{85}f\u{c}g", "a⏎b⏎c⏎d⏎e⏎f⏎g");
        check("a\tb\u{a0}c\u{3000}d", "a b c d");
        check("\u{1b}[31mred\u{7}\0\u{9b}x\u{7f}", "[31mredx");
        check("a\u{202e}b\u{2066}c\u{200f}d\u{61c}e", "abcde");
        check("z\u{200b}e\u{200d}r\u{feff}o\u{2060}\u{ad}\u{34f}", "zero");
        check("tag\u{e0041}\u{e007f}\u{fe0f}\u{e0101}\u{3164}", "tag");
        check("⟪x⟫", "«x»");
    }

    #[test]
    fn cuts_are_between_characters_and_within_both_limits() {
        let check = |text: &str, chars: usize, bytes: usize, expected: &str| {
            assert_eq!(sanitize(text, Cut { chars, bytes }), expected, "{text} {chars} {bytes}");
        };
        check("abcd", 3, 99, "ab…");
        check("abcd", 4, 99, "abcd");
        check("abcd", 5, 99, "abcd");
        check("üüü", 9, 5, "ü…");
        check("üüü", 9, 6, "üüü");
        check("üüü", 9, 7, "üüü");
        check("🦀🦀", 9, 7, "🦀…");
        check("🦀🦀", 9, 6, "…");
        check("abc", 9, 2, "ab");
        check("abc", 0, 9, "");
        check("ab\u{200b}\u{200b}", 2, 99, "ab");
    }

    #[test]
    fn printing_wraps_and_looking_does_not() {
        let title = Untrusted::new("a⟫\nb".to_owned());
        assert_eq!(title.to_string(), "⟪UNTRUSTED:a»⏎b⟫");
        assert_eq!(format!("{title:?}"), title.to_string());
        assert_eq!(title.for_decisions(), "a⟫\nb");
        let long = Untrusted::new("x".repeat(300)).to_string();
        assert_eq!(long.chars().filter(|c| *c == 'x').count(), 199);
    }

    proptest! {
        #[test]
        fn any_text_becomes_one_visible_line_within_the_limits(
            text in any::<String>(),
            chars in 0..40_usize,
            bytes in 0..90_usize,
        ) {
            let shown = sanitize(&text, Cut { chars, bytes });
            prop_assert!(shown.chars().count() <= chars && shown.len() <= bytes);
            let bad = |c: char| c.is_control() || is_invisible(c) || "⟪⟫\u{2028}\u{2029}".contains(c);
            prop_assert!(!shown.contains(bad), "{:?}", shown);
            let whole = sanitize(&text, Cut::NONE);
            prop_assert_eq!(&sanitize(&whole, Cut::NONE), &whole, "sanitised text stays as it is");
        }
    }
}
