//! A box with a supervisor, and one start in it that is held at a point.

use std::time::Duration;

use agent_box_session::SessionId;
use agent_box_testkit::{AgentBox, Deadline, Finished, Supervisor, TestBox};

use crate::oracle::Oracle;

/// The points of a start that the supervisor passes.
pub(super) const IN_SUPERVISOR: [&str; 5] = [
    "supervisor.after-planning",
    "supervisor.before-record",
    "supervisor.after-record",
    "supervisor.before-new-session",
    "supervisor.after-new-session",
];

/// The points of a start that the launcher passes; the second one is under the registry's lock.
pub(super) const IN_LAUNCHER: [&str; 5] =
    ["pane.before-gate", GATE, "pane.after-starting", "pane.before-exec", "pane.after-exec"];

const GATE: &str = "pane.in-gate";

/// The session that is started: its name is given away again and again.
pub(super) const QUEST: &str = "quest";

/// Holds a start at each of the points in turn, lets `act` do its worst, and checks what became
/// of it. The same box and the same name serve all of them, so each round is a successor.
pub(super) fn at_each(
    points: impl IntoIterator<Item = &'static str>,
    mut act: impl FnMut(&mut Stage),
) {
    let mut stage = Stage::new();
    for point in points {
        stage.hold_start(point);
        act(&mut stage);
        stage.release();
        stage.settle();
        stage.clear();
    }
}

/// The box, its supervisor and the held start.
pub(super) struct Stage {
    pub(super) test_box: TestBox,
    pub(super) oracle: Oracle,
    supervisor: Option<Supervisor>,
    /// The session that the round is about.
    pub(super) session: Option<SessionId>,
    held: Option<(&'static str, i32)>,
    added: usize,
}

impl Stage {
    pub(super) fn new() -> Self {
        let mut test_box = TestBox::new(env!("CARGO_BIN_EXE_agent-box"));
        test_box.set("AGENT_BOX_GRACE_MS", "500");
        let oracle = Oracle::new(&test_box);
        let mut stage =
            Self { test_box, oracle, supervisor: None, session: None, held: None, added: 0 };
        stage.supervise();
        stage
    }

    /// Starts a supervisor, if none runs.
    pub(super) fn supervise(&mut self) {
        if self.supervisor.is_none() {
            let mut supervisor = self.test_box.supervise(&["supervise"]);
            supervisor.wait_ready();
            self.supervisor = Some(supervisor);
        }
    }

    pub(super) fn kill_supervisor(&mut self) {
        self.supervisor.take().unwrap().kill();
    }

    pub(super) fn supervisor_output(&self) -> String {
        self.supervisor.as_ref().unwrap().output()
    }

    /// Adds the session with a prompt that nobody else has, full of what shells stumble over.
    pub(super) fn add(&mut self, name: &str) -> SessionId {
        self.added += 1;
        let prompt = format!("task {}: 'a' \"b\" $(c) `d` 협업 🚀\n\tthe end\\", self.added);
        let added = self.run(&["add", name, "--agent", "claude", "--prompt", &prompt, "--json"]);
        let added: serde_json::Value =
            serde_json::from_str(&added.expect_success().stdout).unwrap();
        let id: SessionId = added["id"].as_str().unwrap().parse().unwrap();
        self.oracle.added(id, prompt);
        self.session = Some(id);
        id
    }

    /// Adds the session and waits until its start stands at the point.
    pub(super) fn hold_start(&mut self, point: &'static str) {
        self.test_box.points().arm(point, "pause-once");
        self.add(QUEST);
        let pid = self.test_box.points().wait_reached(point);
        self.held = Some((point, pid));
    }

    /// The process that stands at the point.
    pub(super) fn held_process(&self) -> i32 {
        self.held.expect("a start is held").1
    }

    /// Lets the start go on.
    pub(super) fn release(&mut self) {
        if let Some((point, _)) = self.held.take() {
            self.test_box.points().release(point);
        }
    }

    /// Runs a command to its end; one that needs the lock which the held start has must wait.
    pub(super) fn run(&mut self, arguments: &[&str]) -> Finished {
        let command = self.test_box.command(arguments);
        self.run_command(command)
    }

    pub(super) fn run_command(&mut self, command: AgentBox) -> Finished {
        let mut running = command.start();
        if self.held.is_some_and(|(point, _)| point == GATE) {
            let registry = self.test_box.read(".config/agent-box/sessions.json");
            Deadline::after(Duration::from_millis(150)).always(
                "the command waits for the gate",
                || {
                    let now = self.test_box.read(".config/agent-box/sessions.json");
                    !running.has_ended() && now == registry
                },
            );
            self.release();
        }
        running.wait()
    }

    /// Removes the session and checks what that promises at once.
    pub(super) fn remove(&mut self, name: &str) {
        self.run(&["rm", name]).expect_success();
        if let Some(id) = self.session.take() {
            let removed = self.oracle.removed(&self.test_box, id);
            removed.unwrap_or_else(|problem| panic!("{problem}\n{}", self.oracle.story()));
        }
    }

    /// Waits until the box is at rest and checks all promises.
    #[track_caller]
    pub(super) fn settle(&mut self) {
        self.supervise();
        if let Err(problem) = self.oracle.settled(&mut self.test_box, 20, |_| {}) {
            panic!("{problem}\n{}", self.oracle.story());
        }
    }

    /// Makes room for the next round.
    fn clear(&mut self) {
        if self.test_box.read(".config/agent-box/sessions.json").contains("\"quest\"") {
            self.remove(QUEST);
            self.settle();
        }
    }

    /// The launches of the round's session so far.
    pub(super) fn launches(&self) -> usize {
        let launches = self.oracle.launches_by_session(&self.test_box);
        self.session.and_then(|id| launches.get(&id).map(Vec::len)).unwrap_or_default()
    }
}
