//! The verbs that only look.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt as _;
use std::process::ExitCode;

use agent_box_session::{Agent, LaunchRecord, SessionName, SessionState};
use agent_box_session_store::{Filter, ReadError};
use agent_box_supervisor::operator::{ExplainError, Explanation, List, Row};
use agent_box_tmux_driver::SessionTarget;
use agent_box_webhook::cli::concerns;
use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::name_of;
use crate::print;
use crate::surroundings::Surrounded;
use crate::webhooks;

pub(crate) fn list(surrounded: &Surrounded, json: bool) -> Result<ExitCode> {
    let list = surrounded.operator("cli").list()?;
    if json {
        print::json(&list_json(&list));
    } else {
        let rows: Vec<Vec<String>> = list
            .rows
            .iter()
            .map(|row| {
                let agent = row.agent.as_ref().map_or("-", Agent::as_str);
                vec![row.name.clone(), agent.to_owned(), row.state.to_string()]
            })
            .collect();
        if rows.is_empty() && list.damage.is_none() {
            print::line("no sessions; `agent-box add` asks for one");
        } else {
            print::table(&["NAME", "AGENT", "STATE"], &rows);
        }
        if let Some(trouble) = &list.tmux {
            print::warn(&format!("tmux does not answer, so some states are unknown: {trouble}"));
        }
        if !list.supervised && !list.rows.is_empty() {
            let starter = surrounded.store.paths().starter();
            print::warn(&format!("no supervisor runs, so nothing is started; run {starter}"));
        }
    }
    match list.damage {
        None => Ok(ExitCode::from(print::DONE)),
        Some(ReadError::Damaged(damage)) => {
            print::warn(&format!(
                "the session list is damaged, so nothing is started or ended: {damage}"
            ));
            Ok(ExitCode::from(print::DAMAGED))
        }
        Some(error) => Err(error.into()),
    }
}

fn list_json(list: &List) -> Value {
    json!({
        "sessions": list.rows.iter().map(row_json).collect::<Vec<_>>(),
        "supervised": list.supervised,
        "tmux": list.tmux,
        "damage": list.damage.as_ref().map(ToString::to_string),
    })
}

fn row_json(row: &Row) -> Value {
    json!({
        "name": row.name,
        "id": row.id.map(|id| id.to_string()),
        "agent": row.agent.as_ref().map(Agent::as_str),
        "state": state_json(&row.state),
        "directory": row.directory,
        "attached": row.attached,
        "launch": row.launch.map(|launch| launch.to_string()),
    })
}

fn state_json(state: &SessionState) -> Value {
    let mut value = json!({ "word": state.word(), "text": state.to_string() });
    match state {
        SessionState::BackingOff { attempts, until } => {
            value["attempts"] = json!(attempts);
            value["until"] = json!(until.to_string());
        }
        SessionState::CrashLooping { deaths } => value["deaths"] = json!(deaths),
        SessionState::PostMortem { code } => value["code"] = json!(code),
        SessionState::Stopped { by } => value["by"] = json!(by),
        SessionState::Error(reason) | SessionState::Unknown(reason) => {
            value["reason"] = json!(reason);
        }
        _ => {}
    }
    value
}

/// How the box itself is, whatever its sessions do.
pub(crate) fn status(surrounded: &Surrounded, json: bool) -> ExitCode {
    let mut status = surrounded.operator("cli").status();
    if let Ok(context) = webhooks::context() {
        status.concerns.extend(concerns(&context));
    }
    let damage = status.damage.as_ref().map(ToString::to_string);
    if json {
        print::json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "supervisor": status.supervisor,
            "tmux": {
                "socket": surrounded.tmux.socket(),
                "pid": status.server.as_ref().ok().map(|server| server.pid),
                "version": status.server.as_ref().ok().map(|server| &server.version),
                "outdated": status.server.as_ref().ok().map(|server| server.outdated),
                "trouble": status.server.as_ref().err(),
            },
            "sessions": status.sessions,
            "damage": damage,
            "concerns": status.concerns,
        }));
    } else {
        let supervisor = match &status.supervisor {
            Some(holder) => format!("runs ({holder})"),
            None => format!("does not run; start it with {}", surrounded.store.paths().starter()),
        };
        let server = match &status.server {
            Ok(server) if server.outdated => format!(
                "tmux {} (process {}), older than the installed one; it stays until the next \
                 reboot, since replacing it would end every session",
                server.version, server.pid
            ),
            Ok(server) => format!("tmux {} (process {})", server.version, server.pid),
            Err(trouble) => trouble.clone(),
        };
        let sessions = match (&damage, status.sessions) {
            (Some(damage), _) => damage.clone(),
            (None, Some(count)) => format!("{count} listed"),
            (None, None) => "unknown".to_owned(),
        };
        print::table(
            &["WHAT", "STATE"],
            &[
                vec!["agent-box".to_owned(), env!("CARGO_PKG_VERSION").to_owned()],
                vec!["supervisor".to_owned(), supervisor],
                vec!["tmux server".to_owned(), server],
                vec!["sessions".to_owned(), sessions],
            ],
        );
        for concern in &status.concerns {
            print::warn(concern);
        }
    }
    ExitCode::from(if damage.is_some() { print::DAMAGED } else { print::DONE })
}

