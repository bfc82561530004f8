//! The receiver as a process of its own, as it is installed.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use agent_box_testkit::{process, within};

use crate::verbs::Scene;

/// A running receiver with a source, `github`; it is killed when this is dropped.
pub(crate) struct Daemon {
    pub(crate) scene: Scene,
    child: Child,
}

impl Daemon {
    pub(crate) fn start() -> Self {
        let mut scene = Scene::new();
        scene.set("LOCAL_WEBHOOK_PORT", "0");
        scene.set("LOCAL_WEBHOOK_SPAWN_CMD", "exit 75");
        let command = scene.command(&["serve"]);
        Self::of(scene, command)
    }

    /// The one that this command starts.
    pub(crate) fn of(scene: Scene, mut command: Command) -> Self {
        scene.run(&["setup"]).expect(0);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let daemon = Self { scene, child };
        within(20).until("the receiver listens and says so", || {
            let listens = std::os::unix::net::UnixStream::connect(daemon.socket()).is_ok();
            listens && daemon.scene.paths().receiver().exists()
        });
        daemon
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.scene.paths().ingress()
    }

    pub(crate) fn secret(&self) -> String {
        std::fs::read_to_string(self.scene.paths().secret("github")).unwrap()
    }

    /// Its resident memory in KiB.
    pub(crate) fn resident(&self) -> u64 {
        process::resident_kib(self.pid()).expect("the receiver runs")
    }

    /// How many files and sockets it has open.
    pub(crate) fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
