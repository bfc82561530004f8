//! The receiver, seen from outside: whether one runs, and what somebody should mend.

use agent_box_event::{Cut, sanitize};
use agent_box_session::WebhookPaths;
use agent_box_session::paths::Paths;
use serde_json::Value;

use super::print::chain;
use super::{Context, inbox};
use crate::disk::{self, FileLock};
use crate::ingress::Sources;

/// Whether a receiver runs. It holds the inbox as long as it lives; a number in a file outlives it,
/// and may be another program's by now.
pub(crate) fn is_running(paths: &WebhookPaths) -> bool {
    let lock = paths.inbox_lock();
    // A receiver that starts in this moment tries for longer than a look takes.
    lock.exists() && matches!(FileLock::try_acquire(&lock), Ok(None))
}

/// What starts one, as commands between backquotes.
pub(crate) fn starter(context: &Context) -> String {
    let user = &context.user;
    if Paths::system_runtime(user).is_dir() {
        return format!("`systemctl start agent-box-webhook-{user}`");
    }
    "`agent-box up` or `agent-box webhook serve`".to_owned()
}

/// What is wrong with who may send.
pub(crate) fn source_problems(sources: &Sources) -> Vec<String> {
    let each = sources.iter().flat_map(|source| {
        source.problems.iter().map(|problem| format!("source {}: {problem}", source.name))
    });
    sources.problems.iter().cloned().chain(each).collect()
}

/// Why nothing comes in from outside, as the receiver that runs said.
pub(crate) fn shut_door(paths: &WebhookPaths) -> Option<String> {
    let said = serde_json::from_slice::<Value>(&disk::read(&paths.receiver()).ok()?).ok()?;
    let why = sanitize(said["shut"].as_str()?, Cut::NONE);
    Some(format!("webhooks come in from this machine only: {why}"))
}

/// What somebody should mend so that webhooks have their effect; nothing where they were never set
/// up.
pub fn concerns(context: &Context) -> Vec<String> {
    // Its counters and queues stand in every table that decides what happens next.
    let looked = inbox::look(context, |look| Ok((look.counters()?, look.waiting_sessions()?)));
    let damage = looked.err().map(|error| chain(&error));
    let mut concerns = Vec::new();
    // What cannot even be looked for is there as well.
    if !matches!(context.paths.sources().try_exists(), Ok(false)) {
        let sources = Sources::read(&context.paths);
        concerns.extend(source_problems(&sources));
        // With a damaged inbox none can.
        let is_wanted = sources.iter().next().is_some() && damage.is_none();
        if is_wanted && !is_running(&context.paths) {
            concerns.push(format!(
                "no webhook receiver runs, so nothing that is sent is taken in; start one with {}",
                starter(context)
            ));
        } else if is_wanted {
            concerns.extend(shut_door(&context.paths));
        }
    }
    concerns.extend(damage);
    concerns
}
