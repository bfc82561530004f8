//! The registry: which sessions are wanted, and the verbs that change it.
//!
//! Pure: a store runs these under its lock and makes the result durable.
//! Every verb attaches a missing id first, in the same transaction, so that what it notes about
//! launches is about the right session.

use thiserror::Error;

use crate::settle::settle_one;
use crate::{Entry, Identities, SessionId, SessionName, SessionSpec, Timestamp};

/// The wanted sessions in file order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Registry {
    entries: Vec<(SessionName, Entry)>,
    unusable: Vec<Unusable>,
}

/// An entry of the file that cannot be used as it stands; kept as it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unusable {
    /// Its key, which may not even be a legal name.
    pub key: String,
    /// Its id, where it has one: what runs under it is left alone.
    pub id: Option<SessionId>,
    /// What is wrong with it, in words for people.
    pub reason: String,
}

/// An expected no of `add`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AddRefusal {
    /// The name is in use.
    #[error(
        "session `{0}` already exists; pick another name or remove it with `agent-box session rm {0}`"
    )]
    NameTaken(SessionName),
    /// A prompt or argument holds a NUL byte, which no program argument can.
    #[error("{0} holds a NUL byte, which cannot be handed to a program; take it out")]
    Nul(&'static str),
}

/// An expected no of `rm`, `stop`, `restart` and `limits`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VerbRefusal {
    /// Nothing of that name is listed.
    #[error("no session `{0}` is listed; `agent-box session ls` shows the names")]
    NotListed(SessionName),
    /// The entry cannot be used as it stands.
    #[error("session `{name}` cannot be used: {reason}; mend it in the file or remove it")]
    Unusable {
        /// Its name.
        name: SessionName,
        /// What is wrong.
        reason: String,
    },
}

/// What a delisting found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Delisted {
    /// The id whose launches are to be ended; `None` if the entry was unusable and had none.
    pub id: Option<SessionId>,
    /// The entry as it was.
    pub entry: Option<Entry>,
}

impl Registry {
    /// A registry from what a file says; later entries of a repeated name are dropped.
    pub fn from_parts(entries: Vec<(SessionName, Entry)>, unusable: Vec<Unusable>) -> Self {
        let mut registry = Self { entries: Vec::with_capacity(entries.len()), unusable };
        for (name, entry) in entries {
            if registry.entry(&name).is_none() {
                registry.entries.push((name, entry));
            }
        }
        registry
    }

