//! Random interleavings of operators, crashes and pauses, from a fixed seed.
//!
//! A script is a list of steps; it is played on a box, and when everything that was held is let
//! go, the [oracle](crate::oracle) must find the box at rest. Several scripts are played in one
//! box's life, so that each finds what the ones before it left. The timing is the machine's: a
//! seed repeats the steps, not every race between them.

use std::fmt::Write as _;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent_box_session::SessionId;
use agent_box_testkit::{Deadline, Finished, Running, Supervisor, TestBox, process, within};
use rustix::process::Signal;

use crate::oracle::Oracle;

/// Scripts in one box's life.
const SCRIPTS: usize = 20;
/// Names that the operators fight over.
const NAMES: [&str; 2] = ["red", "green"];
/// How many of [`POINTS`], from the first, belong to a start.
const OF_A_START: usize = 10;
/// Every point that a script may hold or kill a process at.
const POINTS: [&str; 22] = [
    "supervisor.after-planning",
    "supervisor.before-record",
    "supervisor.after-record",
    "supervisor.before-new-session",
    "supervisor.after-new-session",
    "pane.before-gate",
    "pane.in-gate",
    "pane.after-starting",
    "pane.before-exec",
    "pane.after-exec",
    "pane.after-ended",
    "store.locked",
    "store.before-temp",
    "store.before-history",
    "store.before-rename",
    "store.after-rename",
    "store.after-dir-fsync",
    "store.before-tombstone",
    "store.after-tombstone",
    "store.before-unlock",
    "ending.after-term",
    "ending.before-terminal",
];

/// One step of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// An operator's command, which runs beside the steps that follow.
    Run(&'static str, &'static str),
    /// The next process at this point stands still.
    Hold(&'static str),
    /// The next process at this point dies.
    KillAt(&'static str),
    /// Every process that stands still goes on.
    Release,
    /// A process that stands still dies.
    KillHeld,
    /// The operator whose command was started last dies.
    KillOperator,
    KillSupervisor,
    StartSupervisor,
    KillLauncher(&'static str),
    KillTmux,
    FreezeTmux,
    ThawTmux,
    /// So many milliseconds pass.
    Pass(u64),
    /// All commands end.
    Join,
}

/// splitmix64: a few lines, and the same numbers everywhere.
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let sides = u64::try_from(from.len()).expect("BUG: a list is shorter than u64");
        from[usize::try_from(self.roll(sides)).expect("BUG: less than the list's length")]
    }

    fn script(&mut self) -> Vec<Step> {
        let length = 4 + self.roll(7);
        (0..length).map(|_| self.step()).collect()
    }

    fn step(&mut self) -> Step {
        match self.roll(100) {
            0..18 => Step::Run("add", self.pick(&NAMES)),
            18..32 => Step::Run("rm", self.pick(&NAMES)),
            32..38 => Step::Run("stop", self.pick(&NAMES)),
            38..46 => Step::Run("restart", self.pick(&NAMES)),
            46..54 => Step::Hold(self.pick(&POINTS[..OF_A_START])),
            54..58 => Step::Hold(self.pick(&POINTS)),
            58..64 => Step::KillAt(self.pick(&POINTS)),
            64..68 => Step::Release,
            68..71 => Step::KillHeld,
            71..74 => Step::KillOperator,
            74..77 => Step::KillSupervisor,
            77..79 => Step::StartSupervisor,
            79..81 => Step::KillLauncher(self.pick(&NAMES)),
            81..82 => Step::KillTmux,
            82..83 => Step::FreezeTmux,
            83..84 => Step::ThawTmux,
            84..96 => Step::Pass(self.roll(60)),
            _ => Step::Join,
        }
    }
}

/// A command that may still run, and what is known of what it was about.
struct Command {
    verb: &'static str,
    name: &'static str,
    prompt: String,
    running: Running,
    killed: bool,
}

/// One box and who is at work in it.
struct Arena {
    test_box: TestBox,
    oracle: Oracle,
    supervisor: Option<Supervisor>,
    commands: Vec<Command>,
    frozen: Option<i32>,
    added: usize,
    /// Verb and name of each command of the script, and whether it was acknowledged.
    done: Vec<(&'static str, &'static str, bool)>,
}

impl Arena {
    fn new(program: &str) -> Self {
        let mut test_box = TestBox::new(program);
        test_box.set("AGENT_BOX_GRACE_MS", "500");
        let oracle = Oracle::new(&test_box);
        let mut arena = Self {
            test_box,
            oracle,
            supervisor: None,
            commands: Vec::new(),
            frozen: None,
            added: 0,
            done: Vec::new(),
        };
        supervise(&mut arena.test_box, &mut arena.supervisor);
        arena
    }

