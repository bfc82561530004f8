//! The pane of an agent that failed: what ran, how it ended, and what to do now.
//!
//! The lifetime lock is not held here: nothing of the launch runs any more, except a shell if the
//! person asks for one.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use agent_box_session::{LaunchRecord, LaunchState, VerbRefusal};
use agent_box_session_store::{Change, EventKind, Store};
use rustix::event::PollFlags;

use crate::chain;
use crate::clock::Deadline;
use crate::environment::Environment;
use crate::last_words;
use crate::place::Place;
use crate::report::{Report, ReportError, describe_end};
use crate::trampoline;
use crate::watch::Watch;

/// How long a supervisor may take to end this pane after it was asked for something else.
const PATIENCE: Duration = Duration::from_secs(5);

const KEYS: &str = "  Enter  a shell here, in the agent's environment\n  \
      r      start the agent again\n  \
      q      park the session: it stays stopped until `restart`\n";

/// The post-mortem of one launch.
pub(crate) struct PostMortem<'a> {
    pub(crate) store: &'a Store,
    pub(crate) place: &'a Place,
    pub(crate) report: &'a Report<'a>,
    /// Whether this pane is not the one the agent ran in.
    pub(crate) fresh_pane: bool,
}

impl PostMortem<'_> {
    /// Shows it and obeys keys until the pane is closed.
    pub(crate) fn show(&self, watch: &mut Watch<'_>) {
        watch.terminal.take();
        watch.terminal.hush(watch.signals);
        self.print(watch, self.fresh_pane);
        let mut patience: Option<Deadline> = None;
        while !watch.signals.asked() {
            let stdin = (watch.terminal.input(), PollFlags::IN);
            let seen = watch.signals.wait(Some(stdin), patience.map(Deadline::left));
            if seen.contains(PollFlags::IN) {
                let keys = watch.terminal.keys();
                if keys.is_empty() {
                    return;
                }
                for key in keys {
                    if self.obey(key, watch) {
                        patience = Some(Deadline::after(PATIENCE));
                    }
                }
            } else if seen.contains(PollFlags::HUP) {
                return;
            }
            if patience.is_some_and(Deadline::is_over) {
                patience = None;
                watch.terminal.say(&format!(
                    "[agent-box] nothing happened: no supervisor seems to run; start it with {}\n",
                    self.place.paths.starter()
                ));
            }
        }
    }

    /// Does what a key asks for; returns whether the supervisor is to end this pane now.
    fn obey(&self, key: u8, watch: &mut Watch<'_>) -> bool {
        match key {
            b'\r' | b'\n' => {
                if let Err(error) = self.shell(watch) {
                    watch.terminal.say(&format!("[agent-box] no shell: {error}\n"));
                }
                self.print(watch, false);
                false
            }
            b'r' => self.intend(watch, "restart", "[agent-box] restarting…\n"),
            b'q' => self.intend(watch, "stop", "[agent-box] parked; the pane closes\n"),
            _ => false,
        }
    }

    fn print(&self, watch: &Watch<'_>, with_last_words: bool) {
        let record = match self.record() {
            Ok(record) => record,
            Err(error) => return watch.terminal.say(&format!("[agent-box] {error}\n")),
        };
        let kept = || last_words::kept(&self.place.paths, self.place.session);
        let words = with_last_words.then(kept).flatten();
        watch.terminal.say(&describe(&record, words.as_deref()));
    }

    /// The record, as long as it is about this launch.
    fn record(&self) -> Result<LaunchRecord, String> {
        let record = self.store.launch(self.place.session).map_err(|error| chain(&error))?;
        let ours = record.filter(|record| record.launch == self.place.launch);
        ours.ok_or_else(|| chain(&ReportError::Replaced))
    }

    /// Runs the user's shell where the agent ran.
    fn shell(&self, watch: &mut Watch<'_>) -> Result<(), String> {
        let record = self.record()?;
        let env_file = self.store.env().map_err(|error| chain(&error))?;
        let environment = Environment::new(&record, &env_file);
        let shell = [environment.shell().to_owned()];
        let held = trampoline::hold(&shell, &environment, Path::new(&record.directory))?;
        let pid = held.pid();
        if let Some(cgroup) = watch.cgroup {
            let _ = cgroup.admit(pid);
        }
        watch.terminal.lend(pid, None);
        let started = held.go();
        if started.is_ok() {
            watch.until_end(pid, &mut |_| {});
        }
        watch.terminal.take();
        watch.end_leftovers();
        watch.terminal.reset();
        started
    }

    /// Writes an intent into the registry; returns whether it was.
    fn intend(&self, watch: &Watch<'_>, verb: &'static str, done: &str) -> bool {
        let (id, name) = (self.place.session, &self.report.name);
        let change =
            Change::Operator { by: "post-mortem".to_owned(), summary: format!("{verb} {name}") };
        let result = self.store.transact(change, |tx| {
            // By id: the name may have been given to another session meanwhile.
            let name = tx.registry.by_id(id).map(|(name, _)| name.clone());
            let name = name.ok_or_else(|| VerbRefusal::NotListed(self.report.name.clone()))?;
            match verb {
                "restart" => tx.restart(&name),
                _ => tx.stop(&name, "post-mortem"),
            }
        });
        match result {
            Ok(_) => {
                let kind =
                    if verb == "restart" { EventKind::Restarted } else { EventKind::Stopped };
                self.report.note(kind, "asked for in the post-mortem");
                watch.terminal.say(done);
                true
            }
            Err(error) => {
                watch.terminal.say(&format!("[agent-box] {}\n", chain(&error)));
                false
            }
        }
    }
}