    /// The usable entries in file order.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (&SessionName, &Entry)> {
        self.entries.iter().map(|(name, entry)| (name, entry))
    }

    /// The entries that cannot be used.
    pub fn unusable(&self) -> &[Unusable] {
        &self.unusable
    }

    /// The entry of that name.
    pub fn entry(&self, name: &SessionName) -> Option<&Entry> {
        self.entries.iter().find(|(listed, _)| listed == name).map(|(_, entry)| entry)
    }

    /// The entry of that name, for changing.
    pub fn entry_mut(&mut self, name: &SessionName) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|(listed, _)| listed == name).map(|(_, entry)| entry)
    }

    /// The entry with that id.
    pub fn by_id(&self, id: SessionId) -> Option<(&SessionName, &Entry)> {
        self.entries().find(|(_, entry)| entry.id == Some(id))
    }

    /// The entry with that id, for changing.
    pub fn by_id_mut(&mut self, id: SessionId) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|(_, entry)| entry.id == Some(id)).map(|(_, entry)| entry)
    }

    /// Whether the id is listed, by a usable entry or not.
    pub fn lists(&self, id: SessionId) -> bool {
        self.by_id(id).is_some() || self.unusable.iter().any(|entry| entry.id == Some(id))
    }

    /// Whether the name is in use, by a usable entry or not.
    pub fn is_taken(&self, name: &str) -> bool {
        self.entries.iter().any(|(listed, _)| listed.as_str() == name)
            || self.unusable.iter().any(|entry| entry.key == name)
    }

    /// Lists a new session under `name` with the id `id`.
    ///
    /// Writes the tombstone of a predecessor of that name that was delisted without one.
    ///
    /// # Errors
    /// When the name is taken or a text cannot be handed to a program; nothing was changed.
    pub fn add(
        &mut self,
        identities: &mut Identities,
        name: SessionName,
        spec: SessionSpec,
        id: SessionId,
        created_by: &str,
        now: Timestamp,
    ) -> Result<(), AddRefusal> {
        if self.is_taken(name.as_str()) {
            return Err(AddRefusal::NameTaken(name));
        }
        let nul = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains('\0'));
        if nul(&spec.initial_prompt) || nul(&spec.resume_prompt) {
            return Err(AddRefusal::Nul("the prompt"));
        }
        if spec.extra_args.iter().any(|arg| arg.contains('\0')) || nul(&spec.working_directory) {
            return Err(AddRefusal::Nul("an argument"));
        }
        self.bury_unlisted(identities, &name, now, "a new session of the same name");
        let mut entry = Entry::new(id, spec);
        entry.created_by = Some(created_by.to_owned());
        identities.see(&name, &entry);
        self.entries.push((name, entry));
        Ok(())
    }

    /// Takes `name` off the list and buries its id.
    ///
    /// # Errors
    /// When nothing of that name is listed.
    pub fn delist(
        &mut self,
        identities: &mut Identities,
        name: &SessionName,
        mint: &mut dyn FnMut() -> SessionId,
        now: Timestamp,
        by: &str,
    ) -> Result<Delisted, VerbRefusal> {
        if let Some(position) = self.unusable.iter().position(|it| it.key == name.as_str()) {
            let id = self.unusable.remove(position).id;
            if let Some(identity) = id.and_then(|id| identities.live.get(&id)).cloned() {
                identities.bury(identity, now, by);
            }
            return Ok(Delisted { id, entry: None });
        }
        settle_one(self, identities, name, mint)?;
        let position = self
            .entries
            .iter()
            .position(|(listed, _)| listed == name)
            .ok_or_else(|| VerbRefusal::NotListed(name.clone()))?;
        let (name, entry) = self.entries.remove(position);
        identities.see(&name, &entry);
        let id = entry.id.expect("BUG: settle_one attaches an id");
        if let Some(identity) = identities.live.get(&id).cloned() {
            identities.bury(identity, now, by);
        }
        Ok(Delisted { id: Some(id), entry: Some(entry) })
    }

    /// Buries what `name` was last seen of and is not listed any more: whoever removed it died
    /// before its tombstone was written.
    pub fn bury_unlisted(
        &self,
        identities: &mut Identities,
        name: &SessionName,
        now: Timestamp,
        by: &str,
    ) {
        let unlisted: Vec<_> = identities
            .live
            .values()
            .filter(|identity| identity.name == *name && !self.lists(identity.id))
            .cloned()
            .collect();
        for identity in unlisted {
            identities.bury(identity, now, by);
        }
    }

    /// Marks `name` as stopped by `by` and raises its generation.
    ///
    /// `launched` is the generation of the launch on record, 0 if there is none.
    ///
    /// # Errors
    /// When the name is not listed or its entry unusable.
    pub fn stop(
        &mut self,
        identities: &mut Identities,
        name: &SessionName,
        mint: &mut dyn FnMut() -> SessionId,
        launched: &dyn Fn(SessionId) -> u64,
        by: &str,
    ) -> Result<SessionId, VerbRefusal> {
        self.intend(identities, name, mint, launched, |entry| {
            entry.stopped = true;
            entry.stopped_by = Some(by.to_owned());
        })
    }

    /// Asks for a new launch of `name`, stopped or not.
    ///
    /// # Errors
    /// When the name is not listed or its entry unusable.
    pub fn restart(
        &mut self,
        identities: &mut Identities,
        name: &SessionName,
        mint: &mut dyn FnMut() -> SessionId,
        launched: &dyn Fn(SessionId) -> u64,
    ) -> Result<SessionId, VerbRefusal> {
        self.intend(identities, name, mint, launched, |entry| {
            entry.stopped = false;
            entry.stopped_by = None;
        })
    }

    /// Any other intent on `name`: attaches its id, applies `change`, raises the generation.
    ///
    /// # Errors
    /// When the name is not listed or its entry unusable.
    pub fn intend(
        &mut self,
        identities: &mut Identities,
        name: &SessionName,
        mint: &mut dyn FnMut() -> SessionId,
        launched: &dyn Fn(SessionId) -> u64,
        change: impl FnOnce(&mut Entry),
    ) -> Result<SessionId, VerbRefusal> {
        if let Some(entry) = self.unusable.iter().find(|entry| entry.key == name.as_str()) {
            return Err(VerbRefusal::Unusable { name: name.clone(), reason: entry.reason.clone() });
        }
        settle_one(self, identities, name, mint)?;
        let entry = self.entry_mut(name).ok_or_else(|| VerbRefusal::NotListed(name.clone()))?;
        let id = entry.id.expect("BUG: settle_one attaches an id");
        change(entry);
        // A hand edit may have lowered the number below what was already launched or seen.
        let seen = identities.live.get(&id).map_or(0, |identity| identity.generation);
        entry.generation = entry.generation.max(launched(id)).max(seen) + 1;
        let entry = entry.clone();
        identities.see(name, &entry);
        Ok(id)
    }

    /// Parks a session whose agent ended cleanly, if nothing newer was asked for meanwhile.
    ///
    /// Returns whether it was parked.
    pub fn park(
        &mut self,
        identities: &mut Identities,
        id: SessionId,
        generation: u64,
        by: &str,
    ) -> bool {
        let Some((name, entry)) = self.by_id(id) else { return false };
        if entry.generation != generation || entry.stopped || identities.is_removed(id) {
            return false;
        }
        let name = name.clone();
        let entry = self.by_id_mut(id).expect("BUG: found a line above");
        entry.stopped = true;
        entry.stopped_by = Some(by.to_owned());
        entry.generation += 1;
        let entry = entry.clone();
        identities.see(&name, &entry);
        true
    }
}

#[cfg(test)]
mod tests;
