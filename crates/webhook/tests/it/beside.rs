//! The program with a stub of the spawn wrapper beside it, where it looks for one.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::verbs::{Done, Scene, program, put};

/// The program in a directory of its own, where a stub of the spawn wrapper stands beside it.
pub(crate) struct Beside(PathBuf);

impl Beside {
    pub(crate) fn new(scene: &Scene) -> Self {
        let directory = scene.home().join("programs");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::copy(program(), directory.join("webhook")).unwrap();
        Self(directory)
    }

    /// What the wrapper answers from now on.
    pub(crate) fn answer(&self, status: &Value) -> &Self {
        let wrapper = self.0.join("agent-box-webhook-spawn");
        put(&wrapper, &format!("#!/bin/sh\necho '{status}'\n"));
        std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o700)).unwrap();
        self
    }

    pub(crate) fn command(&self, scene: &Scene, words: &[&str]) -> Command {
        scene.command_of(&self.0.join("webhook"), words)
    }

    pub(crate) fn run(&self, scene: &Scene, words: &[&str]) -> Done {
        Done::of(self.command(scene, words).output().unwrap())
    }
}
