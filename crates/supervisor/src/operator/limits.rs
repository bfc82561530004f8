//! `limits`: what a session may use at most. A new generation, since a launch carries its limits.

use agent_box_session::{Limits, SessionName};
use agent_box_session_store::{Change, TransactError};

use super::Operator;
use super::end::VerbError;

/// A change of one limit: untouched, lifted, or set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitsChange {
    /// `memory.high`.
    pub memory_high: Option<Option<u64>>,
    /// `memory.max`.
    pub memory_max: Option<Option<u64>>,
    /// `pids.max`.
    pub tasks_max: Option<Option<u64>>,
    /// `cpu.weight`.
    pub cpu_weight: Option<Option<u64>>,
}

impl LimitsChange {
    /// Whether nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn apply(self, limits: &mut Limits) {
        let set = |limit: &mut Option<u64>, change: Option<Option<u64>>| {
            if let Some(value) = change {
                *limit = value;
            }
        };
        set(&mut limits.memory_high, self.memory_high);
        set(&mut limits.memory_max, self.memory_max);
        set(&mut limits.tasks_max, self.tasks_max);
        set(&mut limits.cpu_weight, self.cpu_weight);
    }
}

impl Operator {
    /// Changes a session's limits; its agent is started anew under them.
    ///
    /// # Errors
    /// When the session is not listed or the registry cannot be written; nothing changed then.
    pub fn set_limits(
        &self,
        name: &SessionName,
        limits: LimitsChange,
    ) -> Result<Limits, VerbError> {
        let change = Change::Operator { by: self.by.clone(), summary: format!("limits {name}") };
        let done = self.store.transact(change, |tx| {
            tx.load_tombstones().map_err(VerbError::Io)?;
            tx.intend(name, |entry| limits.apply(&mut entry.spec.limits))
                .map_err(VerbError::Refused)?;
            Ok(tx.registry.entry(name).map(|entry| entry.spec.limits).unwrap_or_default())
        });
        done.map_err(|error| match error {
            TransactError::Refused(error) => error,
            TransactError::Lock(error) => VerbError::Lock(error),
            TransactError::Damaged(damage) => VerbError::Damaged(damage),
            TransactError::Io(error) => VerbError::Io(error),
        })
    }
}
