//! Claude's transcripts: where they are, whether they can be resumed, what they hold.
//!
//! `projects/<directory with every other character as '-'>/<conversation>.jsonl`, one JSON
//! object a line. A conversation can be resumed if a line is of type `user`; a file with only
//! the lines that claude writes before cannot.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Files, command};
use crate::json_lines;

/// What there is of a conversation, seen from one directory.
#[derive(Debug)]
pub(crate) enum Transcript {
    /// No file has its id.
    Absent,
    /// A file is where claude will look, without a message of the user.
    Bare,
    /// Claude can resume it.
    Here,
    /// Only another directory has one.
    Elsewhere(PathBuf),
}

/// Looks for the transcript of `id` as a claude in `directory` would.
pub(crate) fn look_up(files: &Files, directory: &Path, id: &str) -> Transcript {
    let name = format!("{id}.jsonl");
    let here = files.home.join("projects").join(project(directory)).join(&name);
    // A file that cannot be read counts as one that claude cannot resume.
    if here.symlink_metadata().is_ok() {
        return match any_user_line(&here, |_| true) {
            Ok(true) => Transcript::Here,
            _ => Transcript::Bare,
        };
    }
    everywhere(files, &name).into_iter().next().map_or(Transcript::Absent, Transcript::Elsewhere)
}

/// Whether any transcript of `id` holds `prompt` as a message of the user.
pub(crate) fn holds(files: &Files, id: &str, prompt: &str) -> bool {
    let prompt = prompt.trim();
    // Claude runs such a prompt as a command and notes the command's name instead.
    let command = command(prompt).map(|word| format!("<command-name>{word}</command-name>"));
    everywhere(files, &format!("{id}.jsonl")).iter().any(|path| {
        any_user_line(path, |message| {
            texts(message).any(|text| {
                text.trim() == prompt || command.as_ref().is_some_and(|name| text.contains(name))
            })
        })
        .unwrap_or(false)
    })
}

/// The transcripts of that name in all projects.
fn everywhere(files: &Files, name: &str) -> Vec<PathBuf> {
    let Ok(projects) = files.home.join("projects").read_dir() else { return Vec::new() };
    projects.flatten().map(|project| project.path().join(name)).filter(|it| it.is_file()).collect()
}

fn any_user_line(path: &Path, test: impl Fn(&Value) -> bool) -> io::Result<bool> {
    let found = json_lines::find_map(path, u64::MAX, "\"user\"", |line| {
        let is_user = line.get("type").and_then(Value::as_str) == Some("user");
        (is_user && line.get("message").is_some_and(&test)).then_some(())
    })?;
    Ok(found.is_some())
}

/// The texts of a message, whose content is one text or a list of parts.
fn texts(message: &Value) -> impl Iterator<Item = &str> {
    let content = message.get("content");
    let whole = content.and_then(Value::as_str);
    let parts = content.and_then(Value::as_array).into_iter().flatten();
    whole.into_iter().chain(parts.filter_map(|part| part.get("text").and_then(Value::as_str)))
}

/// The folder below `projects` of an agent in `directory` (without symlinks).
///
/// Claude replaces every UTF-16 unit that is no ASCII letter or digit; a longer name than 200
/// is cut and gets a hash of the whole path.
fn project(directory: &Path) -> String {
    let path = directory.to_string_lossy();
    let units: Vec<u16> = path.encode_utf16().collect();
    let folder: String = units
        .iter()
        .map(|&unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
            _ => '-',
        })
        .collect();
    if folder.len() <= 200 {
        return folder;
    }
    let hash = units.iter().fold(0_i32, |hash, &unit| {
        hash.wrapping_shl(5).wrapping_sub(hash).wrapping_add(i32::from(unit))
    });
    format!("{}-{}", &folder[..200], base36(hash.unsigned_abs()))
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).expect("BUG: a remainder of 36 is a digit"));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_folders_are_named_as_claude_names_them() {
        let check = |path: &str, expect: &str| assert_eq!(project(Path::new(path)), expect);
        check("/home/a/w", "-home-a-w");
        // Seen with claude 2.1.332; the emoji is two UTF-16 units.
        check("/tmp/abh/h-e2/é 한 🚀 x.y_z", "-tmp-abh-h-e2--------x-y-z");
        let long = format!("/tmp/abh/h-e2/{}/{}", "d".repeat(120), "e".repeat(120));
        let cut = format!("-tmp-abh-h-e2-{}-{}-ugh09r", "d".repeat(120), "e".repeat(65));
        check(&long, &cut);
    }
}
