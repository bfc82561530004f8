//! A receiver's settings, from what the environment told the program.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use agent_box_session::env;

use super::{Door, DoorError, Settings, beside};
use crate::cli::Context;
use crate::engine::{Parts, Wrapper};
use crate::inbox::{InboxLimits, Retention};
use crate::ingress::Limits;

/// The wrapper's program.
const WRAPPER: &str = "agent-box-webhook-spawn";
const PORT: u16 = 8788;
const WINDOW: Duration = Duration::from_mins(1);
const DEADLINE: Duration = Duration::from_mins(1);

/// What a daemon that was itself started in a session knows of that session; its children are
/// about others.
const OF_A_SESSION: &[&str] = &[
    env::SESSION_ID,
    env::SESSION_UUID,
    env::SESSION_NAME,
    env::LAUNCH_ID,
    env::BATCH_ID,
    env::BATCH_LOWEST,
    env::BATCH_ASSIGNED,
    env::BATCH_OBJECTS,
    env::BATCH_ASKER,
];

/// The settings of this user's receiver. Call it before any thread is started: what a service
/// manager handed over is taken out of the environment.
///
/// # Errors
/// When what a service manager handed over cannot be used.
pub fn settings(context: &Context) -> Result<Settings, DoorError> {
    let door = match (Door::inherited()?, context.variable(env::WEBHOOK_HTTP_SOCK)) {
        (Some(inherited), _) => inherited,
        (None, Some(path)) => Door::Socket(PathBuf::from(path)),
        // As the reference: what is no port is none.
        (None, None) => {
            let port = context.variable(env::WEBHOOK_PORT);
            Door::Port(
                port.map_or(PORT, |it| it.to_str().and_then(|it| it.parse().ok()).unwrap_or(0)),
            )
        }
    };
    Ok(Settings {
        parts: Parts {
            home: context.home.clone(),
            user: context.user.clone(),
            paths: context.paths.clone(),
            me: context.text(env::WEBHOOK_SELF).map(str::to_owned),
            policy: context.variable(env::WEBHOOK_POLICY).map(PathBuf::from),
            wrapper: wrapper(context),
            window: seconds(context, env::SPAWN_WINDOW, WINDOW),
            retention: Retention::default(),
        },
        door,
        ingress: Limits::default(),
        inbox: InboxLimits::default(),
    })
}

/// How the wrapper is reached, for the receiver and for verbs that ask about sessions.
pub(crate) fn wrapper(context: &Context) -> Wrapper {
    Wrapper {
        program: beside(WRAPPER),
        command: context.variable(env::WEBHOOK_SPAWN_CMD).map(OsString::from),
        environment: environment(context),
        deadline: seconds(context, env::SPAWN_TIMEOUT, DEADLINE).max(Duration::from_secs(1)),
    }
}

fn seconds(context: &Context, name: &str, otherwise: Duration) -> Duration {
    let given = context.text(name).and_then(|text| text.parse().ok());
    given.map_or(otherwise, Duration::from_secs)
}

/// The whole environment of the wrapper: what agents inherit, the box's own settings, and where
/// the webhook files are. Nothing else of the daemon's passes, its tokens least of all.
fn environment(context: &Context) -> Vec<(OsString, OsString)> {
    let own = env::TABLE.iter().map(|variable| variable.name);
    let own = own.filter(|name| name.starts_with("AGENT_BOX_") && !OF_A_SESSION.contains(name));
    let told: [(&str, OsString); 4] = [
        (env::HOME, context.home.clone().into()),
        (env::USER, context.user.clone().into()),
        (env::LOGNAME, context.user.clone().into()),
        (env::WEBHOOK_STATE_DIR, context.paths.state().into()),
    ];
    let names = env::INHERITED.iter().copied().chain(own);
    let mut environment: Vec<(OsString, OsString)> = names
        .filter(|name| told.iter().all(|(other, _)| other != name))
        .filter_map(|name| Some((name.into(), context.variable(name)?.into())))
        .collect();
    environment.extend(told.map(|(name, value)| (name.into(), value)));
    environment.sort();
    environment.dedup();
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(variables: &[(&str, &str)]) -> Context {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Context::new("/home/alice", "alice", variables)
    }

    #[test]
    fn the_most_specific_place_is_where_deliveries_come_in() {
        let check = |variables: &[(&str, &str)], expected: &str| {
            let door = settings(&context(variables)).unwrap().door;
            assert_eq!(format!("{door:?}"), expected);
        };
        check(&[], "Port(8788)");
        check(&[("LOCAL_WEBHOOK_PORT", "90")], "Port(90)");
        check(&[("LOCAL_WEBHOOK_PORT", "x")], "Port(0)");
        let both = [("LOCAL_WEBHOOK_PORT", "90"), ("LOCAL_WEBHOOK_HTTP_SOCK", "/s")];
        check(&both, "Socket(\"/s\")");
    }

    #[test]
    fn the_wrapper_gets_the_box_s_settings_and_no_secret_and_no_session() {
        let context = context(&[
            ("PATH", "/bin"),
            ("AGENT_BOX_HOOK_SESSION_MAX", "2"),
            ("AGENT_BOX_SESSION_UUID", "mine"),
            ("GH_TOKEN", "secret"),
            ("LOCAL_WEBHOOK_SESSION", "alice-main"),
            ("NOTIFY_SOCKET", "/run/x"),
            ("USER", "root"),
        ]);
        let environment = environment(&context);
        let given: Vec<(&str, &str)> = environment
            .iter()
            .map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap()))
            .collect();
        let expected = [
            ("AGENT_BOX_HOOK_SESSION_MAX", "2"),
            ("HOME", "/home/alice"),
            ("LOCAL_WEBHOOK_STATE_DIR", "/home/alice/.local/state/local-webhook"),
            ("LOGNAME", "alice"),
            ("PATH", "/bin"),
            ("USER", "alice"),
        ];
        assert_eq!(given, expected);
    }
}
