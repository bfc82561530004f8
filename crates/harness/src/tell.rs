//! Handing a message to an agent that runs, without typing into its terminal.

use agent_box_session::{Agent, LaunchRecord};
use thiserror::Error;

use crate::{Harness, codex};

/// The longest message that is one argument word, as for prompts.
const LONGEST: usize = 100 * 1024;

/// The command that hands over the message; it ends with 0 if the agent has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Telling {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Its whole environment.
    pub environment: Vec<(String, String)>,
    /// Where it runs.
    pub directory: String,
}

/// Why the message has to wait.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TellError {
    /// Nobody may type for the person at its terminal, and there is no other way.
    #[error("{0} cannot be told from outside; it reads with `agent-box webhook read`")]
    NoWay(Agent),
    /// The agent has not written down its conversation so far.
    #[error("its conversation has not begun")]
    NotBegun,
    /// It does not fit.
    #[error(
        "the message has {0} bytes, at most {LONGEST} can be told; `agent-box webhook read` has no limit"
    )]
    TooLong(usize),
}

impl Harness {
    /// How the agent of a launch is told `message`; `variables` are the env file's.
    ///
    /// # Errors
    /// When it has to wait.
    pub fn telling(
        &self,
        record: &LaunchRecord,
        variables: &[(String, String)],
        message: &str,
    ) -> Result<Telling, TellError> {
        if record.agent != Agent::Codex {
            return Err(TellError::NoWay(record.agent.clone()));
        }
        if message.len() > LONGEST {
            return Err(TellError::TooLong(message.len()));
        }
        let home = codex::home(self.home(), variables);
        let conversation = record.conversation.as_deref().ok_or(TellError::NotBegun)?;
        let thread = codex::thread(&home, conversation).ok_or(TellError::NotBegun)?;
        let program = record.argv.first().ok_or(TellError::NotBegun)?;
        let mut argv = vec![program.clone()];
        argv.extend(codex::queue(&thread, message));
        // As the launcher gives it to the agent: the env file counts.
        let listed = |key: &str| variables.iter().any(|(name, _)| name == key);
        let own = record.environment.iter().filter(|(key, _)| !listed(key));
        let environment = own.chain(variables).cloned().collect();
        Ok(Telling { argv, environment, directory: record.directory.clone() })
    }
}
