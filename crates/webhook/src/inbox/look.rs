//! What jobs get: one state of the inbox to look at, or a transaction to change it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::Deref;

use rusqlite::{Connection, Params, Row};

use super::InboxError;

/// One state of the inbox.
#[derive(Debug)]
pub struct Look {
    db: Connection,
    inbox: u64,
}

/// A change of the inbox. Looks see what it has done so far, except that the state that is shown
/// of a delivery is brought up to date when the job ends.
#[derive(Debug)]
pub struct Tx<'c> {
    look: &'c Look,
    /// Deliveries whose effects changed, and when.
    pub(super) touched: BTreeMap<u64, u64>,
    /// Deliveries that this job has matched.
    pub(super) matched: BTreeSet<u64>,
}

impl Deref for Tx<'_> {
    type Target = Look;

    fn deref(&self) -> &Look {
        self.look
    }
}

impl Look {
    pub(super) fn new(db: Connection, inbox: u64) -> Self {
        Self { db, inbox }
    }

    /// The inbox's id.
    pub fn id(&self) -> u64 {
        self.inbox
    }

    pub(super) fn db(&self) -> &Connection {
        &self.db
    }

    /// Every row of a query.
    pub(super) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T, InboxError>,
    ) -> Result<Vec<T>, InboxError> {
        self.db.prepare_cached(sql)?.query_and_then(params, read)?.collect()
    }

    /// The first row of a query.
    pub(super) fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T, InboxError>,
    ) -> Result<Option<T>, InboxError> {
        self.db.prepare_cached(sql)?.query_and_then(params, read)?.next().transpose()
    }

    /// A count or a sum.
    pub(super) fn number(&self, sql: &str, params: impl Params) -> Result<u64, InboxError> {
        Ok(self.one(sql, params, |row| number(row, 0))?.unwrap_or_default())
    }
}

impl<'c> Tx<'c> {
    pub(super) fn new(look: &'c Look) -> Self {
        Self { look, touched: BTreeMap::new(), matched: BTreeSet::new() }
    }

    /// Runs a statement; answers with how many rows it changed.
    pub(super) fn change(&mut self, sql: &str, params: impl Params) -> Result<usize, InboxError> {
        Ok(self.db().prepare_cached(sql)?.execute(params)?)
    }

    /// Runs an insert; answers with the row's number.
    pub(super) fn insert(&mut self, sql: &str, params: impl Params) -> Result<u64, InboxError> {
        self.change(sql, params)?;
        Ok(self.db().last_insert_rowid().unsigned_abs())
    }
}

/// A number for SQLite, which has signed ones only; what is beyond them is as good as forever.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number that cannot be negative.
pub(super) fn number(row: &Row<'_>, column: usize) -> Result<u64, InboxError> {
    let stored: i64 = row.get(column)?;
    u64::try_from(stored).map_err(|_| InboxError::Unreadable(format!("the number {stored}")))
}

/// A number that may be absent.
pub(super) fn number_or_none(row: &Row<'_>, column: usize) -> Result<Option<u64>, InboxError> {
    let stored: Option<i64> = row.get(column)?;
    stored.map(|_| number(row, column)).transpose()
}

/// What was parsed from a stored text.
pub(super) fn parsed<T, E: Display>(result: Result<T, E>) -> Result<T, InboxError> {
    result.map_err(|error| InboxError::Unreadable(error.to_string()))
}

/// What a stored word means.
pub(super) fn known<T>(word: &str, meaning: Option<T>) -> Result<T, InboxError> {
    meaning.ok_or_else(|| InboxError::Unreadable(format!("the word `{word}`")))
}