    /// Plays a script, lets everything go, and says which promise was broken.
    fn play(&mut self, script: &[Step]) -> Result<(), String> {
        self.done.clear();
        for step in script {
            self.take(*step)?;
        }
        self.thaw();
        self.release();
        self.join()?;
        // A point that was armed and never reached must not meet the next script.
        self.release();
        let Self { test_box, supervisor, oracle, .. } = self;
        // A supervisor that took its order to die a moment ago is still seen alive once.
        let settled = oracle.settled(test_box, 15, |test_box| supervise(test_box, supervisor));
        settled.map_err(|problem| match &self.supervisor {
            Some(supervisor) => format!("{problem}\nthe supervisor:\n{}", supervisor.output()),
            None => problem,
        })?;
        self.last_word_counts()
    }

    fn take(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Run(verb, name) => self.run(verb, name),
            Step::Hold(point) => self.test_box.points().arm(point, "pause-once"),
            Step::KillAt(point) => self.test_box.points().arm(point, "kill-once"),
            Step::Release => self.release(),
            Step::KillHeld => {
                let held = POINTS.iter().flat_map(|point| self.test_box.points().waiting(point));
                held.take(1).for_each(|pid| process::send(pid, Signal::KILL));
            }
            Step::KillOperator => {
                if let Some(command) = self.commands.last_mut() {
                    command.killed = true;
                    process::send(command.running.pid(), Signal::KILL);
                }
            }
            Step::KillSupervisor => {
                if let Some(supervisor) = self.supervisor.take() {
                    supervisor.kill();
                }
            }
            Step::StartSupervisor => supervise(&mut self.test_box, &mut self.supervisor),
            Step::KillLauncher(name) => {
                let registry = self.oracle.store.read().map_err(|it| it.to_string())?.registry;
                let id = registry.entries().find(|(it, _)| it.as_str() == name);
                let id = id.and_then(|(_, entry)| entry.id);
                let record = id.and_then(|id| self.oracle.store.launch(id).ok().flatten());
                if let Some(launcher) = record.as_ref().and_then(|it| it.launcher())
                    && process::start_time(launcher.pid) == Some(launcher.start_time)
                {
                    process::send(launcher.pid, Signal::KILL);
                }
            }
            Step::KillTmux => {
                self.frozen = None;
                self.test_box.tmux().kill_server();
            }
            Step::FreezeTmux => {
                self.thaw();
                self.frozen = self.test_box.tmux().server_pid();
                self.frozen.into_iter().for_each(|pid| process::send(pid, Signal::STOP));
            }
            Step::ThawTmux => self.thaw(),
            Step::Pass(milliseconds) => {
                Deadline::after(Duration::from_millis(milliseconds)).becomes(|| false);
            }
            Step::Join => {
                // Only what can end now: a command may wait for a process that is held.
                within(1).becomes(|| self.commands.iter_mut().all(|it| it.running.has_ended()));
            }
        }
        self.collect()
    }

    fn run(&mut self, verb: &'static str, name: &'static str) {
        self.added += 1;
        let prompt = format!("task {} of {name}: \"$(x)\" 'y' 협업\n\\", self.added);
        let mut words = vec![verb, name, "--json"];
        if verb == "add" {
            words.extend(["--agent", "claude", "--prompt", &prompt]);
        }
        let running = self.test_box.command(&words).start();
        self.commands.push(Command { verb, name, prompt, running, killed: false });
    }

    fn thaw(&mut self) {
        if let Some(server) = self.frozen.take() {
            process::send(server, Signal::CONT);
        }
    }

    /// Disarms every point and lets go what stands at one.
    fn release(&self) {
        let directory = fs::read_dir(self.test_box.points().directory());
        // Command files first: whoever takes one afterwards passes.
        let mut paths: Vec<_> =
            directory.into_iter().flatten().flatten().map(|it| it.path()).collect();
        paths.sort_by_key(|path| path.to_string_lossy().contains(".at."));
        for path in paths {
            let _ = fs::remove_file(path);
        }
    }

    /// Waits for all commands.
    fn join(&mut self) -> Result<(), String> {
        let ended = within(20).becomes(|| {
            // A process may have taken its order to stand still before it was withdrawn.
            self.release();
            self.commands.iter_mut().all(|command| command.running.has_ended())
        });
        if !ended {
            let left = self.commands.iter().map(|it| format!("{} {}", it.verb, it.name));
            return Err(format!("commands hang: {:?}", left.collect::<Vec<_>>()));
        }
        self.collect()
    }

    /// Takes the results of the commands that have ended.
    fn collect(&mut self) -> Result<(), String> {
        let commands = std::mem::take(&mut self.commands);
        for mut command in commands {
            if command.running.has_ended() {
                let Command { verb, name, prompt, running, killed } = command;
                let finished = running.wait();
                self.finished(verb, name, prompt, killed, &finished)?;
            } else {
                self.commands.push(command);
            }
        }
        Ok(())
    }

    fn finished(
        &mut self,
        verb: &'static str,
        name: &'static str,
        prompt: String,
        killed: bool,
        finished: &Finished,
    ) -> Result<(), String> {
        self.done.push((verb, name, finished.code == Some(0)));
        match finished.code {
            Some(0) => {}
            // Refused: the name is taken, or not listed.
            Some(2) | None => return Ok(()),
            Some(_) if killed => return Ok(()),
            Some(code) => return Err(format!("{verb} {name} ended with {code}: {finished:?}")),
        }
        let said: serde_json::Value = serde_json::from_str(&finished.stdout)
            .map_err(|error| format!("{verb} {name}: {error}: {finished:?}"))?;
        let id: Option<SessionId> = said["id"].as_str().and_then(|id| id.parse().ok());
        let id = id.ok_or_else(|| format!("{verb} {name} names no id: {finished:?}"))?;
        match verb {
            "add" => {
                self.oracle.added(id, prompt);
                Ok(())
            }
            "rm" => self.oracle.removed(&self.test_box, id),
            _ => Ok(()),
        }
    }

    /// A name that only one command was about is as that command left it.
    fn last_word_counts(&self) -> Result<(), String> {
        let registry = self.oracle.store.read().map_err(|it| it.to_string())?.registry;
        for name in NAMES {
            let about: Vec<_> = self.done.iter().filter(|(_, it, _)| *it == name).collect();
            let [(verb, _, true)] = about.as_slice() else { continue };
            let entry = registry.entries().find(|(it, _)| it.as_str() == name);
            let now = entry.map(|(_, entry)| entry.stopped);
            let due = match *verb {
                "rm" => None,
                "stop" => Some(true),
                _ => Some(false),
            };
            if now != due {
                return Err(format!("{verb} {name} was acknowledged and is not so: {now:?}"));
            }
        }
        Ok(())
    }
}

