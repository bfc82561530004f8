//! Identities and tombstones as files: `identities.json` for ids that are alive (or were delisted
//! without a tombstone yet), one file for each removed id.
//!
//! `identities.json` is written before the registry's rename and the tombstones after it, so a
//! newly buried id stands in both for a while: a tombstone outweighs.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use agent_box_disk::{self as disk, IoError, Replacement};
use agent_box_session::{
    Agent, Identities, Identity, PromptHash, Registry, SessionId, SessionName, Timestamp, Tombstone,
};
use serde::{Deserialize, Serialize};

use crate::regular_file;
use crate::store::Store;

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct IdentitiesFile {
    version: u32,
    identities: Vec<IdentityJson>,
}

#[derive(Serialize, Deserialize)]
struct TombstoneFile {
    version: u32,
    at: u64,
    by: String,
    identity: IdentityJson,
}

#[derive(Serialize, Deserialize)]
struct IdentityJson {
    id: String,
    name: String,
    agent: Option<String>,
    directory: Option<String>,
    prompt_sha256: Option<String>,
    conversations: Vec<String>,
    generation: u64,
}

impl IdentityJson {
    fn of(identity: &Identity) -> Self {
        Self {
            id: identity.id.to_string(),
            name: identity.name.to_string(),
            agent: identity.agent.as_ref().map(|agent| agent.as_str().to_owned()),
            directory: identity.directory.clone(),
            prompt_sha256: identity.prompt.as_ref().map(|hash| hash.as_hex().to_owned()),
            conversations: identity.conversations.clone(),
            generation: identity.generation,
        }
    }

    fn identity(self) -> Result<Identity, String> {
        Ok(Identity {
            id: self.id.parse().map_err(|error| format!("{error}"))?,
            name: SessionName::parse(&self.name).map_err(|error| error.to_string())?,
            agent: match self.agent {
                Some(kind) => Some(Agent::parse(&kind).map_err(|error| error.to_string())?),
                None => None,
            },
            directory: self.directory,
            prompt: self.prompt_sha256.as_deref().map(PromptHash::from_hex),
            conversations: self.conversations,
            generation: self.generation,
        })
    }
}

impl Store {
    /// The live identities, with the tombstones of every id among them or listed.
    pub(crate) fn load_identities(&self, registry: &Registry) -> Result<Identities, IoError> {
        let mut identities = Identities { live: self.live_identities()?, ..Identities::default() };
        let listed = registry.entries().filter_map(|(_, entry)| entry.id);
        let unusable = registry.unusable().iter().filter_map(|entry| entry.id);
        let ids: Vec<_> = listed.chain(unusable).chain(identities.live.keys().copied()).collect();
        for id in ids {
            if let Some(tombstone) = self.tombstone(id)? {
                identities.live.remove(&id);
                identities.removed.insert(id, tombstone);
            }
        }
        Ok(identities)
    }

    fn live_identities(&self) -> Result<BTreeMap<SessionId, Identity>, IoError> {
        let path = self.paths().identities();
        let Some(bytes) = read_if_any(&path)? else { return Ok(BTreeMap::new()) };
        let file: IdentitiesFile = parse(&path, &bytes)?;
        refuse_newer(&path, file.version)?;
        let identities = file.identities.into_iter().map(|json| {
            let identity = json.identity().map_err(|reason| damaged(&path, &reason))?;
            Ok((identity.id, identity))
        });
        identities.collect()
    }

