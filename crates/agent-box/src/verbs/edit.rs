//! The verbs that change what is wanted.

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use agent_box_harness::LONGEST_WORD;
use agent_box_session::{Agent, SessionSpec, env};
use agent_box_supervisor::operator::{
    AddError, AddRequest, EndVerb, Ended, LimitsChange, VerbError,
};
use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::name_of;
use crate::cli::{Add, Env, Limits, Restart};
use crate::print;
use crate::surroundings::{Surrounded, variable};

/// A pending prompt is part of the session list and of each of its kept versions; a bigger one
/// would make every edit of the list slow.
const LONGEST_PROMPT: usize = 4 << 20;

/// Who asks, for history and journal.
const BY: &str = "cli";

pub(crate) fn add(surrounded: &Surrounded, add: Add) -> Result<ExitCode> {
    let available = surrounded.harness()?.available();
    let kind = match add.agent.clone().or_else(default_agent) {
        Some(kind) => match Agent::parse(&kind) {
            Ok(agent) => agent,
            Err(error) => return Ok(print::refuse(&error.to_string())),
        },
        None => available.first().cloned().unwrap_or(Agent::Shell),
    };
    if !available.contains(&kind) {
        let kinds: Vec<&str> = available.iter().map(Agent::as_str).collect();
        return Ok(print::refuse(&format!(
            "agent `{kind}` is not available here; this box has {} (install it on the PATH, or \
             name it in AGENT_BOX_AGENT_BINS)",
            kinds.join(", ")
        )));
    }
    let working_directory = match &add.cwd {
        Some(directory) => Some(absolute(directory)?),
        None => None,
    };
    let initial_prompt = match (&add.prompt, &add.prompt_file) {
        (Some(prompt), _) => Some(prompt.clone()),
        (None, Some(file)) => match prompt_file(file)? {
            Ok(prompt) => Some(prompt),
            Err(refusal) => return Ok(print::refuse(&refusal)),
        },
        (None, None) => None,
    };
    if let Some(prompt) = initial_prompt.as_ref().filter(|prompt| prompt.len() > LONGEST_PROMPT) {
        return Ok(print::refuse(&format!(
            "the prompt has {} bytes, at most {LONGEST_PROMPT} are taken; put it into a file and \
             name that file in a short prompt",
            prompt.len()
        )));
    }
    let with_prompt = initial_prompt.as_ref().is_some_and(|prompt| !prompt.is_empty());
    let takes_no_prompt = with_prompt && kind == Agent::Shell;
    let spec = SessionSpec {
        skip_permissions: !add.ask_permissions,
        // Remote control of codex takes no prompt, so a session with one runs its TUI.
        remote_control: !(add.no_remote_control || kind == Agent::Codex && with_prompt),
        working_directory,
        extra_args: add.args,
        initial_prompt,
        resume_prompt: add.resume_prompt,
        ..SessionSpec::new(kind)
    };
    let request = AddRequest { name: add.name, spec, make_directory: add.mkdir };
    let added = match surrounded.operator(BY).add(request) {
        Ok(added) => added,
        Err(error @ (AddError::Name(_) | AddError::Refused(_) | AddError::Directory { .. })) => {
            return Ok(print::refuse(&error.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    if add.output.json {
        print::json(&json!({
            "name": added.name.as_str(),
            "id": added.session.to_string(),
            "agent": added.agent.as_str(),
            "prompt": added.with_prompt,
            "supervised": added.supervised,
        }));
    } else {
        let prompt = if added.with_prompt { " with a kickoff prompt" } else { "" };
        print::line(&format!("session '{}' ({}) added{prompt}", added.name, added.agent));
        if takes_no_prompt {
            print::warn("a shell takes no prompt, so this one will not be used");
        }
        if !added.supervised {
            let starter = surrounded.store.paths().starter();
            print::warn(&format!("no supervisor runs, so nothing starts yet; run {starter}"));
        }
    }
    Ok(ExitCode::from(print::DONE))
}

fn default_agent() -> Option<String> {
    variable(env::DEFAULT_AGENT).and_then(|kind| kind.into_string().ok())
}

/// A directory as the registry keeps it: absolute, `.` and `..` taken out where they are plain.
fn absolute(directory: &Path) -> Result<String> {
    let absolute = std::path::absolute(directory)
        .with_context(|| format!("cannot make {} absolute", directory.display()))?;
    let absolute = absolute.canonicalize().unwrap_or(absolute);
    absolute
        .into_os_string()
        .into_string()
        .map_err(|name| anyhow::anyhow!("directory {} is not UTF-8", name.display()))
}

/// A prompt's text, or why it cannot be one.
fn prompt_file(file: &Path) -> Result<Result<String, String>> {
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        std::io::stdin().read_to_end(&mut bytes).context("cannot read the prompt from stdin")?;
    } else {
        bytes = std::fs::read(file)
            .with_context(|| format!("cannot read the prompt from {}", file.display()))?;
    }
    Ok(String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("the prompt in {} is not UTF-8 at byte {at}; convert it", file.display())
    }))
}

pub(crate) fn remove(surrounded: &Surrounded, name: &str, json: bool) -> Result<ExitCode> {
    end(surrounded, EndVerb::Remove, name, json, |ended| {
        if ended.left_to_supervisor {
            return format!("session '{}' removed; the supervisor ends it now", ended.name);
        }
        format!("session '{}' removed", ended.name)
    })
}

pub(crate) fn stop(surrounded: &Surrounded, name: &str, json: bool) -> Result<ExitCode> {
    end(surrounded, EndVerb::Stop, name, json, |ended| {
        format!("session '{0}' stopped; `agent-box session restart {0}` starts it", ended.name)
    })
}

pub(crate) fn restart(surrounded: &Surrounded, restart: Restart) -> Result<ExitCode> {
    let words = |ended: &Ended| {
        if let Some(damage) = &ended.damage {
            format!("session '{}' was ended and does not start again: {damage}", ended.name)
        } else if ended.supervised {
            format!("session '{}' restarts; the supervisor brings it back", ended.name)
        } else {
            let starter = surrounded.store.paths().starter();
            format!("session '{}' restarts once a supervisor runs ({starter})", ended.name)
        }
    };
    let Some(name) = restart.name else {
        let ended = match surrounded.operator(BY).restart_all(restart.include_stopped) {
            Ok(ended) => ended,
            Err(error) => return verb_error(error),
        };
        if restart.output.json {
            print::json(&Value::Array(ended.iter().map(ended_json).collect()));
        } else {
            for one in &ended {
                print::line(&words(one));
            }
            if ended.is_empty() {
                print::line("no session is to be restarted");
            }
        }
        let is_damaged = ended.iter().any(|one| one.damage.is_some());
        return Ok(ExitCode::from(if is_damaged { print::FAULT } else { print::DONE }));
    };
    end(surrounded, EndVerb::Restart, &name, restart.output.json, words)
}

fn end(
    surrounded: &Surrounded,
    verb: EndVerb,
    name: &str,
    json: bool,
    words: impl FnOnce(&Ended) -> String,
) -> Result<ExitCode> {
    let name = match name_of(name) {
        Ok(name) => name,
        Err(refused) => return Ok(refused),
    };
    let ended = match surrounded.operator(BY).end(verb, &name) {
        Ok(ended) => ended,
        Err(error) => return verb_error(error),
    };
    if json {
        print::json(&ended_json(&ended));
    } else {
        print::line(&words(&ended));
    }
    // What is to stay ended is, whatever its record says.
    let is_half_done = verb == EndVerb::Restart && ended.damage.is_some();
    Ok(ExitCode::from(if is_half_done { print::FAULT } else { print::DONE }))
}

fn ended_json(ended: &Ended) -> Value {
    json!({
        "name": ended.name.as_str(),
        "id": ended.session.map(|id| id.to_string()),
        "already": ended.already,
        "leftToSupervisor": ended.left_to_supervisor,
        "supervised": ended.supervised,
        "damage": ended.damage,
    })
}

fn verb_error(error: VerbError) -> Result<ExitCode> {
    match error {
        VerbError::Refused(_) | VerbError::InsideUnsupervised { .. } => {
            Ok(print::refuse(&error.to_string()))
        }
        error => Err(error.into()),
    }
}

pub(crate) fn limits(surrounded: &Surrounded, limits: &Limits) -> Result<ExitCode> {
    let name = match name_of(&limits.name) {
        Ok(name) => name,
        Err(refused) => return Ok(refused),
    };
    let change: Result<LimitsChange, String> = (|| {
        Ok(LimitsChange {
            memory_high: limits.memory_high.as_deref().map(size).transpose()?,
            memory_max: limits.memory_max.as_deref().map(size).transpose()?,
            tasks_max: limits
                .tasks_max
                .as_deref()
                .map(|text| number(text, 1, u64::MAX))
                .transpose()?,
            cpu_weight: limits
                .cpu_weight
                .as_deref()
                .map(|text| number(text, 1, 10_000))
                .transpose()?,
        })
    })();
    let change = match change {
        Ok(change) => change,
        Err(refusal) => return Ok(print::refuse(&refusal)),
    };
    let operator = surrounded.operator(BY);
    let now = if change.is_empty() {
        let document = surrounded.store.read_settled()?;
        let Some(entry) = document.registry.entry(&name) else {
            return Ok(print::refuse(&format!("no session `{name}` is listed")));
        };
        entry.spec.limits
    } else {
        match operator.set_limits(&name, change) {
            Ok(limits) => limits,
            Err(error) => return verb_error(error),
        }
    };
    let launch = surrounded.store.read().ok().and_then(|document| {
        let id = document.registry.entry(&name)?.id?;
        surrounded.store.launch(id).ok()?
    });
    if !now.is_unlimited() && launch.is_some_and(|launch| launch.cgroup.is_none()) {
        print::warn(
            "no control group is delegated to this box, so limits do not hold here (they do where \
             the NixOS module runs it)",
        );
    }
    if limits.output.json {
        print::json(&json!({
            "name": name.as_str(),
            "memoryHigh": now.memory_high,
            "memoryMax": now.memory_max,
            "tasksMax": now.tasks_max,
            "cpuWeight": now.cpu_weight,
        }));
    } else {
        let show = |limit: Option<u64>| limit.map_or("none".to_owned(), |limit| limit.to_string());
        print::table(
            &["LIMIT", "VALUE"],
            &[
                vec!["memory-high".to_owned(), show(now.memory_high)],
                vec!["memory-max".to_owned(), show(now.memory_max)],
                vec!["tasks-max".to_owned(), show(now.tasks_max)],
                vec!["cpu-weight".to_owned(), show(now.cpu_weight)],
            ],
        );
    }
    Ok(ExitCode::from(print::DONE))
}

/// A size in bytes with an optional suffix; `none` lifts the limit.
fn size(text: &str) -> Result<Option<u64>, String> {
    let wrong = || format!("`{text}` is not a size; use a number with K, M, G or T, or `none`");
    if text == "none" {
        return Ok(None);
    }
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        Some((at, 'T' | 't')) => (&text[..at], 40),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes > 0).map(Some).ok_or_else(wrong)
}