/// What `why` and `show` start from, or the refusal already said.
fn explanation(
    surrounded: &Surrounded,
    name: &str,
    events: usize,
) -> Result<std::result::Result<Explanation, ExitCode>> {
    let name = match name_of(name) {
        Ok(name) => name,
        Err(refused) => return Ok(Err(refused)),
    };
    match surrounded.operator("cli").explain(&name, events) {
        Ok(explanation) => Ok(Ok(explanation)),
        Err(error @ ExplainError::Unknown(_)) => Ok(Err(print::refuse(&error.to_string()))),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn why(surrounded: &Surrounded, name: &str, json: bool) -> Result<ExitCode> {
    let explanation = match explanation(surrounded, name, 20)? {
        Ok(explanation) => explanation,
        Err(refused) => return Ok(refused),
    };
    if json {
        print::json(&json!({
            "name": explanation.name.as_str(),
            "state": explanation.state.as_ref().map(state_json),
            "why": explanation.sentences(),
            "lastWords": explanation.last_words,
            "events": explanation.events.iter().map(print::event_json).collect::<Vec<_>>(),
            "supervised": explanation.supervised,
        }));
        return Ok(ExitCode::from(print::DONE));
    }
    for sentence in explanation.sentences() {
        print::line(&sentence);
    }
    if let Some(words) = &explanation.last_words {
        print::line("");
        print::line("the agent's last words before its last bad end:");
        let lines: Vec<&str> = words.trim_end().lines().collect();
        for line in &lines[lines.len().saturating_sub(20)..] {
            print::line(&format!("  | {line}"));
        }
    }
    if !explanation.events.is_empty() {
        print::line("");
        print::line("what happened:");
        for event in &explanation.events {
            print::line(&format!("  {}", print::event_line(event)));
        }
    }
    Ok(ExitCode::from(print::DONE))
}

pub(crate) fn show(
    surrounded: &Surrounded,
    name: &str,
    command: bool,
    json: bool,
) -> Result<ExitCode> {
    let explanation = match explanation(surrounded, name, 1)? {
        Ok(explanation) => explanation,
        Err(refused) => return Ok(refused),
    };
    let Some(entry) = &explanation.entry else {
        return Ok(print::refuse(&format!(
            "no session `{name}` is listed; `agent-box why {name}` tells what became of it"
        )));
    };
    let record = explanation.record.as_ref();
    if command {
        let Some(record) = record else {
            return Ok(print::refuse(&format!("session `{name}` was not started yet")));
        };
        if json {
            print::json(&json!(record.argv));
        } else {
            print::line(&record.argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "));
        }
        return Ok(ExitCode::from(print::DONE));
    }
    let value = json!({
        "name": name,
        "id": entry.id.map(|id| id.to_string()),
        "generation": entry.generation,
        "agent": entry.spec.agent.as_ref().map(Agent::as_str),
        "state": explanation.state.as_ref().map(state_json),
        "directory": entry.spec.working_directory,
        "extraArgs": entry.spec.extra_args,
        "skipPermissions": entry.spec.skip_permissions,
        "remoteControl": entry.spec.remote_control,
        "conversation": entry.conversation,
        "pendingPromptBytes": entry.spec.initial_prompt.as_ref().map(String::len),
        "createdBy": entry.created_by,
        "launch": record.map(launch_json),
    });
    if json {
        print::json(&value);
        return Ok(ExitCode::from(print::DONE));
    }
    let mut rows = Vec::new();
    flatten("", &value, &mut rows);
    print::table(&["WHAT", "VALUE"], &rows);
    Ok(ExitCode::from(print::DONE))
}

fn launch_json(record: &LaunchRecord) -> Value {
    json!({
        "id": record.launch.to_string(),
        "generation": record.generation,
        "prepared": record.prepared.to_string(),
        "directory": record.directory,
        "program": record.argv.first(),
        "resumed": record.resumed,
        "carriesPrompt": record.carries_prompt,
        "promptHanded": record.prompt_handed,
        "promptProven": record.prompt_proven,
        "quickDeaths": record.quick_deaths,
        "launcher": record.launcher().map(|launcher| launcher.pid),
        "notes": record.notes,
    })
}

/// A JSON value as rows of dotted names, nulls left out.
fn flatten(prefix: &str, value: &Value, rows: &mut Vec<Vec<String>>) {
    match value {
        Value::Null => {}
        Value::Object(members) => {
            for (key, value) in members {
                let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&name, value, rows);
            }
        }
        Value::String(text) => rows.push(vec![prefix.to_owned(), text.clone()]),
        other => rows.push(vec![prefix.to_owned(), other.to_string()]),
    }
}

/// A word as a shell would need it, for people who copy it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+:,./@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if word.contains(char::is_control) {
        // The spelling that stays on one line and shows what a terminal would obey.
        return format!("$'{}'", word.chars().map(spelled).collect::<String>());
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A character between `$'` and `'`, where octal needs no end mark.
fn spelled(c: char) -> String {
    match c {
        '\'' | '\\' => format!("\\{c}"),
        '\n' => r"\n".to_owned(),
        c if c.is_control() => {
            let octal = |byte: u8| format!("\\{byte:03o}");
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().map(octal).fold(String::new(), |all, it| all + &it)
        }
        c => c.to_string(),
    }
}

pub(crate) fn log(
    surrounded: &Surrounded,
    name: Option<&str>,
    lines: usize,
    json: bool,
) -> Result<ExitCode> {
    let name = match name.map(name_of).transpose() {
        Ok(name) => name,
        Err(refused) => return Ok(refused),
    };
    let asked = name.clone();
    // By id where there is one: an earlier holder of the name has a past of its own.
    let listed = name
        .as_ref()
        .and_then(|name| surrounded.store.read_settled().ok()?.registry.entry(name)?.id);
    let filter = match listed {
        Some(id) => Filter { session: Some(id), name: None },
        None => Filter { session: None, name },
    };
    let events = surrounded.store.journal().read(&filter, lines)?;
    for event in &events {
        if json {
            print::json(&print::event_json(event));
        } else {
            print::line(&print::event_line(event));
        }
    }
    let holders: BTreeSet<_> = events.iter().filter_map(|event| event.session).collect();
    if let Some(name) = asked.as_ref().filter(|_| listed.is_none() && holders.len() > 1 && !json) {
        let count = holders.len();
        print::warn(&format!(
            "{count} sessions had the name `{name}`, and these are events of all"
        ));
    }
    if events.is_empty() && lines > 0 {
        if let Some(name) = asked {
            return Ok(print::refuse(&format!("the journal knows no session `{name}`")));
        }
        if !json {
            print::line("nothing happened yet");
        }
    }
    Ok(ExitCode::from(print::DONE))
}

/// Becomes a tmux client of the session's terminal.
pub(crate) fn attach(surrounded: &Surrounded, name: Option<&str>) -> Result<ExitCode> {
    let wanted = match name.map(name_of).transpose() {
        Ok(wanted) => wanted,
        Err(refused) => return Ok(refused),
    };
    let list = surrounded.operator("cli").list()?;
    let has_terminal = |row: &Row| {
        matches!(
            row.state,
            SessionState::Live
                | SessionState::Suspended
                | SessionState::PostMortem { .. }
                | SessionState::NeedsLogin
        )
    };
    let target = if let Some(name) = &wanted {
        match list.rows.iter().find(|row| row.name == name.as_str()) {
            Some(row) if has_terminal(row) || row.state == SessionState::Unmanaged => {
                terminal_of(surrounded, row).unwrap_or(SessionTarget::name(name.as_str())?)
            }
            Some(row) => return Ok(print::refuse(&not_live(name, &row.state))),
            None => {
                return Ok(print::refuse(&format!(
                    "no session `{name}` is listed; `agent-box-session add {name}` asks for one"
                )));
            }
        }
    } else {
        let main = list.rows.iter().find(|row| row.name == "main" && has_terminal(row));
        let Some(row) = main.or_else(|| list.rows.iter().find(|row| has_terminal(row))) else {
            return Ok(print::refuse("no session is live; `agent-box ls` shows why"));
        };
        terminal_of(surrounded, row).unwrap_or(SessionTarget::name(&row.name)?)
    };
    let error = surrounded.tmux.attach_command(&target).exec();
    Err(error).context("cannot run tmux; is it installed?")
}

/// The terminal that carries the row's id, whatever it is named at the moment.
fn terminal_of(surrounded: &Surrounded, row: &Row) -> Option<SessionTarget> {
    let id = row.id?.to_string();
    let snapshot = surrounded.tmux.snapshot().ok()?;
    let session = snapshot.sessions.iter().find(|session| session.id.as_deref() == Some(&id))?;
    Some(session.target())
}

fn not_live(name: &SessionName, state: &SessionState) -> String {
    match state {
        SessionState::Stopped { .. } => {
            format!("session `{name}` is {state}; `agent-box-session restart {name}` starts it")
        }
        _ => format!("session `{name}` is {state}; `agent-box why {name}` tells more"),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_only_where_a_shell_would_change_them() {
        assert_eq!(quoted("--add-dir"), "--add-dir");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
