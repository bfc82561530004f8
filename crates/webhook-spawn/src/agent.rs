//! Which agent a hook session runs: the one that `add` would take when none is named.

use std::ffi::OsStr;

use agent_box_session::{Agent, ParseAgentError, env};
use thiserror::Error;

/// No agent can take a batch.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AgentError {
    /// The default is no agent's name.
    #[error("{variable}: {0}", variable = env::DEFAULT_AGENT)]
    Parse(#[from] ParseAgentError),
    /// The default is not among those of this box.
    #[error(
        "{} is `{agent}`, and this box has {known}; correct it or name its program in {}",
        env::DEFAULT_AGENT,
        env::AGENT_BINS
    )]
    Unknown {
        /// The default.
        agent: Agent,
        /// What there is.
        known: String,
    },
    /// A shell takes no prompt.
    #[error(
        "the default agent of this box is a shell, which cannot read events; set {} to claude or \
         codex",
        env::DEFAULT_AGENT
    )]
    Shell,
}

/// What a program knows of the box's agents.
pub(crate) struct Choice<'a> {
    /// The default, if one is set.
    pub(crate) default: Option<&'a str>,
    /// `kind=/path …`, if given.
    pub(crate) programs: Option<&'a str>,
    /// Where programs are looked for.
    pub(crate) search_path: &'a OsStr,
}

impl Choice<'_> {
    /// The agent. One that is not installed is taken too: its session says so, and waits.
    pub(crate) fn agent(&self) -> Result<Agent, AgentError> {
        let known: Vec<&str> = match self.programs {
            Some(list) => {
                let kinds = list.split_ascii_whitespace().filter_map(|item| item.split_once('='));
                kinds.map(|(kind, _)| kind).collect()
            }
            None => vec!["claude", "codex"],
        };
        let Some(default) = self.default else {
            let first = match self.programs {
                Some(_) => known.iter().find(|kind| **kind != Agent::Shell.as_str()),
                None => known.iter().find(|kind| self.is_installed(kind)).or(known.first()),
            };
            return Ok(Agent::parse(first.ok_or(AgentError::Shell)?)?);
        };
        match Agent::parse(default)? {
            Agent::Shell => Err(AgentError::Shell),
            agent if known.contains(&agent.as_str()) => Ok(agent),
            agent => Err(AgentError::Unknown { agent, known: known.join(", ") }),
        }
    }

    fn is_installed(&self, program: &str) -> bool {
        std::env::split_paths(self.search_path).any(|directory| directory.join(program).is_file())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(
        default: Option<&str>,
        programs: Option<&str>,
        path: &OsStr,
    ) -> Result<String, String> {
        let choice = Choice { default, programs, search_path: path };
        choice.agent().map(|it| it.to_string()).map_err(|it| it.to_string())
    }

    #[test]
    fn the_default_counts_then_the_first_that_takes_a_prompt() {
        let bins = Some("shell=/bin/sh mine=/bin/mine codex=/bin/codex");
        let nowhere = OsStr::new("/nowhere");
        let ok = |name: &str| Ok(name.to_owned());
        assert_eq!(agent(Some("codex"), None, nowhere), ok("codex"));
        assert_eq!(agent(Some("codex"), bins, nowhere), ok("codex"));
        assert_eq!(agent(None, bins, nowhere), ok("mine"));
        assert_eq!(agent(None, None, nowhere), ok("claude"));
        let directory = tempfile::tempdir().unwrap();
        std::fs::File::create(directory.path().join("codex")).unwrap();
        assert_eq!(agent(None, None, directory.path().as_os_str()), ok("codex"));
        for (default, bins, said) in [
            (Some("shell"), None, "a shell"),
            (None, Some("shell=/bin/sh"), "a shell"),
            (Some("claude"), bins, "shell, mine, codex"),
            (Some("mine"), None, "claude, codex"),
            (Some("a b"), None, "not an agent kind"),
        ] {
            let error = agent(default, bins, nowhere).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
