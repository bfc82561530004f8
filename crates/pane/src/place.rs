//! Which launch this is and where its box lives, from two words and the `TMUX` variable.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use agent_box_session::paths::Paths;
use agent_box_session::{LaunchId, SessionId, env};
use thiserror::Error;

/// The command line is not one that the supervisor makes.
#[derive(Debug, Error)]
pub(crate) enum PlaceError {
    /// Too few or too many words.
    #[error("`pane` takes a launch record and a launch id; sessions are started by `agent-box up`")]
    Words,
    /// Not a path of a launch record.
    #[error("{} is not a launch record below a home's state directory", .0.display())]
    Record(PathBuf),
    /// Not a launch id.
    #[error("{0:?} is not a launch id")]
    Launch(OsString),
}

/// One launch and its box.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) paths: Paths,
    pub(crate) session: SessionId,
    pub(crate) launch: LaunchId,
}

impl Place {
    /// Reads `RECORD LAUNCH`; `tmux` is the value of the `TMUX` variable.
    pub(crate) fn parse(args: &[OsString], tmux: Option<&OsStr>) -> Result<Self, PlaceError> {
        let [record, launch] = args else { return Err(PlaceError::Words) };
        let bad_launch = || PlaceError::Launch(launch.clone());
        let launch = launch.to_str().and_then(|text| text.parse().ok()).ok_or_else(bad_launch)?;
        let record = Path::new(record);
        let bad_record = || PlaceError::Record(record.to_owned());
        let session = record.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        let session: SessionId = session.ok_or_else(bad_record)?;
        // Four directories up: launches, agent-box, state, .local.
        let home = record.ancestors().nth(5).ok_or_else(bad_record)?;
        let nowhere = Paths::new(home, "");
        if !record.is_absolute() || nowhere.launch(session) != record {
            return Err(bad_record());
        }
        let socket = match tmux.and_then(|value| TmuxVariable::parse(value.to_str()?)) {
            Some(tmux) => tmux.socket,
            None => noted_socket(&nowhere),
        };
        Ok(Self { paths: Paths::new(home, socket), session, launch })
    }
}

/// Where the supervisor says that its tmux server listens.
fn noted_socket(paths: &Paths) -> PathBuf {
    let note = agent_box_disk::read(&paths.socket_note(), 1).unwrap_or_default();
    let path = note.strip_suffix(b"\n").unwrap_or(&note);
    PathBuf::from(OsStr::from_bytes(path))
}

/// What tmux tells a pane: `socket,server pid,session number`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TmuxVariable {
    pub(crate) socket: PathBuf,
    pub(crate) server: i32,
    pub(crate) session: u32,
}

impl TmuxVariable {
    /// The variable of this process.
    pub(crate) fn own() -> Option<Self> {
        Self::parse(std::env::var_os(env::TMUX_SERVER)?.to_str()?)
    }

    fn parse(value: &str) -> Option<Self> {
        // From the right: a path may hold commas.
        let mut parts = value.rsplitn(3, ',');
        let session = parts.next()?.parse().ok()?;
        let server = parts.next()?.parse().ok()?;
        Some(Self { socket: parts.next()?.into(), server, session })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0193b2c0-0000-7000-8000-00000000000a";

    fn parse(record: &str, launch: &str, tmux: Option<&str>) -> Result<Place, PlaceError> {
        Place::parse(&[record.into(), launch.into()], tmux.map(OsStr::new))
    }

    #[test]
    fn home_session_and_socket_come_from_the_record_path_and_tmux() {
        let record = format!("/home/ada/.local/state/agent-box/launches/{ID}.json");
        let place = parse(&record, ID, Some("/run/a,b/tmux-1/agent-box,12,3")).unwrap();
        assert_eq!(place.session.to_string(), ID);
        assert_eq!(place.paths, Paths::new("/home/ada", "/run/a,b/tmux-1/agent-box"));
    }

    #[test]
    fn anything_else_is_refused() {
        let good = format!("/home/ada/.local/state/agent-box/launches/{ID}.json");
        assert!(matches!(Place::parse(&[], None), Err(PlaceError::Words)));
        assert!(matches!(parse(&good, "x", None), Err(PlaceError::Launch(_))));
        for bad in [format!("/tmp/{ID}.json"), good[1..].to_owned(), good.replace(ID, "x")] {
            assert!(matches!(parse(&bad, ID, None), Err(PlaceError::Record(_))), "{bad}");
        }
    }
}
