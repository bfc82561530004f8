//! What the kernel takes as arguments and environment of a program.
//!
//! Linux allows 128 KiB for one word (`MAX_ARG_STRLEN`, the final NUL included) and a quarter of
//! the stack's limit, at most 6 MiB, for all words together. An exec that breaks this fails in
//! the pane with "argument list too long", which names nothing; so it is checked here.

use agent_box_session::Agent;
use rustix::process::{Resource, getrlimit};

use crate::PrepareError;

/// A word of a program's arguments or environment is shorter than this, in bytes.
pub const LONGEST_WORD: usize = 128 * 1024;
const MOST: u64 = 6 * 1024 * 1024;
/// Kept free for what the pane's terminal adds, the program's path and the kernel's own words.
const RESERVE: u64 = 64 * 1024;

/// Checks that `agent` can be started with these words; `variables` are the env file's.
pub(crate) fn check(
    agent: &Agent,
    argv: &[String],
    environment: &[(String, String)],
    variables: &[(String, String)],
) -> Result<(), PrepareError> {
    let unfit = |what: String, reason: &str| {
        Err(PrepareError::Unfit { agent: agent.clone(), what, reason: reason.to_owned() })
    };
    let words = argv.iter().enumerate().map(|(at, word)| (word.len(), word.contains('\0'), at));
    let mut total = 0_u64;
    for (length, has_nul, at) in words {
        let what = || format!("argument {at}");
        if has_nul {
            return unfit(what(), "it holds a NUL byte; take it out");
        }
        if length >= LONGEST_WORD {
            return unfit(what(), "it is longer than 128 KiB; put the text into a file");
        }
        total += size(length);
    }
    for (key, value) in environment.iter().chain(variables) {
        let length = key.len() + 1 + value.len();
        if length >= LONGEST_WORD {
            return unfit(format!("variable {key}"), "it is longer than 128 KiB; shorten it");
        }
        total += size(length);
    }
    let stack = getrlimit(Resource::Stack).current.unwrap_or(u64::MAX);
    if total > (stack / 4).min(MOST).saturating_sub(RESERVE) {
        return unfit(
            "the command line with its environment".to_owned(),
            "together they are more than the system takes; put long texts into files",
        );
    }
    Ok(())
}

/// A word costs its bytes, a NUL and a pointer.
fn size(length: usize) -> u64 {
    length as u64 + 1 + 8
}