fn number(text: &str, least: u64, most: u64) -> Result<Option<u64>, String> {
    if text == "none" {
        return Ok(None);
    }
    match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
        _ => Err(format!("`{text}` is not a number from {least} to {most}, nor `none`")),
    }
}

pub(crate) fn env(surrounded: &Surrounded, verb: Env) -> Result<ExitCode> {
    let store = &surrounded.store;
    match verb {
        Env::Ls { output } => {
            let file = store.env()?;
            let keys = file.keys();
            if output.json {
                print::json(&json!(keys));
            } else {
                for key in keys {
                    print::line(key);
                }
            }
        }
        Env::Set { key, value } => {
            let value = if value == "-" { value_from_stdin()? } else { value };
            // With it in the file no session could start.
            if key.len() + 1 + value.len() >= LONGEST_WORD {
                return Ok(print::refuse(&format!(
                    "the value of {key} has {} bytes, and a variable of a program holds less than \
                     {LONGEST_WORD}; put it into a file and let the variable name that file",
                    value.len()
                )));
            }
            let edited = store.edit_env(|file| file.set(&key, &value));
            if let Some(refused) = env_refusal(edited)? {
                return Ok(refused);
            }
            print::line(&format!(
                "{key} set; sessions get it at their next start (`agent-box session restart --all`)"
            ));
        }
        Env::Rm { key } => {
            let edited = store.edit_env(|file| file.remove(&key).map(drop));
            if let Some(refused) = env_refusal(edited)? {
                return Ok(refused);
            }
            print::line(&format!("{key} removed"));
        }
    }
    Ok(ExitCode::from(print::DONE))
}

/// The refusal of an edit, already said; other errors are faults.
fn env_refusal<R: std::error::Error + Send + Sync + 'static>(
    edited: Result<(), agent_box_session_store::EditEnvError<R>>,
) -> Result<Option<ExitCode>> {
    match edited {
        Ok(()) => Ok(None),
        Err(agent_box_session_store::EditEnvError::Refused(refusal)) => {
            Ok(Some(print::refuse(&refusal.to_string())))
        }
        Err(error) => Err(error.into()),
    }
}

/// A secret from stdin; the newline that `echo` and editors add is not part of it.
fn value_from_stdin() -> Result<String> {
    let mut value = String::new();
    std::io::stdin().read_to_string(&mut value).context("cannot read the value from stdin")?;
    if value.ends_with('\n') {
        value.pop();
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_suffixes_and_none() {
        assert_eq!(size("1024"), Ok(Some(1024)));
        assert_eq!(size("2G"), Ok(Some(2 << 30)));
        assert_eq!(size("none"), Ok(None));
        for wrong in ["", "0", "G", "-1", "1.5G", "99999999999T"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert!(number("0", 1, 10).is_err());
        assert_eq!(number("10", 1, 10), Ok(Some(10)));
    }
}
