//! kill -9 of a writer at every point of a write.

use std::fs;
use std::path::Path;

use agent_box_session::{Agent, SessionSpec};

use crate::child;
use crate::home::{Home, name, open, operator, put};

const VARIABLE: &str = "AGENT_BOX_TESTPOINTS";

/// The points that a removal passes, in order.
fn points(home: &Path, steer: &Path) -> Vec<String> {
    put(&steer.join("seen"), b"");
    let task = child::command(home, "rm s0").env(VARIABLE, steer).spawn().unwrap();
    child::succeed(task);
    let seen = fs::read_to_string(steer.join("seen")).unwrap();
    fs::remove_file(steer.join("seen")).unwrap();
    let mut points: Vec<String> = seen.lines().map(str::to_owned).collect();
    points.dedup();
    points
}

/// Kills a writer `rounds` times, at each point in turn, and looks what is left.
pub(crate) fn kill_at_every_point(rounds: usize) {
    let home = Home::new();
    let steer = tempfile::tempdir().unwrap();
    for number in 0..18 {
        home.add(&format!("s{number}"));
    }
    // Something of another program in each entry.
    home.write(home.text().replace("\"hasRun\"", "\"kept\": 1.50,\n      \"hasRun\"").as_bytes());
    let points = points(home.path(), steer.path());
    assert!(points.len() >= 14, "{points:?}");
    assert!(points.iter().all(|point| point.starts_with("store.")), "{points:?}");
    home.add("s0");

    for round in 0..rounds {
        let point = &points[round % points.len()];
        let key = format!("s{}", 1 + round % 17);
        let new = format!("n{round}");
        let task = match round / points.len() % 3 {
            0 => format!("rm {key}"),
            1 => format!("add {new}"),
            _ => format!("stop {key}"),
        };
        let before = home.text();
        let before_names = home.names();
        put(&steer.path().join(point), b"kill");
        let mut child =
            child::command(home.path(), &task).env(VARIABLE, steer.path()).spawn().unwrap();
        let status = child.wait().unwrap();
        fs::remove_file(steer.path().join(point)).unwrap();
        let passes = !point.contains("tombstone") || task.starts_with("rm");
        assert_eq!(child::was_killed(status), passes, "{task} at {point}");

        // The old document or the new one, never less.
        let after = home.text();
        let changed = after != before;
        let names = home.names();
        let mut expect = before_names.clone();
        match task.split_once(' ').unwrap() {
            ("rm", key) if changed => expect.retain(|name| name != key),
            ("add", key) if changed => expect.push(key.to_owned()),
            _ => {}
        }
        assert_eq!(names, expect, "{task} at {point}");
        let kept = |text: &str| text.matches("\"kept\": 1.50").count();
        let lost = usize::from(changed && task.starts_with("rm"));
        assert!(kept(&after) + lost >= kept(&before), "{task} at {point}");

        // A damaged file now is repaired to that document, or to the one that was under way.
        if round % 7 == 0 {
            home.write(b"");
            home.store.repair("test").unwrap();
            assert!(home.text() == after || !changed, "{task} at {point} lost an edit to repair");
        }

        // What the dead one left does not matter to the next one, which makes all whole again.
        let store = open(home.path());
        store
            .transact(operator("mend"), |tx| {
                tx.set_extra("rounds", round.into());
                for number in 0..18 {
                    let key = name(&format!("s{number}"));
                    if tx.registry.entry(&key).is_none() {
                        tx.add(key, SessionSpec::new(Agent::Shell), "test")?;
                    }
                }
                if tx.registry.entry(&name(&new)).is_some() {
                    tx.delist(&name(&new), "test").unwrap();
                }
                Ok::<_, agent_box_session::AddRefusal>(())
            })
            .unwrap();
        let temporary = |path: &Path| {
            let files = Home::files(path);
            files.into_iter().map(|(path, _)| path).find(|path| {
                let name = path.file_name().unwrap().to_string_lossy();
                name.starts_with(".agent-box-") || name.ends_with(".pending")
            })
        };
        for directory in [store.paths().config(), store.paths().state(), store.paths().history()] {
            assert_eq!(temporary(&directory), None, "{task} at {point}");
        }
        fs::read_dir(store.paths().config())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.to_string_lossy().contains(".damaged-"))
            .for_each(|path| fs::remove_file(path).unwrap());
        // Nobody that is listed has a tombstone.
        for (name, entry) in store.read().unwrap().registry.entries() {
            let tombstone = store.tombstone(entry.id.unwrap()).unwrap();
            assert!(tombstone.is_none(), "{name} after {task} at {point}");
        }
    }
}
