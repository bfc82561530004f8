//! What must be true of a box at rest, and of everything that happened in it.
//!
//! At rest: exactly the wanted sessions run, once each, and nothing else carries their marks (P3,
//! P4). Of the whole history: no agent met another one in its session or conversation (P4), no
//! conversation or prompt went to another session (P3), nothing was started after its `rm`
//! returned (P3), and no transcript holds a prompt twice (P5).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use agent_box_session::paths::Paths;
use agent_box_session::{LaunchId, LaunchRecord, LaunchState, SessionId};
use agent_box_session_store::{Event, Filter, Store};
use agent_box_testkit::{Launch, TestBox, process, within};

/// Looks at one box through its files, its processes and its tmux server.
#[derive(Debug)]
pub(crate) struct Oracle {
    pub(crate) store: Store,
    /// The prompt of every session that was added with one.
    prompts: BTreeMap<SessionId, String>,
    /// The removed sessions, with the launches that each had when its `rm` returned.
    removed: BTreeMap<SessionId, usize>,
}

impl Oracle {
    pub(crate) fn new(test_box: &TestBox) -> Self {
        let paths = Paths::new(test_box.home(), test_box.tmux().socket());
        let store = Store::open(paths).expect("open the box's store");
        Self { store, prompts: BTreeMap::new(), removed: BTreeMap::new() }
    }

    /// Notes a session that was added with a prompt like no other.
    pub(crate) fn added(&mut self, id: SessionId, prompt: String) {
        self.prompts.insert(id, prompt);
    }

    /// Notes that the `rm` of a session has returned, and checks what it promised: no agent runs,
    /// and neither does anything else of the session but a launcher that its gate will refuse.
    ///
    /// # Errors
    /// With what still runs.
    pub(crate) fn removed(&mut self, test_box: &TestBox, id: SessionId) -> Result<(), String> {
        let of_session = self.launches_by_session(test_box);
        let launches = of_session.get(&id).map_or(&[][..], Vec::as_slice);
        self.removed.entry(id).or_insert(launches.len());
        let alive: Vec<i32> =
            launches.iter().filter(|launch| launch.is_alive()).map(Launch::pid).collect();
        if !alive.is_empty() {
            return Err(format!("P3: rm of {id} returned while its agents {alive:?} live"));
        }
        let sessions = self.sessions_of_launches();
        for (pid, launch) in marked(test_box) {
            let arguments = process::arguments(pid);
            let is_launcher = arguments.get(1).is_some_and(|word| word == "pane");
            if sessions.get(&launch) == Some(&id) && !is_launcher && process::is_alive(pid) {
                return Err(format!("P3: rm of {id} returned while {pid} {arguments:?} lives"));
            }
        }
        Ok(())
    }

    /// Waits until the box is at rest, doing something at each look, and checks its whole history.
    ///
    /// # Errors
    /// With what does not hold.
    pub(crate) fn settled(
        &self,
        test_box: &mut TestBox,
        seconds: u64,
        mut meanwhile: impl FnMut(&mut TestBox),
    ) -> Result<(), String> {
        let mut problem = String::new();
        // Several times in a row, for a box that is only passing through is not at rest.
        let mut in_a_row = 0;
        let rested = within(seconds).becomes(|| {
            meanwhile(test_box);
            match self.at_rest(test_box) {
                Ok(()) => in_a_row += 1,
                Err(why) => (problem, in_a_row) = (why, 0),
            }
            in_a_row == 4
        });
        if !rested {
            return Err(format!("not at rest within {seconds} s: {problem}"));
        }
        self.history(test_box)
    }

    /// Whether exactly the wanted sessions run.
    ///
    /// # Errors
    /// With the first thing that is not so.
    pub(crate) fn at_rest(&self, test_box: &TestBox) -> Result<(), String> {
        let registry = self.store.read().map_err(|error| error.to_string())?.registry;
        let launches = self.launches_by_session(test_box);
        let said = user_messages(test_box);
        let mut wanted: BTreeMap<LaunchId, SessionId> = BTreeMap::new();
        let mut names = BTreeSet::new();
        for (name, entry) in registry.entries() {
            let id = entry.id.ok_or_else(|| format!("{name} has no id"))?;
            if entry.stopped {
                continue;
            }
            let record = self.store.launch(id).map_err(|error| error.to_string())?;
            let record = record.ok_or_else(|| format!("{name} has no launch"))?;
            is_live(&record, entry.generation).map_err(|why| format!("{name} {why}"))?;
            let of_session = launches.get(&id).map_or(&[][..], Vec::as_slice);
            let living: Vec<&Launch> = of_session.iter().filter(|it| it.is_alive()).collect();
            match living.as_slice() {
                [one] if launch_of(one) == Some(record.launch) => {}
                [] => return Err(format!("{name} has no agent")),
                several => return Err(format!("{name} has other agents: {several:?}")),
            }
            if let Some(prompt) = self.prompts.get(&id)
                && !said.contains(prompt)
                && handings(of_session, prompt) < LaunchRecord::MOST_HANDINGS as usize
            {
                return Err(format!("P5: the prompt of {name} {id} did not arrive"));
            }
            names.insert(name.to_string());
            wanted.insert(record.launch, id);
        }
        for (pid, launch) in marked(test_box) {
            if !wanted.contains_key(&launch) {
                let words = process::arguments(pid);
                return Err(format!("{pid} {words:?} carries the unwanted launch {launch}"));
            }
        }
        let terminals =
            test_box.tmux().ask(&["list-sessions", "-F", "#{session_name} #{@agent_box_id}"]);
        let seen: BTreeSet<String> = terminals.lines().map(str::to_owned).collect();
        let due: BTreeSet<String> = registry
            .entries()
            .filter(|(name, _)| names.contains(name.as_str()))
            .filter_map(|(name, entry)| Some(format!("{name} {}", entry.id?)))
            .collect();
        if seen != due {
            return Err(format!("tmux has {seen:?} and should have {due:?}"));
        }
        Ok(())
    }

