//! Instruction files that agents read: placed where there is none, never changed.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use agent_box_session::Agent;

use crate::Surroundings;

/// Places `AGENTS.md`, and for claude `CLAUDE.md` and its guide; what could not be placed becomes
/// a note, since an agent can work without them.
pub(crate) fn place(
    surroundings: &Surroundings,
    agent: &Agent,
    directory: &Path,
    claude_home: &Path,
    notes: &mut Vec<String>,
) {
    if *agent == Agent::Shell {
        return;
    }
    let mut note = |path: PathBuf, placed: io::Result<()>| {
        if let Err(error) = placed {
            notes.push(format!("cannot place {}: {error}", path.display()));
        }
    };
    let agents = directory.join("AGENTS.md");
    if let Some(pointer) = &surroundings.agents_pointer {
        note(agents.clone(), copy(pointer, &agents));
        let claude = directory.join("CLAUDE.md");
        if *agent == Agent::Claude && agents.exists() {
            note(claude.clone(), link(Path::new("AGENTS.md"), &claude));
        }
    }
    if let Some(guide) = &surroundings.claude_guide_target
        && *agent == Agent::Claude
    {
        let path = claude_home.join("CLAUDE.md");
        let made = DirBuilder::new().recursive(true).mode(0o700).create(claude_home);
        note(path.clone(), made.and_then(|()| link(guide, &path)));
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if to.symlink_metadata().is_ok() {
        return Ok(());
    }
    let text = std::fs::read(from)?;
    // Exclusive, so that a file made by somebody else at this moment stays theirs.
    let made = OpenOptions::new().write(true).create_new(true).mode(0o644).open(to);
    kept(made.and_then(|mut file| file.write_all(&text)))
}

fn link(target: &Path, path: &Path) -> io::Result<()> {
    kept(symlink(target, path))
}

fn kept(placed: io::Result<()>) -> io::Result<()> {
    match placed {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}
