//! One launch, prepared: what runs, where, with which environment, and what to say about it.

use std::sync::{Mutex, PoisonError};

use agent_box_session::{Agent, Ending, Entry, LaunchId, LaunchRecord, LaunchState, SessionName};

use crate::conversation::{Candidates, Choice, fresh, is_conversation_id};
use crate::directory::Directory;
use crate::prompt::{Kickoff, says_something};
use crate::{
    PrepareError, Surroundings, argument_space, claude, codex, environment, instructions, program,
    prompt, variable,
};

/// Prepares launches; built once per supervisor, shared by its per-session tasks.
#[derive(Debug)]
pub struct Harness {
    surroundings: Surroundings,
    /// Launches are prepared side by side, and two edits of `~/.claude.json` at once would lose
    /// one directory's trust.
    seeding: Mutex<()>,
}

/// The launch to prepare and what is known of the session's past.
pub struct Request<'a> {
    /// The session's name.
    pub name: &'a SessionName,
    /// The launch's id; names the file of a long prompt.
    pub launch: LaunchId,
    /// What is wanted.
    pub entry: &'a Entry,
    /// The session's last launch, under the same session id.
    pub record: Option<&'a LaunchRecord>,
    /// The conversation that the hook last recorded for one that was launched
    /// (`Store::rotation`).
    pub rotation: &'a dyn Fn(&str) -> Option<String>,
    /// Conversations of all other sessions, removed ones included; never continued here.
    pub others: &'a [String],
    /// The env file's variables: they can move the agent's state (`CLAUDE_CONFIG_DIR`,
    /// `CODEX_HOME`) and allow root (`IS_SANDBOX`). Never copied into the environment.
    pub variables: &'a [(String, String)],
}

/// Everything of a launch record that the harness decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The program and its arguments, word by word.
    pub argv: Vec<String>,
    /// The agent's environment except what its terminal, the env file and the launcher add.
    pub environment: Vec<(String, String)>,
    /// Where it runs: absolute, exists, can be entered.
    pub directory: String,
    /// The kickoff prompt that this session has.
    pub prompt: Option<String>,
    /// Whether `argv` carries that prompt.
    pub carries_prompt: bool,
    /// In how many earlier launches it was handed over.
    pub prompt_handed: u32,
    /// Whether a transcript holds it.
    pub prompt_proven: bool,
    /// The conversation (`boxSessionId`), also `AGENT_BOX_SESSION_ID` of the agent. For codex
    /// this is the id in the stamp, not codex's own.
    pub conversation: Option<String>,
    /// Whether that conversation is continued.
    pub resumed: bool,
    /// What the person should know about this start.
    pub notes: Vec<String>,
    /// Texts in the agent's last words that mean: sign in again.
    pub login_hints: Vec<String>,
}

impl Harness {
    /// A harness for this box and user.
    pub fn new(surroundings: Surroundings) -> Self {
        Self { surroundings, seeding: Mutex::new(()) }
    }

    pub(crate) fn home(&self) -> &std::path::Path {
        self.surroundings.paths.home()
    }

    /// The agent kinds that can be started here, the shell always among them.
    pub fn available(&self) -> Vec<Agent> {
        program::available(&self.surroundings)
    }

