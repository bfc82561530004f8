//! `add`: a new session, listed durably before this returns.

use std::path::{Path, PathBuf};

use agent_box_session::{
    AddRefusal, Agent, ParseNameError, SessionId, SessionName, SessionSpec, derive_name,
};
use agent_box_session_store::{
    Change, Damage, Event, EventKind, IoError, LockError, TransactError,
};
use thiserror::Error;

use super::Operator;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct AddRequest {
    /// The name; one is derived without it.
    pub name: Option<String>,
    /// The spec; its directory is already absolute.
    pub spec: SessionSpec,
    /// Make the directory if it is missing.
    pub make_directory: bool,
}

/// What was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// Its name.
    pub name: SessionName,
    /// Its id.
    pub session: SessionId,
    /// Its agent.
    pub agent: Agent,
    /// Whether it has a kickoff prompt.
    pub with_prompt: bool,
    /// Whether a supervisor runs that will start it.
    pub supervised: bool,
}

/// Why nothing was added.
#[derive(Debug, Error)]
pub enum AddError {
    /// The name is not legal.
    #[error(transparent)]
    Name(#[from] ParseNameError),
    /// The registry refuses.
    #[error(transparent)]
    Refused(#[from] AddRefusal),
    /// The directory cannot be used.
    #[error("directory {} {reason}", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The registry is damaged; nothing was changed.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// A lock was not had; nothing was changed.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Operator {
    /// Adds a session.
    ///
    /// # Errors
    /// See [`AddError`]; nothing was added then.
    pub fn add(&self, request: AddRequest) -> Result<Added, AddError> {
        let AddRequest { name, spec, make_directory } = request;
        let wanted = name.as_deref().map(SessionName::for_creation).transpose()?;
        if let Some(directory) = &spec.working_directory {
            check_directory(Path::new(directory), make_directory)?;
        }
        let agent = spec.agent.clone().unwrap_or(Agent::Shell);
        let with_prompt = spec.initial_prompt.as_ref().is_some_and(|prompt| !prompt.is_empty());
        let home = self.store.paths().home().to_string_lossy().into_owned();
        let directory = spec.working_directory.clone().filter(|directory| *directory != home);
        let summary = match &wanted {
            Some(name) => format!("add {name} ({agent})"),
            None => format!("add a session ({agent})"),
        };
        let change = Change::Operator { by: self.by.clone(), summary };
        let added = self.store.transact(change, |tx| {
            // Choosing a name and taking it is one critical section.
            let name = wanted.unwrap_or_else(|| {
                derive_name(
                    &agent,
                    directory.as_deref(),
                    &|name| tx.registry.is_taken(name),
                    // The last bytes of a v7 id are random.
                    &mut || {
                        let bytes = *self.store.mint_session().as_uuid().as_bytes();
                        u16::from_be_bytes([bytes[14], bytes[15]])
                    },
                )
            });
            tx.add(name.clone(), spec, &self.by).map(|session| (name, session))
        });
        let (name, session) = added.map_err(|error| match error {
            TransactError::Refused(refusal) => AddError::Refused(refusal),
            TransactError::Lock(error) => AddError::Lock(error),
            TransactError::Damaged(damage) => AddError::Damaged(damage),
            TransactError::Io(error) => AddError::Io(error),
        })?;
        let event = Event::new(self.store.now(), EventKind::Added, format!("added ({agent})"));
        self.store.journal().append(&event.about(session, &name).by(&self.by))?;
        Ok(Added { name, session, agent, with_prompt, supervised: self.store.is_supervised() })
    }
}

fn check_directory(directory: &Path, make: bool) -> Result<(), AddError> {
    let refuse =
        |reason: String| Err(AddError::Directory { directory: directory.to_owned(), reason });
    if make
        && !directory.exists()
        && let Err(error) = std::fs::create_dir_all(directory)
    {
        return refuse(format!("cannot be made: {error}"));
    }
    match std::fs::metadata(directory) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => refuse("is not a directory; give another one".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            refuse("does not exist; make it, or let `--mkdir` make it".to_owned())
        }
        Err(error) => refuse(format!("cannot be used: {error}")),
    }
}
