//! Rows and columns for people, also on a narrow terminal, where nothing is cut.

/// Between two columns, and before what belongs to the line above.
const GAP: usize = 2;
/// In less than this the last column is not readable.
const READABLE: usize = 20;

/// A table whose cells are one line each.
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    widths: Vec<usize>,
}

impl Table {
    pub(super) fn new(header: &[&str], rows: Vec<Vec<String>>) -> Self {
        let header = header.iter().map(|cell| (*cell).to_owned()).collect();
        let rows: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row: &Vec<String>| row.get(column));
            cells.map(|cell| width(cell)).max().unwrap_or(0)
        };
        let widths = (0..rows[0].len()).map(width).collect();
        Self { rows, widths }
    }

    /// The lines. What does not fit into `columns` goes on in lines of its own: the last column
    /// below itself where there is room for it, else everything behind the first one.
    pub(super) fn lay_out(&self, columns: usize) -> String {
        let last = self.widths.len().saturating_sub(1);
        let before: usize = self.widths[..last].iter().map(|width| width + GAP).sum();
        let is_stacked = before + self.widths[last].min(READABLE) > columns;
        let mut text = String::new();
        for row in &self.rows {
            let Some((end, start)) = row.split_last() else { continue };
            let (head, tail, indent) = match start {
                [first, middle @ ..] if is_stacked => {
                    let rest: Vec<&str> = middle.iter().map(String::as_str).collect();
                    let rest = [&rest[..], &[end]].concat().join(&" ".repeat(GAP));
                    (format!("{first}\n{}", " ".repeat(GAP)), rest, GAP)
                }
                _ => (self.aligned(start), end.clone(), before),
            };
            let lines = wrapped(&tail, columns.saturating_sub(indent))
                .join(&format!("\n{}", " ".repeat(indent)));
            text.push_str((head + &lines).trim_end());
            text.push('\n');
        }
        text
    }

    fn aligned(&self, cells: &[String]) -> String {
        let mut text = String::new();
        for (cell, wanted) in cells.iter().zip(&self.widths) {
            text.push_str(cell);
            text.push_str(&" ".repeat(wanted - width(cell) + GAP));
        }
        text
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// The text in lines of at most `columns`; a word that is longer stays whole.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    if width(text) <= columns {
        return vec![text.to_owned()];
    }
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("BUG: there is a first line");
        if line.is_empty() {
            line.push_str(word);
        } else if width(line) + 1 + width(word) <= columns {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lay_out(rows: &[[&str; 3]], columns: usize) -> Vec<String> {
        let rows = rows.iter().map(|row| row.map(str::to_owned).to_vec()).collect();
        let text = Table::new(&["NAME", "AGENT", "STATE"], rows).lay_out(columns);
        text.lines().map(str::to_owned).collect()
    }

    const ERROR: &str = "error(directory /srv/app is missing; make it or remove the session)";

    #[test]
    fn what_fits_stands_in_columns() {
        let wide = ["NAME  AGENT   STATE", "a     claude  live"];
        for columns in [usize::MAX, 19] {
            assert_eq!(lay_out(&[["a", "claude", "live"]], columns), wide);
        }
    }

    #[test]
    fn a_long_state_goes_on_below_itself() {
        let expected = [
            "NAME  AGENT   STATE",
            "fix   claude  error(directory /srv/app",
            "              is missing; make it or",
            "              remove the session)",
        ];
        assert_eq!(lay_out(&[["fix", "claude", ERROR]], 40), expected);
    }

    #[test]
    fn a_long_name_stands_alone_and_whole() {
        let name = "hook-an-organisation-a-repository-0a1b2c3d";
        let expected = [
            "NAME",
            "  AGENT  STATE",
            name,
            "  claude  error(directory /srv/app is",
            "  missing; make it or remove the",
            "  session)",
            "main",
            "  shell  live",
        ];
        assert_eq!(lay_out(&[[name, "claude", ERROR], ["main", "shell", "live"]], 40), expected);
        for columns in [0, 1, 5] {
            let lines = lay_out(&[[name, "claude", ERROR]], columns);
            assert!(lines.contains(&name.to_owned()), "{columns}: {lines:?}");
        }
    }
}
