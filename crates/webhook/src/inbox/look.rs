//! What jobs get: one state of the inbox to look at, or a transaction to change it.

use std::ops::Deref;

use rusqlite::Connection;

/// One state of the inbox.
#[derive(Debug)]
pub struct Look<'c> {
    pub(super) db: &'c Connection,
    pub(super) inbox: u64,
}

/// A change of the inbox; looks see what it has done so far.
#[derive(Debug)]
pub struct Tx<'c>(pub(super) Look<'c>);

impl<'c> Deref for Tx<'c> {
    type Target = Look<'c>;

    fn deref(&self) -> &Look<'c> {
        &self.0
    }
}
