//! The verbs about earlier versions of the session list.

use std::process::ExitCode;

use agent_box_session_store::{GenerationKind, RepairError, TransactError, WhatChanged};
use anyhow::Result;
use serde_json::json;

use crate::print;
use crate::surroundings::Surrounded;

pub(crate) fn list(surrounded: &Surrounded, json: bool) -> Result<ExitCode> {
    let generations = surrounded.store.history()?;
    if json {
        let values: Vec<_> = generations
            .iter()
            .map(|generation| {
                json!({
                    "number": generation.number,
                    "at": generation.at.to_string(),
                    "kind": kind_word(generation.kind),
                    "by": generation.by,
                    "summary": generation.summary,
                    "changes": generation.changes.iter().map(|change| json!({
                        "name": change.name,
                        "what": what_word(change.what),
                    })).collect::<Vec<_>>(),
                })
            })
            .collect();
        print::json(&json!(values));
        return Ok(ExitCode::from(print::DONE));
    }
    let rows: Vec<Vec<String>> = generations
        .iter()
        .map(|generation| {
            let changes: Vec<String> = generation
                .changes
                .iter()
                .map(|change| format!("{} {}", what_word(change.what), change.name))
                .collect();
            vec![
                generation.number.to_string(),
                generation.at.to_string(),
                kind_word(generation.kind).to_owned(),
                generation.by.clone(),
                if generation.summary.is_empty() {
                    changes.join(", ")
                } else {
                    generation.summary.clone()
                },
            ]
        })
        .collect();
    if rows.is_empty() {
        print::line("no history yet");
    } else {
        print::table(&["NUMBER", "AT", "KIND", "BY", "WHAT"], &rows);
    }
    Ok(ExitCode::from(print::DONE))
}

fn kind_word(kind: GenerationKind) -> &'static str {
    match kind {
        GenerationKind::Operator => "command",
        GenerationKind::Mirror => "mirror",
        GenerationKind::HandEdit => "hand edit",
    }
}

fn what_word(what: WhatChanged) -> &'static str {
    match what {
        WhatChanged::Added => "added",
        WhatChanged::Removed => "removed",
        WhatChanged::Changed => "changed",
    }
}

pub(crate) fn undo(surrounded: &Surrounded, steps: u32, json: bool) -> Result<ExitCode> {
    let undone = match surrounded.operator("cli").undo(steps as usize) {
        Ok(undone) => undone,
        Err(agent_box_supervisor::operator::UndoFault::Undo(TransactError::Refused(refusal))) => {
            return Ok(print::refuse(&refusal.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    let names = |list: &[(agent_box_session::SessionName, agent_box_session::SessionId)]| {
        list.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>()
    };
    let (restored, delisted) = (names(&undone.restored), names(&undone.delisted));
    let changed: Vec<String> = undone.changed.iter().map(ToString::to_string).collect();
    if json {
        print::json(&json!({ "restored": restored, "removed": delisted, "changed": changed }));
        return Ok(ExitCode::from(print::DONE));
    }
    for (word, names) in [("back", restored), ("removed", delisted), ("set back", changed)] {
        if !names.is_empty() {
            print::line(&format!("{word}: {}", names.join(", ")));
        }
    }
    print::line("undone; `agent-box undo` again takes this back");
    Ok(ExitCode::from(print::DONE))
}

pub(crate) fn repair(surrounded: &Surrounded, yes: bool, json: bool) -> Result<ExitCode> {
    let Some(damage) = surrounded.store.diagnose()? else {
        print::line("the session list is not damaged; nothing to repair");
        return Ok(ExitCode::from(print::DONE));
    };
    print::warn(&damage.to_string());
    let newest = surrounded.store.history()?.into_iter().next_back();
    if let Some(newest) = &newest {
        print::warn(&format!(
            "the newest good version is number {} of {}",
            newest.number, newest.at
        ));
    }
    if !yes && !print::confirm("restore it, keeping the damaged bytes beside it?") {
        return Ok(print::refuse(
            "nothing was changed; `agent-box session repair --yes` restores it",
        ));
    }
    let repaired = match surrounded.store.repair("cli") {
        Ok(repaired) => repaired,
        Err(error @ (RepairError::NotDamaged { .. } | RepairError::NothingGood { .. })) => {
            return Ok(print::refuse(&error.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    let kept = repaired.kept.map(|path| path.display().to_string());
    if json {
        print::json(&json!({ "restored": repaired.restored.number, "kept": kept }));
    } else {
        print::line(&format!("restored version {}", repaired.restored.number));
        if let Some(kept) = kept {
            print::line(&format!("the damaged bytes are in {kept}"));
        }
    }
    Ok(ExitCode::from(print::DONE))
}
