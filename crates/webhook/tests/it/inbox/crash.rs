//! SIGKILL: what was acknowledged is there.

use std::env;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use agent_box_event::DeliveryId;
use agent_box_webhook::inbox::{Inbox, Look, Reference, Stored};
use tokio::task::JoinSet;

use super::rig::{LIMITS, answer, incoming, new_batch, wait};

const PATH: &str = "INBOX_TEST_PATH";
const ROUND: &str = "INBOX_TEST_ROUND";

/// This very test program, run again to store until it is killed.
fn storing(path: &Path, round: usize) -> Child {
    // Without the program's name: this file is part of two.
    let (_, module) = module_path!().split_once("::").unwrap();
    Command::new(env::current_exe().unwrap())
        .args(["--exact", &format!("{module}::stores_until_it_is_killed"), "--nocapture"])
        .env(PATH, path)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).unwrap();
    out.flush().unwrap();
}

#[tokio::test]
async fn stores_until_it_is_killed() {
    let (Some(path), Some(round)) = (env::var_os(PATH), env::var_os(ROUND)) else { return };
    let round = round.into_string().unwrap();
    let inbox = Inbox::open(&PathBuf::from(path), LIMITS).unwrap();
    let mut tasks = JoinSet::new();
    for sender in 0..8 {
        let (inbox, round) = (inbox.clone(), round.clone());
        tasks.spawn(async move {
            for number in 0.. {
                let id = format!("r{round}-{sender}-{number}");
                // Large ones too, so that kills fall into long writes and checkpoints.
                let body = id.repeat(if number % 7 == 0 { 4000 } else { 20 });
                let stored = inbox.store(incoming("github", &id, body.as_bytes(), 1)).await;
                let Stored::New(sequence) = stored.unwrap() else { panic!("{id} is not new") };
                say(&format!("\nstored {id}\n"));
                if sender == 0 {
                    batch(&inbox, sequence).await;
                }
            }
        });
    }
    tasks.join_all().await;
}

/// The whole way of a batch, one transition at a time.
async fn batch(inbox: &Inbox, sequence: u64) {
    inbox.write(move |tx| wait(tx, sequence, 2)).await.unwrap();
    let frozen = new_batch(&[sequence], 3);
    let batch = inbox.write(move |tx| tx.freeze(&frozen)).await.unwrap();
    say(&format!("\nfrozen {sequence} {}\n", batch.number));
    inbox.write(move |tx| tx.attempt(batch, 4)).await.unwrap();
    say(&format!("\nattempted {sequence} {}\n", batch.number));
    inbox.write(move |tx| tx.settle(batch, &answer("s"), 5)).await.unwrap();
    say(&format!("\nsettled {sequence} {}\n", batch.number));
}

/// Kills a receiver that many times, and looks what is left.
pub(crate) async fn kill_again_and_again(rounds: usize) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inbox.db");
    let mut acknowledged = Vec::new();
    for round in 0..rounds {
        let mut child = storing(&path, round);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Killed a little later each time, in the middle of whatever it does.
        let mut said = Vec::new();
        while said.len() < 5 + 17 * round {
            let line = lines.next().expect("it ended by itself").unwrap();
            if ["stored ", "frozen ", "attempted ", "settled "]
                .iter()
                .any(|it| line.starts_with(it))
            {
                said.push(line);
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let rest = lines.map_while(Result::ok);
        said.extend(rest.filter(|line| line.starts_with("stored ")));
        acknowledged.extend(said);

        let integrity: String = rusqlite::Connection::open(&path)
            .unwrap()
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(integrity, "ok", "round {round}");
        let inbox = Inbox::open(&path, LIMITS).unwrap();
        let said = acknowledged.clone();
        inbox
            .read(move |look| {
                for line in &said {
                    let words: Vec<&str> = line.split(' ').collect();
                    if let ["stored", id] = words[..] {
                        let reference = Reference::Id(None, DeliveryId::parse(id).unwrap());
                        let found = look.find(&reference)?;
                        assert_eq!(found.len(), 1, "{id}");
                        assert!(look.body(found[0].sequence)?.is_some(), "{id} has no body");
                        continue;
                    }
                    let [word, sequence, number] = words[..] else { panic!("{line}") };
                    let delivery = look.delivery(sequence.parse().unwrap())?.unwrap();
                    let batch = look.batch(number.parse().unwrap())?.unwrap();
                    match word {
                        "attempted" => assert!(batch.attempts >= 1, "{line}"),
                        "settled" => assert_eq!(delivery.state.to_string(), "spawned (s)"),
                        _ => {}
                    }
                }
                Ok(())
            })
            .await
            .unwrap();
        // The one that was on its way is there, to be run again.
        let frozen = inbox.read(Look::unsettled_batches).await.unwrap();
        assert!(frozen.len() <= 1, "round {round}");
        for batch in frozen {
            let id = batch.id;
            inbox.write(move |tx| tx.attempt(id, 9)).await.unwrap();
            inbox.write(move |tx| tx.settle(id, &answer("s"), 10)).await.unwrap();
        }
    }
    assert!(acknowledged.len() > 20 * rounds, "{}", acknowledged.len());
}

// More rounds are in the slow tests.
#[tokio::test]
async fn what_was_acknowledged_survives_kill_9() {
    kill_again_and_again(4).await;
}
