//! The tables and their version.
//!
//! A change of the tables is a new version; what reads an older one says here how it becomes
//! the newer one. A newer version is refused, since nobody knows what its rows mean.

/// The version of the tables that this program writes.
pub(super) const VERSION: i64 = 1;

/// Tells an inbox from other SQLite files: `abox`.
pub(super) const APPLICATION_ID: i64 = 0x6162_6f78;

/// Makes the tables.
///
/// The sums in `inbox` are kept by triggers, so that no change of a row can forget them. Bodies
/// have a table of their own: rows are read without them, and they may go earlier.
pub(super) const TABLES: &str = "
CREATE TABLE inbox (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id INTEGER NOT NULL,
    unsettled INTEGER NOT NULL DEFAULT 0,
    unsettled_bytes INTEGER NOT NULL DEFAULT 0,
    body_bytes INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE counters (name TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    format TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT,
    sender TEXT,
    id TEXT NOT NULL,
    is_id_ours INTEGER NOT NULL,
    digest BLOB NOT NULL,
    size INTEGER NOT NULL,
    received_ms INTEGER NOT NULL,
    relation TEXT NOT NULL,
    related INTEGER,
    duplicates INTEGER NOT NULL DEFAULT 0,
    duplicate_ms INTEGER,
    found TEXT,
    found_detail TEXT,
    state TEXT NOT NULL,
    detail TEXT,
    settled_ms INTEGER
) STRICT;
CREATE INDEX deliveries_by_id ON deliveries (id, source);
CREATE INDEX deliveries_by_digest ON deliveries (digest, source);
CREATE INDEX deliveries_unmatched ON deliveries (sequence) WHERE found IS NULL;
CREATE INDEX deliveries_by_end ON deliveries (settled_ms) WHERE settled_ms IS NOT NULL;
CREATE TRIGGER deliveries_inserted AFTER INSERT ON deliveries WHEN NEW.settled_ms IS NULL BEGIN
    UPDATE inbox SET unsettled = unsettled + 1, unsettled_bytes = unsettled_bytes + NEW.size;
END;
CREATE TRIGGER deliveries_settled AFTER UPDATE OF settled_ms ON deliveries
WHEN OLD.settled_ms IS NULL AND NEW.settled_ms IS NOT NULL BEGIN
    UPDATE inbox SET unsettled = unsettled - 1, unsettled_bytes = unsettled_bytes - NEW.size;
END;
CREATE TRIGGER deliveries_stay AFTER UPDATE OF settled_ms ON deliveries
WHEN OLD.settled_ms IS NOT NULL AND NEW.settled_ms IS NULL BEGIN
    SELECT RAISE(ABORT, 'what is settled stays settled');
END;
CREATE TRIGGER deliveries_kept BEFORE DELETE ON deliveries WHEN OLD.settled_ms IS NULL BEGIN
    SELECT RAISE(ABORT, 'what is not settled is not removed');
END;

CREATE TABLE bodies (
    sequence INTEGER PRIMARY KEY REFERENCES deliveries ON DELETE CASCADE,
    size INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE TRIGGER bodies_inserted AFTER INSERT ON bodies BEGIN
    UPDATE inbox SET body_bytes = body_bytes + NEW.size;
END;
CREATE TRIGGER bodies_deleted AFTER DELETE ON bodies BEGIN
    UPDATE inbox SET body_bytes = body_bytes - OLD.size;
END;

CREATE TABLE steps (
    sequence INTEGER NOT NULL REFERENCES deliveries ON DELETE CASCADE,
    number INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    word TEXT NOT NULL,
    detail TEXT,
    PRIMARY KEY (sequence, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE members (
    sequence INTEGER PRIMARY KEY REFERENCES deliveries ON DELETE CASCADE,
    topic TEXT NOT NULL,
    watch TEXT NOT NULL,
    note TEXT,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'frozen', 'spawned', 'failed', 'withdrawn')),
    reason TEXT,
    batch INTEGER,
    place INTEGER,
    outcome TEXT
) STRICT;
CREATE INDEX members_waiting ON members (topic, sequence) WHERE state = 'waiting';
CREATE INDEX members_by_batch ON members (batch, place) WHERE batch IS NOT NULL;

CREATE TABLE lanes (
    topic TEXT PRIMARY KEY,
    started_ms INTEGER,
    not_before_ms INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE batches (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    topic TEXT NOT NULL,
    watch TEXT NOT NULL,
    note TEXT,
    text TEXT NOT NULL,
    is_assigned INTEGER NOT NULL,
    objects TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('frozen', 'settled', 'deferred', 'parked')),
    frozen_ms INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    attempted_ms INTEGER,
    not_before_ms INTEGER NOT NULL DEFAULT 0,
    ended_ms INTEGER,
    session_id TEXT,
    session_name TEXT,
    why TEXT
) STRICT;
CREATE UNIQUE INDEX batches_frozen ON batches (topic) WHERE state = 'frozen';
CREATE INDEX batches_started ON batches (COALESCE(attempted_ms, frozen_ms));

CREATE TABLE leases (
    session_id TEXT PRIMARY KEY,
    topic TEXT NOT NULL,
    objects TEXT NOT NULL,
    renewed_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    sequence INTEGER NOT NULL REFERENCES deliveries ON DELETE CASCADE,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    session_id TEXT,
    text TEXT NOT NULL,
    meta TEXT NOT NULL,
    size INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'acknowledged', 'left out', 'gone')),
    times INTEGER NOT NULL DEFAULT 0,
    enqueued_ms INTEGER NOT NULL,
    told_ms INTEGER,
    UNIQUE (sequence, owner)
) STRICT;
CREATE INDEX messages_waiting ON messages (owner, number) WHERE state = 'waiting';
CREATE INDEX messages_left_out ON messages (owner) WHERE state = 'left out' AND times = 0;
";