    /// Does the slow work of a launch: looks at the directory, finds the program, decides which
    /// conversation continues and which prompt is due, seeds the agent's files.
    ///
    /// # Errors
    /// When the launch cannot be made as things stand; the text says what to do. Nothing but the
    /// file of a long prompt was written then.
    pub fn prepare(&self, request: &Request<'_>) -> Result<Prepared, PrepareError> {
        let spec = &request.entry.spec;
        let agent = spec.agent.as_ref().ok_or(PrepareError::NoAgent)?;
        let program = program::find(&self.surroundings, agent)?;
        let home = self.surroundings.paths.home();
        let directory = Directory::check(spec.working_directory.as_deref(), home)?;
        let kickoff = match agent {
            // It could not be handed over, so it must not count as this session's either.
            Agent::Shell => Kickoff::default(),
            _ => Kickoff::of(agent, request.entry, request.record, |record| {
                self.prompt_is_proven(record, request.rotation, request.variables)
            }),
        };

        let candidates = Candidates::of(request);
        let claude_files = claude::Files::of(home, request.variables);
        let codex_home = codex::home(home, request.variables);
        let mut codex_id = None;
        let mut choice = match agent {
            Agent::Claude => claude::choose(&claude_files, &directory.real, &candidates),
            Agent::Codex => {
                let (choice, id) = codex::choose(&codex_home, &candidates);
                codex_id = id;
                choice
            }
            Agent::Shell | Agent::Other(_) => {
                // Only a label here: nothing can be resumed, so nothing needs proof.
                let own = candidates.launched(&mut Vec::new()).into_iter().next();
                Choice::anew(own.unwrap_or_else(fresh), Vec::new())
            }
        };
        let mut notes = std::mem::take(&mut choice.notes);
        let message = self.message(request, agent, &kickoff, &choice, &mut notes);
        let mut skip_permissions = spec.skip_permissions;
        if *agent == Agent::Claude && skip_permissions && !self.may_skip_permissions(request) {
            skip_permissions = false;
            notes.push(
                "claude refuses to skip permissions as root: it will ask; set IS_SANDBOX=1 in the \
                 env file if this machine is a sandbox"
                    .to_owned(),
            );
        }

        let mut argv = vec![program.to_string_lossy().into_owned()];
        let prompt = message.as_ref().map(|message| message.word.as_str());
        match agent {
            Agent::Claude => {
                let name = self.remote_control_name(request);
                argv.extend(claude::arguments(&claude::CommandLine {
                    skip_permissions,
                    remote_control: spec.remote_control.then_some(name.as_str()),
                    program: &self.surroundings.program,
                    choice: &choice,
                    extra_args: &spec.extra_args,
                    prompt,
                }));
            }
            Agent::Codex => {
                let mark = codex::stamp(&choice.conversation);
                let needs_mark = !choice.resumed
                    && prompt.is_none()
                    && !codex::has_own_instructions(&codex_home);
                argv.extend(codex::arguments(&codex::CommandLine {
                    skip_permissions,
                    full_access: self.surroundings.codex_full_access,
                    program: &self.surroundings.program,
                    directory: &directory.text,
                    resume: codex_id.as_deref(),
                    extra_args: &spec.extra_args,
                    prompt,
                    mark: needs_mark.then_some(mark.as_str()),
                }));
            }
            Agent::Shell => argv.extend_from_slice(&spec.extra_args),
            Agent::Other(_) => {
                argv.extend_from_slice(&spec.extra_args);
                argv.extend(prompt.map(str::to_owned));
            }
        }
        let environment = environment::of(&self.surroundings, request, &choice.conversation);
        argument_space::check(agent, &argv, &environment, request.variables)?;
        if let Some(message) = &message {
            prompt::store(&self.surroundings.paths, request.launch, &message.text)?;
        }

        if *agent == Agent::Claude {
            let seeding = claude::Seeding {
                directory: &directory.real,
                skip_permissions,
                api_key: variable(request.variables, "ANTHROPIC_API_KEY"),
            };
            // A panic of another thread while it held this left no data half done here.
            let _alone = self.seeding.lock().unwrap_or_else(PoisonError::into_inner);
            claude::seed(&claude_files, &seeding, &mut notes);
        }
        instructions::place(
            &self.surroundings,
            agent,
            &directory.real,
            &claude_files.home,
            &mut notes,
        );

        let login_hints = match agent {
            Agent::Claude => claude::LOGIN_HINTS,
            Agent::Codex => codex::LOGIN_HINTS,
            Agent::Shell | Agent::Other(_) => &[],
        };
        Ok(Prepared {
            argv,
            environment,
            directory: directory.text,
            carries_prompt: message.is_some_and(|message| message.is_kickoff),
            prompt: kickoff.text,
            prompt_handed: kickoff.handed,
            prompt_proven: kickoff.proven,
            conversation: Some(choice.conversation),
            resumed: choice.resumed,
            notes,
            login_hints: login_hints.iter().map(|&hint| hint.to_owned()).collect(),
        })
    }