    pub(crate) fn write_identities<'i>(
        &self,
        identities: impl Iterator<Item = &'i Identity>,
    ) -> Result<(), IoError> {
        let file = IdentitiesFile {
            version: VERSION,
            identities: identities.map(IdentityJson::of).collect(),
        };
        disk::replace(&self.paths().identities(), &self.paths().state(), &print(&file))
    }

    /// Whether this id was removed, and what was known of it.
    ///
    /// # Errors
    /// When a tombstone exists and cannot be read.
    pub fn tombstone(&self, id: SessionId) -> Result<Option<Tombstone>, IoError> {
        let path = self.paths().tombstone(id);
        let Some(bytes) = read_if_any(&path)? else { return Ok(None) };
        let file: TombstoneFile = parse(&path, &bytes)?;
        refuse_newer(&path, file.version)?;
        let identity = file.identity.identity().map_err(|reason| damaged(&path, &reason))?;
        Ok(Some(Tombstone { identity, at: Timestamp::from_millis(file.at), by: file.by }))
    }

    /// Every tombstone of this box.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn tombstones(&self) -> Result<BTreeMap<SessionId, Tombstone>, IoError> {
        let mut removed = BTreeMap::new();
        for id in ids_in(&self.paths().tombstones())? {
            if let Some(tombstone) = self.tombstone(id)? {
                removed.insert(id, tombstone);
            }
        }
        Ok(removed)
    }

    /// Writes a tombstone beside its place, so that a full disk is met before the commit.
    pub(crate) fn prepare_tombstone(&self, tombstone: &Tombstone) -> Result<Replacement, IoError> {
        let file = TombstoneFile {
            version: VERSION,
            at: tombstone.at.as_millis(),
            by: tombstone.by.clone(),
            identity: IdentityJson::of(&tombstone.identity),
        };
        let path = self.paths().tombstone(tombstone.identity.id);
        let mut new = Replacement::new(&path, &self.paths().state())?;
        new.write(&print(&file))?;
        new.take_over()?;
        new.sync()?;
        Ok(new)
    }
}

/// The ids that name `<id>.json` files in a directory, in order of age.
pub(crate) fn ids_in(directory: &Path) -> Result<Vec<SessionId>, IoError> {
    let mut ids = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(IoError::on("list", directory))? {
        let name = entry.map_err(IoError::on("list", directory))?.file_name();
        let id = name.to_str().and_then(|name| name.strip_suffix(".json"));
        ids.extend(id.and_then(|id| id.parse::<SessionId>().ok()));
    }
    ids.sort_unstable();
    Ok(ids)
}

fn read_if_any(path: &Path) -> Result<Option<Vec<u8>>, IoError> {
    match regular_file::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(IoError::on("read", path)(error)),
    }
}

fn parse<'b, T: Deserialize<'b>>(path: &Path, bytes: &'b [u8]) -> Result<T, IoError> {
    serde_json::from_slice(bytes).map_err(|error| damaged(path, &error.to_string()))
}

/// What a newer program wrote would lose what this one does not know.
fn refuse_newer(path: &Path, version: u32) -> Result<(), IoError> {
    if version <= VERSION {
        return Ok(());
    }
    let reason = format!(
        "it has format version {version}; update agent-box on this machine, or move it away"
    );
    Err(IoError::on("use", path)(io::Error::new(io::ErrorKind::InvalidData, reason)))
}

fn damaged(path: &Path, reason: &str) -> IoError {
    // Written by nobody but us, and atomically: a damaged one means a damaged disk.
    let reason = format!("it is damaged ({reason}); restore it from a backup or move it away");
    IoError::on("use", path)(io::Error::new(io::ErrorKind::InvalidData, reason))
}

fn print<T: Serialize>(file: &T) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(file).expect("BUG: texts and numbers print");
    text.push(b'\n');
    text
}

#[cfg(test)]
mod tests {
    use agent_box_session::paths::Paths;

    use super::*;

    #[test]
    fn what_a_newer_program_wrote_is_refused_and_stays() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(Paths::new(home.path(), home.path().join("s"))).unwrap();
        let id = store.mint_session();
        let paths = [store.paths().identities(), store.paths().tombstone(id)];
        let text = format!(
            r#"{{"version": 2, "identities": [], "at": 1, "by": "x", "identity": {{"id": "{id}",
            "name": "x", "agent": null, "directory": null, "prompt_sha256": null,
            "conversations": [], "generation": 1}}}}"#
        );
        for path in &paths {
            disk::replace(path, &store.paths().state(), text.as_bytes()).unwrap();
        }
        let errors = [store.live_identities().unwrap_err(), store.tombstone(id).unwrap_err()];
        for error in errors {
            let source = std::error::Error::source(&error).unwrap().to_string();
            assert!(source.contains("format version 2; update"), "{source}");
        }
    }
}
