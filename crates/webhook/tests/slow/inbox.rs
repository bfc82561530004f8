//! The inbox for long: many kills, many random operations, many deliveries.

#[path = "../it/inbox/crash.rs"]
mod crash;
#[path = "../it/inbox/model.rs"]
mod model;
#[path = "../it/inbox/rig.rs"]
#[allow(dead_code, reason = "the other tests use the rest of it")]
mod rig;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use agent_box_webhook::inbox::{Load, Look};
use agent_box_webhook::now_ms;

use rig::{Rig, decline};

#[tokio::test]
async fn what_was_acknowledged_survives_twenty_kills() {
    crash::kill_again_and_again(20).await;
}

#[test]
fn it_does_what_a_simple_model_does_in_a_hundred_cases() {
    model::compare_both(100);
}

/// Resident memory of this process, in KiB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// So many small appends a second reach this disk one by one.
fn flushes_a_second(directory: &Path) -> u64 {
    let mut file = File::create(directory.join("flushes")).unwrap();
    let start = now_ms();
    let mut count = 0;
    while now_ms() < start + 1000 {
        file.write_all(&[0; 512]).unwrap();
        file.sync_data().unwrap();
        count += 1;
    }
    count
}

#[tokio::test]
async fn a_hundred_thousand_deliveries_leave_memory_as_it_was() {
    let rig = Rig::new();
    let flushes = flushes_a_second(rig.path().parent().unwrap());
    let store = async |name, senders, each| {
        let (start, commits) = (now_ms(), rig.inbox().commits());
        let stored = Load { name, senders, each, size: 1024 }.store(rig.inbox()).await.unwrap();
        let rate = stored * 1000 / (now_ms() - start).max(1);
        let commits = rig.inbox().commits() - commits;
        println!(
            "{stored} of 1 KiB by {senders}: {rate}/s, {commits} commits; \
             the disk does {flushes} flushes/s; {} KiB resident",
            resident()
        );
    };
    // Everything is warm before memory is looked at.
    store("warm", 1, 1000).await;
    settle_all(&rig).await;
    let before = resident();
    for (name, senders, each) in
        [("one", 1, 4_000), ("eight", 8, 2_000), ("many", 64, 625), ("more", 64, 625)]
    {
        store(name, senders, each).await;
    }
    settle_all(&rig).await;
    let after = resident();
    println!("{before} KiB resident before, {after} KiB after 100,000");
    assert!(after < before + (16 << 10), "{before} KiB before, {after} KiB after");
    let counters = rig.inbox().read(Look::counters).await.unwrap();
    assert_eq!(counters.unsettled, 0);
}

/// What the engine does with deliveries that nobody wants.
async fn settle_all(rig: &Rig) {
    loop {
        let some = rig.inbox().read(|look| look.unmatched(200)).await.unwrap();
        if some.is_empty() {
            return;
        }
        rig.write(move |tx| some.iter().try_for_each(|it| decline(tx, it.delivery.sequence, 1)))
            .await;
    }
}
