//! How a committed module differs from the rendered one, for people and logs.

use similar::{Algorithm, TextDiff};

/// A unified diff from the committed text to the rendered one; `None` if they are equal.
pub fn unified(path: &str, committed: &str, rendered: &str) -> Option<String> {
    if committed == rendered {
        return None;
    }
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .diff_lines(committed, rendered)
        .unified_diff()
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string();
    Some(diff)
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn a_changed_line_is_shown_with_its_neighbours() {
        assert_eq!(unified("f", "a\nb\n", "a\nb\n"), None);
        assert_eq!(
            unified("f", "a\nb\n", "a\nc\n").unwrap(),
            "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
        );
    }
}
