//! The env file: variables for every session, one `KEY=value` a line.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use agent_box_disk::{self as disk, EditLock, IoError, LockError};
use thiserror::Error;

use crate::regular_file;
use crate::store::Store;

/// A text that cannot be a variable's name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` cannot be a variable's name; use letters, digits and `_`, not a digit first")]
pub struct KeyError(pub String);

/// A variable that cannot be stored.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SetEnvError {
    /// Its name.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Its value.
    #[error("the value of {key} holds {what}, which one line of the env file cannot; take it out")]
    Value {
        /// The variable.
        key: String,
        /// "a newline" or "a NUL byte".
        what: &'static str,
    },
}

/// The env file cannot be read.
#[derive(Debug, Error)]
pub enum ReadEnvError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] IoError),
    /// It is not text.
    #[error("{} is not UTF-8 at byte {byte}; mend it with an editor", path.display())]
    NotText {
        /// The env file.
        path: PathBuf,
        /// Offset of the first wrong byte.
        byte: usize,
    },
}

/// The env file was not changed.
#[derive(Debug, Error)]
pub enum EditEnvError<R> {
    /// Its lock was not had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadEnvError),
    /// It cannot be written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The closure said no.
    #[error(transparent)]
    Refused(R),
}

/// The env file's lines, in order, with everything that is not a variable.
///
/// A line is a variable if a legal key and `=` begin it; all other lines (comments, blank ones,
/// `export X=y`) mean nothing and stay. A value is everything behind the first `=`, literally:
/// nothing is expanded, a carriage return belongs to it. An unterminated last line counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvFile {
    /// With their newlines, so that printing gives back what was parsed.
    lines: Vec<String>,
}

impl EnvFile {
    /// Reads a file's text; there is nothing that it refuses.
    pub fn parse(text: &str) -> Self {
        Self { lines: text.split_inclusive('\n').map(str::to_owned).collect() }
    }

    /// The file's text; for an unchanged file, byte for byte what was parsed.
    pub fn print(&self) -> String {
        self.lines.concat()
    }

    /// The value that an agent sees: the last line of that key, one pair of surrounding quotes
    /// taken off.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.assignments().filter(|(name, _)| *name == key).last().map(|(_, value)| value)
    }

    /// All variables as an agent sees them, in the order of first appearance.
    pub fn variables(&self) -> Vec<(&str, &str)> {
        let mut variables: Vec<(&str, &str)> = Vec::new();
        for (key, value) in self.assignments() {
            match variables.iter_mut().find(|(name, _)| *name == key) {
                Some(variable) => variable.1 = value,
                None => variables.push((key, value)),
            }
        }
        variables
    }

    /// The names, sorted, each once.
    pub fn keys(&self) -> Vec<&str> {
        let keys: BTreeSet<&str> = self.assignments().map(|(key, _)| key).collect();
        keys.into_iter().collect()
    }

    /// The lines, counted from 1, that are neither variables nor blank nor comments.
    pub fn ignored(&self) -> Vec<usize> {
        let means_something = |line: &str| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with('#')
        };
        let lines = self.lines.iter().enumerate();
        lines
            .filter(|(_, line)| assignment(line).is_none() && means_something(line))
            .map(|(place, _)| place + 1)
            .collect()
    }

    /// Sets a variable: in place where its last line is, else at the end.
    ///
    /// # Errors
    /// When name or value cannot stand in the file.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), SetEnvError> {
        check_key(key)?;
        for (character, what) in [('\n', "a newline"), ('\0', "a NUL byte")] {
            if value.contains(character) {
                return Err(SetEnvError::Value { key: key.to_owned(), what });
            }
        }
        // Quotes that belong to the value need a pair around them that reading takes off.
        let quote = if unquote(value) == value { "" } else { "\"" };
        let line = format!("{key}={quote}{value}{quote}\n");
        if let Some(old) = self.lines.iter_mut().rfind(|line| is_assignment_of(line, key)) {
            *old = line;
            return Ok(());
        }
        if let Some(last) = self.lines.last_mut().filter(|last| !last.ends_with('\n')) {
            last.push('\n');
        }
        self.lines.push(line);
        Ok(())
    }

    /// Removes a variable; returns whether it was there.
    ///
    /// # Errors
    /// When the name cannot stand in the file.
    pub fn remove(&mut self, key: &str) -> Result<bool, KeyError> {
        check_key(key)?;
        let before = self.lines.len();
        self.lines.retain(|line| !is_assignment_of(line, key));
        Ok(self.lines.len() != before)
    }

    fn assignments(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lines.iter().filter_map(|line| assignment(line))
    }
}

fn assignment(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let (key, value) = line.split_once('=')?;
    is_key(key).then(|| (key, unquote(value)))
}

fn is_assignment_of(line: &str, key: &str) -> bool {
    assignment(line).is_some_and(|(name, _)| name == key)
}

