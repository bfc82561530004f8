//! Which prompt a launch carries, and in which form.
//!
//! A kickoff prompt is handed over until a transcript holds it, at most three times. An agent
//! without transcripts cannot resume either: it gets the prompt once as it is, and is told its task
//! again, with the word that it ran before, until it ends well. The prompt comes from the registry,
//! or, once it was mirrored away there, from the last launch's record.

use agent_box_disk::{make_private_directory, replace};
use agent_box_session::paths::Paths;
use agent_box_session::{Agent, Entry, LaunchId, LaunchRecord};

use crate::PrepareError;

/// The longest prompt that is one argument word; Linux takes 128 KiB, and a stamp may precede it.
const LONGEST: usize = 100 * 1024;

/// The session's kickoff prompt and what became of it so far.
#[derive(Debug, Default)]
pub(crate) struct Kickoff {
    pub(crate) text: Option<String>,
    pub(crate) handed: u32,
    pub(crate) proven: bool,
    /// Whether this launch shall carry it.
    pub(crate) due: bool,
}

impl Kickoff {
    /// Decides; `is_proven` looks at transcripts and is asked only if that can matter.
    pub(crate) fn of(
        agent: &Agent,
        entry: &Entry,
        record: Option<&LaunchRecord>,
        is_proven: impl FnOnce(&LaunchRecord) -> bool,
    ) -> Self {
        let listed = entry.spec.initial_prompt.as_deref().filter(|text| says_something(text));
        // The record counts unless the registry holds another prompt: that one is new.
        let record = record.filter(|record| {
            record.prompt.is_some() && (listed.is_none() || record.prompt.as_deref() == listed)
        });
        let mut kickoff = match record {
            Some(record) => Self {
                text: record.prompt.clone(),
                handed: record.prompt_handed,
                proven: record.prompt_proven || is_proven(record),
                due: false,
            },
            None => Self { text: listed.map(str::to_owned), ..Self::default() },
        };
        let most = if agent.keeps_transcripts() { LaunchRecord::MOST_HANDINGS } else { 1 };
        kickoff.due = kickoff.text.is_some() && !kickoff.proven && kickoff.handed < most;
        kickoff
    }

    /// Whether it was handed over as often as allowed and nobody knows what came of it.
    pub(crate) fn is_open(&self) -> bool {
        self.text.is_some() && !self.proven && !self.due
    }
}

/// Agents start without a message when given only blanks.
pub(crate) fn says_something(prompt: &str) -> bool {
    !prompt.trim().is_empty()
}

/// What a resumed conversation is told when the operator did not say.
pub(crate) fn steer(conversation: &str) -> String {
    format!(
        "You were interrupted and have been restarted automatically (agent-box session \
         {conversation}). Your conversation up to the interruption has been resumed. Look at what \
         you had done and at how things stand now, then go on from there. If everything was \
         done already, say so and stop."
    )
}

/// What an agent that cannot resume is told after a death: the task may be half done.
pub(crate) fn reminder(conversation: &str, task: &str) -> String {
    format!(
        "You were given a task, were interrupted, and have been started anew automatically \
         (agent-box session {conversation}). You may remember nothing of it, and some or all of \
         it may be done already. Look at how things stand now, then go on from there. If \
         everything was done already, say so and stop. The task was:\n\n{task}"
    )
}

/// The word that hands over `text`: itself, or for a long one a short text that names a file.
pub(crate) fn word(paths: &Paths, launch: LaunchId, text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    format!(
        "Your instructions are too long for a command line ({} bytes). They are in the file {}: \
         read all of it and follow it as if it stood here.",
        text.len(),
        paths.prompt(launch).display()
    )
}

/// Writes the file that [`word`] names, if it names one.
pub(crate) fn store(paths: &Paths, launch: LaunchId, text: &str) -> Result<(), PrepareError> {
    if text.len() <= LONGEST {
        return Ok(());
    }
    let path = paths.prompt(launch);
    // Durable: a resumed conversation may name the file after a power loss.
    make_private_directory(&paths.prompts())
        .and_then(|()| replace(&path, &paths.state(), text.as_bytes()))
        .map_err(|source| PrepareError::PromptFile { path, source })
}
