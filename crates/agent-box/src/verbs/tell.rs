//! `hook tell`: hands a message to the agent of a running session, by the way that it has.
//!
//! Called by the spawn wrapper, which gives it ten seconds: what it starts takes its own place.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};

use agent_box_harness::TellError;
use agent_box_session::SessionId;
use anyhow::{Context as _, Result, bail};

use crate::print;
use crate::surroundings::Surrounded;

/// Tells the session what stands on standard input. Ends with 0 if its agent has it, with 2 if it
/// cannot be told, and with anything else if it may be later; the last line on stderr says why.
pub(crate) fn tell(session: SessionId) -> Result<ExitCode> {
    let mut message = String::new();
    std::io::stdin().read_to_string(&mut message).context("cannot read the message")?;
    let surrounded = Surrounded::open()?;
    let Some(record) = surrounded.store.launch(session)? else {
        bail!("it has not started yet");
    };
    let file = surrounded.store.env()?;
    let variables = file.variables().into_iter();
    let variables: Vec<_> = variables.map(|(key, it)| (key.to_owned(), it.to_owned())).collect();
    let telling = match surrounded.harness()?.telling(&record, &variables, &message) {
        Ok(telling) => telling,
        Err(reason @ TellError::NotBegun) => return Err(reason.into()),
        Err(reason) => return Ok(print::refuse(&reason.to_string())),
    };
    let (program, arguments) =
        telling.argv.split_first().context("the agent's program is not known")?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(telling.environment).current_dir(telling.directory);
    let error = command.stdin(Stdio::null()).exec();
    Err(error).with_context(|| format!("cannot run {program}"))
}