/// The text of the post-mortem.
fn describe(record: &LaunchRecord, last_words: Option<&str>) -> String {
    let mut text = String::from("\n");
    if let Some(words) = last_words.filter(|words| !words.trim().is_empty()) {
        let _ = writeln!(text, "\x1b[2m── its last words ──\x1b[0m\n{}", printable(words));
    }
    let _ = writeln!(text, "\x1b[1m── agent-box: session `{}` failed ──\x1b[0m", record.name);
    let ran = one_line(&format!("{} in {}", command_line(&record.argv), record.directory));
    let _ = writeln!(text, "  ran    {ran}");
    if let LaunchState::Ended { started, at, exit, needs_login, .. } = &record.state {
        let _ =
            writeln!(text, "  ended  {} ({at})", one_line(&describe_end(exit, at.since(*started))));
        if *needs_login {
            text += "  It says that it is not signed in: press Enter, sign in, then r.\n";
        }
    }
    for note in &record.notes {
        let _ = writeln!(text, "  note   {}", one_line(note));
    }
    text + "\n" + KEYS
}

/// Words that were captured as text but could still hold control characters.
fn printable(words: &str) -> String {
    words.chars().filter(|c| *c == '\n' || *c == '\t' || !c.is_control()).collect()
}

/// Directories and notes are of somebody else's making too, and must not look like other lines.
fn one_line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// The program and the names of its options; values may be prompts or secrets.
fn command_line(argv: &[String]) -> String {
    let mut shown: Vec<String> = argv.first().cloned().into_iter().collect();
    for word in argv.iter().skip(1) {
        let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let (name, value) =
            word.split_once('=').map_or((word.as_str(), ""), |(name, _)| (name, "=…"));
        let short_with_value = !word.starts_with("--") && word.len() > 2;
        let word = if word.starts_with('-') && is_name(name) && !short_with_value {
            format!("{name}{value}")
        } else {
            "…".to_owned()
        };
        // Ten words in a row without a name say no more than one.
        if shown.last() != Some(&word) || word != "…" {
            shown.push(word);
        }
    }
    shown.join(" ")
}

#[cfg(test)]
mod tests {
    use agent_box_session::{Agent, Exit, SessionName, Timestamp};

    use super::*;

    #[test]
    fn a_command_line_shows_option_names_and_no_values() {
        let check = |argv: &[&str], expect: &str| {
            let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(command_line(&argv), expect);
        };
        check(&["/bin/x"], "/bin/x");
        check(
            &["x", "--resume=id", "--key", "secret", "-ksecret", "--", "a prompt"],
            "x --resume=… --key … -- …",
        );
        check(&["x", "--a b=c", "-y"], "x … -y");
    }

    #[test]
    fn the_text_says_what_ran_and_how_it_ended_but_not_the_prompt() {
        let id = "0193b2c0-0000-7000-8000-00000000000a";
        let name = SessionName::parse("main").unwrap();
        let at = Timestamp::from_millis;
        let (id, launch) = (id.parse().unwrap(), id.parse().unwrap());
        let mut record = LaunchRecord::blank(id, name, launch, Agent::Claude, 1, at(0));
        record.argv = ["claude", "--", "my prompt"].map(str::to_owned).to_vec();
        record.directory = "/home/ada\r\x1b[2J\u{9b}2J".to_owned();
        record.notes = vec!["fresh\x1b[2J conversation\n".to_owned()];
        record.end(at(0), at(3200), Exit::Code(1), false);
        let text = describe(&record, Some("boom\x1b[2J\n"));
        for part in ["session `main` failed", "claude -- … in /home/ada", "exit code 1 after 3.2 s"]
        {
            assert!(text.contains(part), "{text}");
        }
        assert!(text.contains("boom[2J"), "{text}");
        assert!(text.contains("fresh[2J conversation\n\n") && text.contains("Enter"), "{text}");
        assert!(!text.contains("my prompt") && !text.contains(['\r', '\u{9b}']), "{text}");
        assert!(!text.contains("\x1b[2J"), "{text}");
    }
}