    /// Whether a transcript of `record`'s conversation (or of the one it moved on to) holds the
    /// prompt that its launch carried; of an agent without transcripts, whether it ended well.
    pub fn prompt_is_proven(
        &self,
        record: &LaunchRecord,
        rotation: &dyn Fn(&str) -> Option<String>,
        variables: &[(String, String)],
    ) -> bool {
        if record.prompt_proven {
            return true;
        }
        if !record.agent.keeps_transcripts() {
            // Nothing that it leaves behind could prove it, except that it ended well.
            let ended_well =
                matches!(record.state, LaunchState::Ended { ending: Ending::Parked, .. });
            return record.prompt_handed > 0 && ended_well;
        }
        let (Some(conversation), Some(word)) = (&record.conversation, record.argv.last()) else {
            return false;
        };
        if !record.carries_prompt || !record.was_started() || !is_conversation_id(conversation) {
            return false;
        }
        let home = self.surroundings.paths.home();
        match record.agent {
            Agent::Claude => {
                let files = claude::Files::of(home, variables);
                let moved = rotation(conversation).filter(|id| is_conversation_id(id));
                claude::holds(&files, conversation, word)
                    || moved.is_some_and(|id| claude::holds(&files, &id, word))
            }
            Agent::Codex => codex::holds(&codex::home(home, variables), conversation, word),
            Agent::Shell | Agent::Other(_) => false,
        }
    }

    /// What the agent is told at its start.
    fn message(
        &self,
        request: &Request<'_>,
        agent: &Agent,
        kickoff: &Kickoff,
        choice: &Choice,
        notes: &mut Vec<String>,
    ) -> Option<Message> {
        if *agent == Agent::Shell {
            if request.entry.spec.initial_prompt.as_deref().is_some_and(says_something) {
                notes.push("a shell takes no prompt: it stays in the registry".to_owned());
            }
            return None;
        }
        if kickoff.is_open() && agent.keeps_transcripts() {
            notes.push(format!(
                "the kickoff prompt was handed over {} times and no transcript holds it: it is \
                 not sent again",
                kickoff.handed
            ));
        }
        let goes_on = choice.resumed || !agent.keeps_transcripts() && kickoff.is_open();
        let (text, is_kickoff, is_ours) = match (&kickoff.text, &request.entry.spec.resume_prompt) {
            (Some(text), _) if kickoff.due => (text.clone(), true, false),
            _ if !goes_on => return None,
            (_, Some(text)) if says_something(text) => (text.clone(), false, false),
            (Some(task), _) if !choice.resumed => {
                notes.push("it cannot resume, so it is told its task again".to_owned());
                (prompt::reminder(&choice.conversation, task), false, true)
            }
            _ => (prompt::steer(&choice.conversation), false, true),
        };
        let mut word = prompt::word(&self.surroundings.paths, request.launch, &text);
        match agent {
            Agent::Codex if !is_ours => word = codex::stamped(&choice.conversation, &word),
            Agent::Claude if claude::command(&word).is_some() => notes.push(
                "the prompt begins with `/`: claude runs it as a command if it knows one"
                    .to_owned(),
            ),
            _ => {}
        }
        Some(Message { text, word, is_kickoff })
    }

    fn may_skip_permissions(&self, request: &Request<'_>) -> bool {
        let given = variable(request.variables, agent_box_session::env::IS_SANDBOX);
        !self.surroundings.root || given.map_or(self.surroundings.sandbox, |value| value == "1")
    }

    fn remote_control_name(&self, request: &Request<'_>) -> String {
        match &request.entry.spec.remote_control_name {
            Some(name) if !name.is_empty() => name.clone(),
            _ => {
                let name = format!("{}-{}", self.surroundings.user, request.name);
                match self.surroundings.host.as_deref().filter(|host| !host.is_empty()) {
                    Some(host) => format!("{name}@{host}"),
                    None => name,
                }
            }
        }
    }
}

/// A prompt on its way to an agent.
struct Message {
    /// The whole text.
    text: String,
    /// The argument word that hands it over.
    word: String,
    /// Whether it is the kickoff prompt.
    is_kickoff: bool,
}