/// Starts a supervisor if none runs.
fn supervise(test_box: &mut TestBox, supervisor: &mut Option<Supervisor>) {
    if supervisor.as_mut().is_none_or(Supervisor::has_ended) {
        *supervisor = Some(test_box.supervise(&["supervise"]));
    }
}

/// Plays the scripts of one box's life.
fn live(program: &str, seed: u64, scripts: usize) -> Result<(), String> {
    let mut dice = Dice(seed);
    let mut arena = Arena::new(program);
    let mut history = String::new();
    for number in 0..scripts {
        let script = dice.script();
        if let Err(problem) = arena.play(&script) {
            let story = arena.oracle.story();
            drop(arena);
            let shortest = shortest(program, &script);
            return Err(format!(
                "{problem}\nseed {seed:#x}, script {number}: {script:?}\n\
                 before it:\n{history}{shortest}the journal:\n{story}"
            ));
        }
        let _ = writeln!(history, "  {script:?}");
    }
    Ok(())
}

/// Leaves out one step after the other, as long as what is left fails in a box of its own.
fn shortest(program: &str, script: &[Step]) -> String {
    let failure = |script: &[Step]| Arena::new(program).play(script).err();
    let Some(mut problem) = failure(script) else {
        return "the script alone does not fail again\n".to_owned();
    };
    let mut script = script.to_vec();
    let mut at = 0;
    while at < script.len() {
        let mut shorter = script.clone();
        shorter.remove(at);
        match failure(&shorter) {
            Some(why) => (script, problem) = (shorter, why),
            None => at += 1,
        }
    }
    format!("alone and shortened: {script:?}: {problem}\n")
}

/// Plays `count` scripts in boxes of their own, several boxes at a time.
pub(crate) fn play(program: &str, seed: u64, count: usize, boxes_at_a_time: usize) {
    let lives = count.div_ceil(SCRIPTS);
    let next = AtomicUsize::new(0);
    let worker = || -> Result<(), String> {
        loop {
            let life = next.fetch_add(1, Ordering::Relaxed);
            if life >= lives {
                return Ok(());
            }
            let offset = u64::try_from(life).expect("BUG: a count is shorter than u64");
            live(program, seed.wrapping_add(offset), SCRIPTS.min(count - life * SCRIPTS))
                .inspect_err(|_| next.store(lives, Ordering::Relaxed))?;
        }
    };
    let failures: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..boxes_at_a_time).map(|_| scope.spawn(worker)).collect();
        let results =
            workers.into_iter().map(|it| it.join().unwrap_or_else(|_| Err("a panic".to_owned())));
        results.filter_map(Result::err).collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
