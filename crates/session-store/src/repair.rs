//! `repair`: the newest good document in place of a damaged one, which is kept.

use std::path::{Path, PathBuf};

use agent_box_disk::{self as disk, IoError, LockError};
use thiserror::Error;

use crate::document::{Damage, DamageKind, Document, ReadError};
use crate::history::{Generation, GenerationKind};
use crate::regular_file;
use crate::store::Store;

/// What `repair` did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// The document that is current now.
    pub restored: Generation,
    /// Where the damaged bytes are; `None` if the file was missing.
    pub kept: Option<PathBuf>,
}

/// Nothing was repaired.
#[derive(Debug, Error)]
pub enum RepairError {
    /// The registry is fine.
    #[error("{} is not damaged; nothing to repair", path.display())]
    NotDamaged {
        /// The registry.
        path: PathBuf,
    },
    /// It is not damaged but newer than this program.
    #[error(transparent)]
    Newer(Damage),
    /// Nothing good is left.
    #[error(
        "{damage}; but history holds no good version: mend the file by hand, or put \
         `{{\"sessions\": {{}}}}` there to begin anew"
    )]
    NothingGood {
        /// What is wrong with the registry.
        damage: Damage,
    },
    /// The lock was not had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl Store {
    /// What is wrong with the registry, if anything.
    ///
    /// # Errors
    /// When it cannot be read at all.
    pub fn diagnose(&self) -> Result<Option<Damage>, IoError> {
        match self.read_settled() {
            Ok(_) => Ok(None),
            Err(ReadError::Damaged(damage)) => Ok(Some(damage)),
            Err(ReadError::Io(error)) => Err(error),
        }
    }

    /// Restores the newest good document if the registry is damaged or missing.
    ///
    /// # Errors
    /// When it is fine, newer, or nothing good is left; it is unchanged then.
    pub fn repair(&self, by: &str) -> Result<Repaired, RepairError> {
        let _lock = self.lock_registry()?;
        let path = self.paths().registry();
        let damage = match self.diagnose()? {
            None => return Err(RepairError::NotDamaged { path }),
            Some(damage) if damage.kind == DamageKind::Newer => {
                return Err(RepairError::Newer(damage));
            }
            Some(damage) => damage,
        };
        let target = disk::behind_link(&path)?;
        let good = match self.good_part(&damage, &target)? {
            Some(part) => Some(part),
            None => self.newest_good()?.map(|kept| (kept.generation, kept.document)),
        };
        let Some((restored, document)) = good else {
            return Err(RepairError::NothingGood { damage });
        };
        let text = document.text().expect("BUG: it was read from a file");
        let directory = disk::parent(&target);
        let kept = match damage.kind {
            DamageKind::Missing => None,
            _ => Some(keep_beside(&target, &self.now().to_string())?),
        };
        let summary = format!("repair: back to generation {}", restored.number);
        let pending = self.prepare_generation(GenerationKind::Mirror, by, &summary, text)?;
        disk::replace(&target, directory, text.as_bytes())?;
        pending.keep()?;
        Ok(Repaired { restored, kept })
    }

    /// A whole document with something behind it: what a program that writes in place leaves when
    /// the new document is shorter. It is newer than anything in history.
    fn good_part(
        &self,
        damage: &Damage,
        target: &Path,
    ) -> Result<Option<(Generation, Document)>, IoError> {
        if damage.kind != DamageKind::TrailingGarbage {
            return Ok(None);
        }
        let bytes = regular_file::read(target).map_err(IoError::on("read", target))?;
        let part = bytes.get(..damage.byte).unwrap_or(&bytes);
        let Ok(document) = Document::parse(target, part) else { return Ok(None) };
        if let Some(text) = document.text() {
            self.note_unseen(text)?;
        }
        let newest = self.kept_documents()?.pop();
        Ok(newest.map(|kept| (kept.generation, document)))
    }
}

/// Copies the damaged bytes beside the registry. A copy, so that there is never no registry.
fn keep_beside(target: &Path, now: &str) -> Result<PathBuf, IoError> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let kept = target.with_file_name(format!("{name}.damaged-{}", now.replace(':', "")));
    let directory = disk::parent(target);
    let bytes = regular_file::read(target).map_err(IoError::on("read", target))?;
    disk::replace(&kept, directory, &bytes)?;
    Ok(kept)
}