/// Takes one pair of surrounding quotes off; a lone quote stays.
fn unquote(value: &str) -> &str {
    let pair = |quote| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    pair('"').or_else(|| pair('\'')).unwrap_or(value)
}

fn is_key(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn check_key(key: &str) -> Result<(), KeyError> {
    if is_key(key) { Ok(()) } else { Err(KeyError(key.chars().take(80).collect())) }
}

impl Store {
    /// Reads the env file; none is an empty one.
    ///
    /// # Errors
    /// When it cannot be read or is not text.
    pub fn env(&self) -> Result<EnvFile, ReadEnvError> {
        let path = self.paths().env_file();
        match regular_file::read(&path) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Ok(EnvFile::parse(&text)),
                Err(error) => {
                    Err(ReadEnvError::NotText { path, byte: error.utf8_error().valid_up_to() })
                }
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(EnvFile::default()),
            Err(error) => Err(IoError::on("read", &path)(error).into()),
        }
    }

    /// Changes the env file under its own lock.
    ///
    /// # Errors
    /// When the lock is not had, the file cannot be read or written, or `edit` refuses; it is
    /// unchanged then.
    pub fn edit_env<T, R>(
        &self,
        edit: impl FnOnce(&mut EnvFile) -> Result<T, R>,
    ) -> Result<T, EditEnvError<R>> {
        let path = self.paths().env_file();
        let _lock = EditLock::acquire(&path.with_extension("lock"), self.lock_wait())?;
        let before = self.env()?;
        let mut after = before.clone();
        let result = edit(&mut after).map_err(EditEnvError::Refused)?;
        if after != before {
            let target = disk::behind_link(&path)?;
            let directory = disk::parent(&target);
            disk::replace_secret(&target, directory, after.print().as_bytes())?;
        }
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_that_are_no_variables_mean_nothing_and_stay() {
        let text = "# a comment\n\nexport A=1\n1A=2\n=3\nA-B=4\nno equals\n #B=5\nGOOD=yes";
        let file = EnvFile::parse(text);
        assert_eq!(file.variables(), [("GOOD", "yes")]);
        assert_eq!(file.print(), text);
        assert_eq!(file.ignored(), [3, 4, 5, 6, 7], "comments and blank lines are meant so");
    }

    #[test]
    fn values_are_literal_but_for_one_pair_of_quotes() {
        let file = EnvFile::parse("A=\"x y\"\nB='$HOME'\nC=\"\nD=''\nE=a=b\r\nF=\"'q'\"\nA=last\n");
        let expect =
            [("A", "last"), ("B", "$HOME"), ("C", "\""), ("D", ""), ("E", "a=b\r"), ("F", "'q'")];
        assert_eq!(file.variables(), expect);
        assert_eq!(file.get("A"), Some("last"));
        assert_eq!(file.keys(), ["A", "B", "C", "D", "E", "F"]);
    }

    #[test]
    fn setting_keeps_comments_order_and_an_unterminated_last_line() {
        let mut file = EnvFile::parse("# keys\nA=1\n\nB=2");
        file.set("A", "new").unwrap();
        file.set("C", "3").unwrap();
        assert_eq!(file.print(), "# keys\nA=new\n\nB=2\nC=3\n");
        assert!(file.remove("B").unwrap());
        assert!(!file.remove("B").unwrap());
        assert_eq!(file.print(), "# keys\nA=new\n\nC=3\n");
    }

    #[test]
    fn what_one_line_cannot_hold_is_refused() {
        let mut file = EnvFile::default();
        assert!(file.set("A", "x\ny").unwrap_err().to_string().contains("a newline"));
        assert!(file.set("A", "x\0y").unwrap_err().to_string().contains("a NUL byte"));
        for bad in ["", "1A", "A B", "A=", "ä"] {
            assert!(file.set(bad, "x").is_err(), "{bad}");
            assert!(file.remove(bad).is_err(), "{bad}");
        }
        assert_eq!(file.print(), "");
    }

    proptest! {
        #[test]
        fn printing_gives_back_what_was_parsed(text in "([A-Z_=#'\" \r\n\\x00é0-9-]|\n){0,60}") {
            prop_assert_eq!(EnvFile::parse(&text).print(), text);
        }

        #[test]
        fn a_value_is_read_as_it_was_set(
            text in "([A-C]=[a-z'\"]{0,3}\n|#x\n){0,5}([A-C]=1)?",
            key in "[A-D]",
            value in "[a-z'\"=# \r\\\\$]{0,6}",
        ) {
            let mut file = EnvFile::parse(&text);
            let others: Vec<(String, String)> = file
                .variables()
                .into_iter()
                .filter(|(name, _)| *name != key)
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            file.set(&key, &value).unwrap();
            let read = EnvFile::parse(&file.print());
            prop_assert_eq!(read.get(&key), Some(value.as_str()));
            for (name, value) in &others {
                prop_assert_eq!(read.get(name), Some(value.as_str()));
            }
        }
    }
}
