//! What is wrong with a box's files although every command still works, for `status`.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::store::Store;

impl Store {
    /// What somebody should mend, each with the way to do so; empty when all is well.
    pub fn concerns(&self) -> Vec<String> {
        let paths = self.paths();
        let mut concerns = Vec::new();
        for directory in [paths.config(), paths.state()] {
            concerns.extend(lax(&directory));
        }
        // Without the registry nothing is known of which identities belong to it.
        if let Ok(document) = self.read()
            && let Err(error) = self.identities(&document.registry)
        {
            concerns.push(format!("{error}; until it is mended no session can be changed"));
        }
        let env_file = paths.env_file();
        match self.env() {
            Err(error) => concerns.push(format!("{error}; sessions start without its variables")),
            Ok(file) => {
                for line in file.ignored() {
                    let path = env_file.display();
                    concerns.push(format!("{path} line {line} is no KEY=value and means nothing"));
                }
            }
        }
        concerns
    }

    /// The last lines that a session's agent printed before its last bad end, if it had one.
    pub fn last_words(&self, id: agent_box_session::SessionId) -> Option<String> {
        let bytes = crate::regular_file::read(&self.paths().last_words(id)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn lax(directory: &Path) -> Option<String> {
    let mode = directory.metadata().ok()?.mode() & 0o7777;
    let path = directory.display();
    (mode & 0o022 != 0).then(|| {
        format!("{path} has mode {mode:o}, so others can change it; run `chmod go-w {path}`")
    })
}
