//! Which agents this box has, and where their programs are.

use std::path::{Path, PathBuf};

use agent_box_session::Agent;
use rustix::fs::{Access, access};

use crate::{PrepareError, Surroundings};

/// The kinds that are looked for on the search path, with what installs them.
const FOUND: [(Agent, &str); 2] = [
    (Agent::Claude, "npm install -g @anthropic-ai/claude-code"),
    (Agent::Codex, "npm install -g @openai/codex"),
];

/// The agents that can be started now, the shell first among equals.
pub(crate) fn available(surroundings: &Surroundings) -> Vec<Agent> {
    let explicit = surroundings.agents.iter().map(|(agent, _)| agent.clone());
    let mut agents: Vec<Agent> = if surroundings.agents.is_empty() {
        FOUND.into_iter().map(|(agent, _)| agent).collect()
    } else {
        explicit.collect()
    };
    agents.retain(|agent| *agent != Agent::Shell && find(surroundings, agent).is_ok());
    agents.push(Agent::Shell);
    agents
}

/// The program of `agent`.
pub(crate) fn find(surroundings: &Surroundings, agent: &Agent) -> Result<PathBuf, PrepareError> {
    if let Some((_, program)) = surroundings.agents.iter().find(|(kind, _)| kind == agent) {
        return if is_program(program) {
            Ok(program.clone())
        } else {
            let hint =
                format!("{} is not a program; correct the box's list of agents", program.display());
            Err(PrepareError::NotInstalled { agent: agent.clone(), hint })
        };
    }
    if *agent == Agent::Shell {
        return Ok(surroundings.shell.clone());
    }
    let found = FOUND.iter().find(|(kind, _)| kind == agent);
    let Some((_, install)) = found.filter(|_| surroundings.agents.is_empty()) else {
        let known: Vec<String> = available(surroundings).iter().map(Agent::to_string).collect();
        return Err(PrepareError::UnknownAgent { agent: agent.clone(), known: known.join(", ") });
    };
    std::env::split_paths(&surroundings.search_path)
        .map(|directory| directory.join(agent.as_str()))
        .find(|program| program.is_absolute() && is_program(program))
        .ok_or_else(|| PrepareError::NotInstalled {
            agent: agent.clone(),
            hint: format!(
                "there is no program `{agent}` on the search path; install it (`{install}`) or \
                 set {}",
                agent_box_session::env::AGENT_BINS
            ),
        })
}

fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}
