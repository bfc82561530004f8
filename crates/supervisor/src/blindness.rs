//! What the supervisor cannot see: said once when it begins and once when it ends.
//!
//! An unreadable registry is also written into the journal, since every session is left alone
//! then and somebody will ask why.

use std::time::Duration;

use agent_box_session_store::{Event, EventKind};
use tokio::time::Instant;

use crate::observe::Look;
use crate::plan::Known;
use crate::run::TICK;
use crate::start::Starter;

/// Damage must last this long before it is reported: some editors write in place.
const DAMAGE: Duration = Duration::from_millis(200);
/// The pause before a tmux that gave no answer, or a directory that is gone, is tried again.
pub(crate) const SILENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Damage {
    #[default]
    None,
    Since(Instant),
    Reported,
}

/// What could not be seen at the last look.
#[derive(Debug, Default)]
pub(crate) struct Blindness {
    damage: Damage,
    silent: bool,
}

impl Blindness {
    /// Reports what is new, and says how soon to look again.
    pub(crate) fn report(&mut self, look: &Look, starter: &Starter) -> Duration {
        self.report_damage(look, starter).min(self.report_silence(look))
    }

    fn report_damage(&mut self, look: &Look, starter: &Starter) -> Duration {
        let Known::Unknown(reason) = &*look.intent else {
            if self.damage == Damage::Reported {
                tracing::info!("the registry can be read again");
            }
            self.damage = Damage::None;
            return TICK;
        };
        match self.damage {
            Damage::None => {
                self.damage = Damage::Since(Instant::now());
                DAMAGE
            }
            Damage::Since(since) if since.elapsed() < DAMAGE => DAMAGE,
            Damage::Since(_) => {
                tracing::error!(%reason, "the registry cannot be read; leaving every session alone");
                let text =
                    format!("the registry cannot be read, every session is left alone: {reason}");
                let event = Event::new(starter.now(), EventKind::Trouble, text);
                if let Err(error) = starter.store.journal().append(&event) {
                    tracing::warn!(%error, "cannot write the journal");
                }
                self.damage = Damage::Reported;
                TICK
            }
            Damage::Reported => TICK,
        }
    }

    /// Nothing tells when tmux answers again, so it is asked.
    fn report_silence(&mut self, look: &Look) -> Duration {
        let silent = match &look.observed.terminals {
            Known::Unknown(reason) => Some(reason),
            Known::Known(_) => None,
        };
        match silent {
            Some(reason) if !self.silent => {
                tracing::warn!(%reason, "tmux gives no answer; every session is left as it is");
            }
            None if self.silent => tracing::info!("tmux answers again"),
            _ => {}
        }
        self.silent = silent.is_some();
        if self.silent { SILENCE } else { TICK }
    }
}