    /// Whether all that happened so far was allowed to.
    ///
    /// # Errors
    /// With the broken promise.
    pub(crate) fn history(&self, test_box: &TestBox) -> Result<(), String> {
        let doubles = test_box.stubs().doubles();
        if !doubles.is_empty() {
            return Err(format!("P4: two agents at once: {doubles:?}"));
        }
        let refusals = test_box.stubs().refusals();
        if !refusals.is_empty() {
            return Err(format!("an agent refused its arguments: {refusals:?}"));
        }
        let launches = self.launches_by_session(test_box);
        let mut owner: BTreeMap<&str, SessionId> = BTreeMap::new();
        for (id, of_session) in &launches {
            for launch in of_session {
                let conversation = launch.conversation();
                if let Some(other) = owner.insert(conversation, *id)
                    && other != *id
                {
                    return Err(format!("P3: {conversation} went from {other} to {id}"));
                }
                let stolen = self
                    .prompts
                    .iter()
                    .find(|(other, prompt)| *other != id && launch.has_prompt(prompt));
                if let Some((other, _)) = stolen {
                    return Err(format!("P3: the prompt of {other} reached {id}"));
                }
            }
            if let Some(before) = self.removed.get(id)
                && of_session.len() > *before
            {
                return Err(format!("P3: {id} was started after its rm had returned"));
            }
        }
        let said = user_messages(test_box);
        for (id, prompt) in &self.prompts {
            let times = said.iter().filter(|text| *text == prompt).count();
            if times > 1 {
                return Err(format!("P5: the prompt of {id} arrived {times} times"));
            }
        }
        Ok(())
    }

    /// The launches that became an agent, by session.
    pub(crate) fn launches_by_session(
        &self,
        test_box: &TestBox,
    ) -> BTreeMap<SessionId, Vec<Launch>> {
        let launches = test_box.stubs().launches();
        // Read afterwards: the journal knows a launch before it becomes an agent.
        let sessions = self.sessions_of_launches();
        let mut by_session: BTreeMap<SessionId, Vec<Launch>> = BTreeMap::new();
        for launch in launches {
            let session = launch_of(&launch).and_then(|id| sessions.get(&id));
            let session = session.expect("an agent was started that the journal does not know");
            by_session.entry(*session).or_default().push(launch);
        }
        by_session
    }

    fn sessions_of_launches(&self) -> BTreeMap<LaunchId, SessionId> {
        let events = self.events();
        events.iter().filter_map(|event| Some((event.launch?, event.session?))).collect()
    }

    /// The journal, oldest first.
    pub(crate) fn events(&self) -> Vec<Event> {
        self.store.journal().read(&Filter::default(), usize::MAX).expect("read the journal")
    }

    /// The journal's last lines, for a failure's text.
    pub(crate) fn story(&self) -> String {
        let events = self.events();
        let last = events.iter().skip(events.len().saturating_sub(40));
        let line = |event: &Event| {
            let launch = event.launch.map_or(String::new(), |it| it.to_string());
            let name = event.name.as_ref().map_or(String::new(), ToString::to_string);
            format!("  {} {} {name} {launch} {}\n", event.at, event.kind.as_str(), event.text)
        };
        last.map(line).collect()
    }
}

/// Whether a record says that an agent runs for this generation.
fn is_live(record: &LaunchRecord, generation: u64) -> Result<(), String> {
    if record.generation != generation {
        return Err(format!("runs generation {} and not {generation}", record.generation));
    }
    match &record.state {
        LaunchState::Starting { agent: Some(_), .. } => Ok(()),
        state => Err(format!("is not live: {state:?} {:?}", record.trouble)),
    }
}

fn launch_of(launch: &Launch) -> Option<LaunchId> {
    launch.variable("AGENT_BOX_LAUNCH_ID")?.parse().ok()
}

/// In how many launches the prompt was handed over, byte for byte.
fn handings(launches: &[Launch], prompt: &str) -> usize {
    launches.iter().filter(|launch| launch.has_prompt(prompt)).count()
}

/// The living processes of the box that carry a launch.
fn marked(test_box: &TestBox) -> Vec<(i32, LaunchId)> {
    let mark = |pid| process::variable(pid, "AGENT_BOX_LAUNCH_ID")?.parse().ok();
    test_box.processes().into_iter().filter_map(|pid| Some((pid, mark(pid)?))).collect()
}

/// What users said in all transcripts of the stub claude.
fn user_messages(test_box: &TestBox) -> Vec<String> {
    let projects = test_box.home().join(".claude/projects");
    let directories = fs::read_dir(projects).into_iter().flatten().flatten();
    let files = directories.flat_map(|it| fs::read_dir(it.path()).into_iter().flatten().flatten());
    let mut messages = Vec::new();
    for file in files {
        let text = fs::read_to_string(file.path()).unwrap_or_default();
        for line in text.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            if line["type"] == "user"
                && let Some(content) = line["message"]["content"].as_str()
            {
                messages.push(content.to_owned());
            }
        }
    }
    messages
}
