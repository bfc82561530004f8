//! A body while it is read: in memory while it is small, in a file without a name after that.
//!
//! A stranger with a well-formed false signature can only be refused once all is read, so what
//! is held for one must not be memory.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use thiserror::Error;

use super::budget::{Budget, Share};

/// Where bodies go, and how much of each kind of room there is for all of them.
#[derive(Clone, Debug)]
pub(crate) struct Spool {
    /// For the files; on a real disk.
    pub(crate) directory: PathBuf,
    pub(crate) disk: Budget,
    pub(crate) memory: Budget,
    /// The most of one body that is held in memory before it is verified.
    pub(crate) memory_per_body: usize,
}

/// Why a body is not held.
#[derive(Debug, Error)]
pub(crate) enum SpoolError {
    #[error("the budget for {0} is used up")]
    Budget(&'static str),
    #[error("the file for a large body failed")]
    File(#[from] io::Error),
}

/// A body so far.
#[derive(Debug)]
pub(crate) struct Spooled {
    spool: Spool,
    memory: Vec<u8>,
    memory_share: Share,
    file: Option<File>,
    file_share: Share,
    length: u64,
}

/// All of a verified body, and the memory budget that it takes.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) body: Vec<u8>,
    pub(crate) share: Share,
}

/// As much goes to the file at once.
const BATCH: usize = 128 * 1024;

impl Spool {
    /// Whether a body of this length would find room now.
    pub(crate) fn has_room(&self, length: u64) -> bool {
        let memory = self.memory_per_body as u64;
        if length <= memory { self.memory.has(length) } else { self.disk.has(length) }
    }

    pub(crate) fn begin(&self) -> Spooled {
        Spooled {
            spool: self.clone(),
            memory: Vec::new(),
            memory_share: Share::default(),
            file: None,
            file_share: Share::default(),
            length: 0,
        }
    }
}

impl Spooled {
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Takes the next piece.
    pub(crate) async fn push(&mut self, piece: &Bytes) -> Result<(), SpoolError> {
        self.length += piece.len() as u64;
        let is_large =
            self.file.is_some() || self.memory.len() + piece.len() > self.spool.memory_per_body;
        if !is_large {
            if !self.spool.memory.grow(&mut self.memory_share, piece.len()) {
                return Err(SpoolError::Budget("memory"));
            }
            self.memory.extend_from_slice(piece);
            return Ok(());
        }
        let mut more = piece.len();
        if self.file.is_none() {
            more += self.memory.len();
            self.file = Some(tempfile::tempfile_in(&self.spool.directory)?);
        }
        if !self.spool.disk.grow(&mut self.file_share, more) {
            return Err(SpoolError::Budget("disk"));
        }
        self.memory.extend_from_slice(piece);
        if self.memory.len() >= BATCH {
            self.write_out().await?;
        }
        Ok(())
    }

    /// Moves what is in memory to the file, away from the event loop.
    async fn write_out(&mut self) -> Result<(), SpoolError> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        let memory = std::mem::take(&mut self.memory);
        let written = blocking(move || {
            file.write_all(&memory)?;
            Ok((file, memory))
        });
        let (file, mut memory) = written.await?;
        memory.clear();
        memory.shrink_to(BATCH);
        self.memory = memory;
        self.memory_share = Share::default();
        self.file = Some(file);
        Ok(())
    }

    /// Gives the whole body, which the caller has verified; memory for a large one may have to
    /// be waited for.
    pub(crate) async fn end(mut self, patience: Duration) -> Result<Whole, SpoolError> {
        if self.file.is_none() {
            return Ok(Whole { body: self.memory, share: self.memory_share });
        }
        self.write_out().await?;
        let share = self.spool.memory.wait(self.length, patience).await;
        let share = share.ok_or(SpoolError::Budget("memory"))?;
        let Some(mut file) = self.file.take() else { return Err(SpoolError::Budget("disk")) };
        let length = usize::try_from(self.length).unwrap_or(usize::MAX);
        let body = blocking(move || {
            file.rewind()?;
            let mut body = Vec::with_capacity(length);
            file.read_to_end(&mut body)?;
            Ok(body)
        });
        Ok(Whole { body: body.await?, share })
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spool(directory: &tempfile::TempDir) -> Spool {
        Spool {
            directory: directory.path().to_owned(),
            disk: Budget::new(1 << 20),
            memory: Budget::new(1 << 20),
            memory_per_body: 1000,
        }
    }

    async fn held(spool: &Spool, length: usize, piece: usize) -> Result<Whole, SpoolError> {
        let body: Vec<u8> = (0..length).map(|it| u8::try_from(it % 251).unwrap()).collect();
        let mut spooled = spool.begin();
        for piece in body.chunks(piece) {
            spooled.push(&Bytes::copy_from_slice(piece)).await?;
        }
        assert_eq!(spooled.length(), length as u64);
        let whole = spooled.end(Duration::from_millis(10)).await?;
        assert!(whole.body == body);
        Ok(whole)
    }

    #[tokio::test]
    async fn bodies_of_every_size_come_back_whole_and_leave_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let spool = spool(&directory);
        for length in [0, 1, 999, 1000, 1001, BATCH - 1, BATCH, BATCH + 1, 3 * BATCH + 7] {
            for piece in [1000, 4096, BATCH] {
                let whole = held(&spool, length, piece).await.unwrap();
                assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "no name");
                drop(whole);
                assert!(spool.disk.has(1 << 20) && spool.memory.has(1 << 20), "{length}");
            }
        }
    }

    #[tokio::test]
    async fn an_exhausted_budget_refuses_and_gives_everything_back() {
        let directory = tempfile::tempdir().unwrap();
        let spool = Spool { disk: Budget::new(100_000), ..spool(&directory) };
        let refused = held(&spool, 200_000, 4096).await.unwrap_err();
        assert_eq!(refused.to_string(), "the budget for disk is used up");
        assert!(spool.disk.has(100_000) && spool.memory.has(1 << 20));
        let spool = Spool { memory: Budget::new(50_000), ..spool };
        let refused = held(&spool, 60_000, 4096).await.unwrap_err();
        assert_eq!(refused.to_string(), "the budget for memory is used up");
        assert!(spool.disk.has(100_000) && spool.memory.has(50_000));
    }
}
