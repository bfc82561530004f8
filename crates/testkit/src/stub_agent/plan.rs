//! What a test wants of one launch; the format is described in [`stub_agent`](super).

use serde_json::Value;

use super::Surroundings;
use super::ledger::Turn;

/// One launch's script.
#[expect(clippy::struct_excessive_bools, reason = "the fields of a JSON object, independent")]
#[derive(Debug, Default)]
pub(super) struct Step {
    /// End with this code.
    pub(super) exit: Option<i32>,
    /// End by this signal.
    pub(super) signal: Option<i32>,
    /// How long before the end (or before the terminal is read).
    pub(super) after_ms: u64,
    /// Survive HUP and TERM.
    pub(super) ignore_hup: bool,
    /// End with 0 on HUP and TERM.
    pub(super) polite_hup: bool,
    /// Leave a child that does nothing.
    pub(super) fork_child: bool,
    /// Leave a double-forked process in a session of its own that survives HUP and TERM.
    pub(super) fork_setsid: bool,
    /// Write no transcript.
    pub(super) no_transcript: bool,
    /// Print this text first.
    pub(super) print: Option<String>,
    /// Throw away whatever is typed in the first milliseconds.
    pub(super) deaf_ms: u64,
    /// Take this many MiB of memory; 0 takes until something stops it.
    pub(super) alloc: Option<u64>,
    /// Print the vendor's words for a missing login and end with 1.
    pub(super) login_error: bool,
    /// Append the pid to `pids-NAME.log` every second.
    pub(super) write_pid_every_second: bool,
}

impl Step {
    /// This launch's step, or what is wrong with the plan.
    pub(super) fn choose(around: &Surroundings, turn: Turn) -> Result<Self, String> {
        let text = match around.variable("STUB_AGENT_PLAN") {
            Some(text) => text.to_owned(),
            None => match std::fs::read_to_string(around.state.join("plan.json")) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return Ok(Self::default());
                }
                Err(error) => return Err(error.to_string()),
            },
        };
        let plan: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        match Self::pick(&plan, around.session(), turn) {
            Some(step) => Self::parse(step),
            None => Ok(Self::default()),
        }
    }

    fn pick<'a>(plan: &'a Value, session: Option<&str>, turn: Turn) -> Option<&'a Value> {
        if let Value::Array(steps) = plan {
            return steps.get(turn.of_all);
        }
        match session.and_then(|name| plan.get(name)).or_else(|| plan.get("*"))? {
            Value::Array(steps) => steps.get(turn.of_session),
            every => Some(every),
        }
    }

    fn parse(value: &Value) -> Result<Self, String> {
        let fields = value.as_object().ok_or_else(|| format!("not a step: {value}"))?;
        let mut step = Self::default();
        for (key, value) in fields {
            let wrong = || format!("{key}: unusable value {value}");
            let number = || value.as_u64().ok_or_else(wrong);
            let small = || number()?.try_into().map_err(|_| wrong());
            let flag = || value.as_bool().ok_or_else(wrong);
            match key.as_str() {
                "exit" => step.exit = Some(small()?),
                "signal" => step.signal = Some(small()?),
                "after_ms" => step.after_ms = number()?,
                "ignore_hup" => step.ignore_hup = flag()?,
                "polite_hup" => step.polite_hup = flag()?,
                "fork_child" => step.fork_child = flag()?,
                "fork_setsid" => step.fork_setsid = flag()?,
                "no_transcript" => step.no_transcript = flag()?,
                "print" => step.print = Some(value.as_str().ok_or_else(wrong)?.to_owned()),
                "deaf_ms" => step.deaf_ms = number()?,
                "alloc" => step.alloc = Some(number()?),
                "login_error" => step.login_error = flag()?,
                "write_pid_every_second" => step.write_pid_every_second = flag()?,
                _ => return Err(format!("{key}: no such field")),
            }
        }
        Ok(step)
    }
}
