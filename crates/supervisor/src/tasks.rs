//! The blocking halves of the supervisor's tasks: each carries out one planned action and records
//! what the next look could not know.

use agent_box_session::{SessionId, Settled};
use agent_box_session_store::{Change, Event, EventKind, TransactError};
use agent_box_tmux_driver::Name;

use crate::start::{Planned, Started, Starter};

/// Carries out a start and records what the next pass could not know.
pub(crate) fn report_start(starter: &Starter, planned: &Planned) {
    match starter.start(planned) {
        Ok(Started::Asked(launch)) => {
            tracing::info!(session = %planned.session, %launch, "asked tmux for a session");
        }
        Ok(Started::Overtaken) => {
            tracing::debug!(session = %planned.session, "a start was overtaken by a newer intent");
        }
        Ok(Started::Troubled(trouble)) => {
            tracing::warn!(session = %planned.session, reason = trouble.text, "cannot start");
        }
        Err(error) => {
            tracing::warn!(session = %planned.session, error = chain(&error), "start failed");
        }
    }
}

pub(crate) fn park(starter: &Starter, session: SessionId, generation: u64) -> Result<(), String> {
    let parked = starter.store.transact(Change::Mirror, |tx| {
        let name = tx.registry.by_id(session).map(|(name, _)| name.clone());
        let parked = tx.park(session, generation, "a clean exit");
        Ok::<_, std::convert::Infallible>(name.filter(|_| parked))
    });
    let name = parked.map_err(|error| chain(&error))?;
    if let Some(name) = name {
        let event = Event::new(
            starter.now(),
            EventKind::Park,
            "its agent ended cleanly; `restart` starts it again",
        );
        let append = starter.store.journal().append(&event.about(session, &name));
        append.map_err(|error| chain(&error))?;
    }
    Ok(())
}

pub(crate) fn settle(starter: &Starter) -> Result<(), String> {
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method alone is not general enough over the transaction's lifetime"
    )]
    let settled = starter.store.transact(Change::Mirror, |tx| tx.settle());
    let settled = settled.map_err(|error: TransactError<_>| chain(&error))?;
    for one in settled {
        let (id, name, text) = match &one {
            Settled::Attached(name, id) => (id, name, "its lost id was attached again".to_owned()),
            Settled::Minted(name, id) => (id, name, "a new session was found".to_owned()),
            Settled::Reappeared(name, id) => (
                id,
                name,
                "a removed session reappeared; it starts anew without its conversation".to_owned(),
            ),
            Settled::Copied(name, id) => {
                (id, name, "a copied entry became a session of its own".to_owned())
            }
            Settled::Renamed { from, to, id } => {
                rename_terminal(starter, *id, from.as_str(), to.as_str());
                (id, to, format!("renamed from {from}"))
            }
        };
        let event = Event::new(starter.now(), EventKind::Settled, text).about(*id, name);
        starter.store.journal().append(&event).map_err(|error| chain(&error))?;
    }
    Ok(())
}

/// Lets the terminal follow its session's new name, unless somebody named it otherwise.
fn rename_terminal(starter: &Starter, id: SessionId, from: &str, to: &str) {
    let Ok(name) = Name::new(to) else { return };
    let Ok(snapshot) = starter.tmux.snapshot() else { return };
    let id = id.to_string();
    let terminal =
        snapshot.sessions.iter().find(|it| it.id.as_deref() == Some(&id) && it.name == from);
    if let Some(terminal) = terminal
        && let Err(error) = starter.tmux.rename_session(&terminal.target(), &name)
    {
        tracing::warn!(error = chain(&error), "the terminal of {to} keeps the name {from}");
    }
}

/// An error with its causes on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
