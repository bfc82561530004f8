//! Opening the file: making it whole or not at all, refusing what is newer or damaged.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use agent_box_event::{Cut, sanitize};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::look::Look;
use super::schema::{APPLICATION_ID, TABLES, VERSION};
use super::{InboxError, companions};
use crate::disk::{FileLock, Holder, IoError};

/// So long a connection waits for another one's short locks.
const BUSY: Duration = Duration::from_secs(5);

/// So begin the names of inboxes that are not whole yet.
const UNFINISHED: &str = ".inbox-";

/// An inbox that was found sound, and the lock on it.
pub(super) struct Opened {
    pub(super) look: Look,
    pub(super) lock: FileLock,
}

/// Opens the inbox for the one program that writes it, or makes it.
pub(super) fn for_writing(path: &Path) -> Result<Opened, InboxError> {
    let lock = lock(&path.with_extension("lock"))?;
    // INVARIANT: only one that never was is made; what cannot be read is left as it is
    // (what_cannot_be_read_is_refused_and_never_made_anew).
    if !exists(path)? {
        let [log, _] = companions(path);
        if exists(&log)? {
            return Err(damaged(path, "the file is gone, and its -wal is there"));
        }
        make(path)?;
    }
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let id = check(&connection, path)?;
    let prepare = || {
        check_pages(&connection)?;
        // FULL: a commit is on disk when it returns, in WAL mode as well.
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        // A page that changes often is written back once for many commits.
        connection.pragma_update(None, "wal_autocheckpoint", 4000)?;
        connection.pragma_update(None, "journal_size_limit", 16 << 20)
    };
    prepare().map_err(|error| explain(path, error))?;
    Ok(Opened { look: Look::new(connection, id), lock })
}

/// Takes the lock, or says who has it; never waits, since a receiver runs for weeks.
/// A receiver that was killed while it started a child lives on in that child until the child is
/// another program.
const LAST_BREATH: Duration = Duration::from_secs(2);

fn lock(path: &Path) -> Result<FileLock, InboxError> {
    let lock = FileLock::acquire_within(path, LAST_BREATH)?;
    let held = || InboxError::Held { path: path.to_owned(), holder: Holder::of(path).to_string() };
    lock.ok_or_else(held)
}

/// Opens a sound inbox once more, to look at it; `None` if none was ever made.
pub(super) fn for_reading(path: &Path) -> Result<Option<Look>, InboxError> {
    if !exists(path)? {
        return Ok(None);
    }
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let id = check(&connection, path)?;
    Ok(Some(Look::new(connection, id)))
}

fn exists(path: &Path) -> Result<bool, InboxError> {
    Ok(path.try_exists().map_err(IoError::on("look for the inbox", path))?)
}

/// Makes an empty inbox under another name first, so that a crash leaves none and no half one:
/// an empty file in its place is always damage.
fn make(path: &Path) -> Result<(), InboxError> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    clean(directory);
    let new = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempfile_in(directory)
        .map_err(IoError::on("make the inbox", path))?;
    let connection = connect(new.path(), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Written at once, since the file has no other reader and is not there before it is whole.
    connection.pragma_update(None, "auto_vacuum", "incremental")?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.execute_batch(&format!("BEGIN; {TABLES} PRAGMA user_version = {VERSION};"))?;
    connection
        .execute("INSERT INTO inbox (one, id) VALUES (1, ?1)", [random(path)?.cast_signed()])?;
    connection.execute_batch("COMMIT")?;
    connection.close().map_err(|(_, error)| error)?;
    new.persist(path).map_err(|error| IoError::on("make the inbox", path)(error.error))?;
    let synced = File::open(directory).and_then(|it| it.sync_all());
    Ok(synced.map_err(IoError::on("flush the directory of the inbox", path))?)
}

/// Removes what killed makers left; the lock keeps living ones away.
fn clean(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(UNFINISHED)) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn random(path: &Path) -> Result<u64, InboxError> {
    let drawn = getrandom::u64().map_err(io::Error::other);
    Ok(drawn.map_err(IoError::on("draw an id for the inbox", path))?)
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, InboxError> {
    let open = || {
        // Each connection belongs to one thread.
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        // In KiB: the system's cache holds the file as well, and memory is what a box has least of.
        connection.pragma_update(None, "cache_size", -2048)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    };
    open().map_err(|error| explain(path, error))
}

/// Whether it is an inbox that this version understands; answers with its id.
fn check(connection: &Connection, path: &Path) -> Result<u64, InboxError> {
    let pragma = |name: &str| {
        let value = connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        value.map_err(|error| explain(path, error))
    };
    if pragma("application_id")? != APPLICATION_ID {
        return Err(damaged(path, "it is empty, or not an inbox"));
    }
    match pragma("user_version")? {
        VERSION => {}
        found if found > VERSION => {
            return Err(InboxError::Newer { path: path.to_owned(), found, known: VERSION });
        }
        found => return Err(damaged(path, &format!("no inbox has version {found}"))),
    }
    let id = connection.query_row("SELECT id FROM inbox", [], |row| row.get::<_, i64>(0));
    id.map(i64::cast_unsigned).map_err(|error| explain(path, error))
}

/// Reads every page once. Better no receiver than one that finds out in the middle of a batch.
fn check_pages(connection: &Connection) -> rusqlite::Result<()> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found == "ok" {
        return Ok(());
    }
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    Err(rusqlite::Error::SqliteFailure(code, Some(found)))
}

fn damaged(path: &Path, what: &str) -> InboxError {
    // SQLite tells of each page on a line of its own; an error is one line, in a log as well.
    InboxError::Damaged { path: path.to_owned(), what: sanitize(what, Cut::NONE) }
}

/// What SQLite's error means for the file.
pub(super) fn explain(path: &Path, error: rusqlite::Error) -> InboxError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            damaged(path, &error.to_string())
        }
        _ => error.into(),
    }
}

/// The inbox for verbs: works beside the daemon and without it, and changes nothing.
#[derive(Debug)]
pub struct ReadOnly(Look);

impl ReadOnly {
    /// Opens the inbox; `None` if none was ever made.
    ///
    /// # Errors
    /// When it is newer or damaged.
    pub fn open(path: &Path) -> Result<Option<Self>, InboxError> {
        Ok(for_reading(path)?.map(Self))
    }

    /// Looks at one committed state.
    ///
    /// # Errors
    /// The look's own, and what reading the file says.
    pub fn look<T>(
        &self,
        look: impl FnOnce(&Look) -> Result<T, InboxError>,
    ) -> Result<T, InboxError> {
        super::thread::look_at(&self.0, look)
    }
}
