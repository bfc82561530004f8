//! `--preamble`: what a session of a watch would be started with, for people.

use std::fmt::Write as _;

use agent_box_session::env;

use crate::arguments::{Arguments, Origin};
use crate::prompt::{Assignment, Facts, Seeded, preamble};
use crate::surrounded::Surrounded;

impl Surrounded {
    /// The command and the prompt of a session that the watch `topic` would start.
    pub fn preamble(&self, topic: &str, note: Option<&str>) -> String {
        let arguments = self.arguments();
        let agent = match self.choice().agent() {
            Ok(agent) => agent.to_string(),
            Err(error) => format!("[{error}]"),
        };
        let mut text = String::from("Command: ");
        text.push_str(&agent);
        for word in &arguments.words {
            text.push(' ');
            text.push_str(&shown(word));
        }
        text.push('\n');
        text.push_str(&self.origin(&arguments));
        let facts = Facts {
            name: "hook-<key>-<hex>",
            watch: Some(topic),
            note,
            assignment: Assignment::Conditional,
            seeded: Seeded::Placeholder,
        };
        let _ = write!(text, "\n{}\n\n[the events, as untrusted data]\n", preamble(&facts));
        text
    }

    fn origin(&self, arguments: &Arguments) -> String {
        let (file, key) = (self.store.paths().env_file(), env::HOOK_SESSION_ARGS);
        let file = file.display();
        let mut text = match arguments.origin {
            Origin::EnvFile => format!("Its arguments come from {key} in {file}.\n"),
            Origin::Module => {
                "Its arguments come from the system configuration (hookSessionArgs).\n".to_owned()
            }
            Origin::Nobody => "It has no further arguments.\n".to_owned(),
        };
        if let Some(complaint) = &arguments.complaint {
            let _ = writeln!(text, "{complaint}.");
        }
        let _ = writeln!(
            text,
            "To change them without a rebuild: agent-box env set {key} '[\"--model\", \"haiku\"]' \
             (and `agent-box env rm {key}` to take that back)."
        );
        text
    }
}

/// A word as a shell would have to be given it.
fn shown(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!(
        "'{}'",
        word.replace('\'', r"'\''")
            .escape_debug()
            .to_string()
            .replace("\\'", "'")
            .replace("\\\"", "\"")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_shown_as_a_shell_takes_them_and_on_one_line() {
        for (word, expected) in
            [("--model", "--model"), ("", "''"), ("a b", "'a b'"), ("a\nb", r"'a\nb'")]
        {
            assert_eq!(shown(word), expected);
        }
    }
}
