//! A full disk: 503 to senders, nothing half stored, and it goes on when there is room.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use agent_box_webhook::inbox::{
    Criteria, Inbox, InboxError, InboxLimits, Incoming, Retention, Stored,
};

use super::rig::{LIMITS, Rig, decline, incoming};

/// A small tmpfs over a directory; unmounted when dropped.
struct SmallDisk<'p>(&'p Path);

impl<'p> SmallDisk<'p> {
    /// `None` where mounting is not allowed.
    fn over(path: &'p Path) -> Option<Self> {
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs"])
            .arg(path)
            .output()
            .ok()?;
        mount.status.success().then_some(Self(path))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

fn delivery(number: usize, size: usize) -> Incoming {
    let body = format!("{number:09}").repeat(size / 9);
    incoming("github", &format!("d{number}"), body.as_bytes(), 0)
}

/// Fills what is left of the disk.
fn fill(path: &Path) {
    let mut filler = File::create(path).unwrap();
    for size in [64 << 10, 4096, 512] {
        while filler.write_all(&vec![0; size]).is_ok() {}
    }
}

#[tokio::test]
async fn a_full_disk_refuses_deliveries_and_is_survived() {
    let directory = tempfile::tempdir().unwrap();
    let Some(_disk) = SmallDisk::over(directory.path()) else {
        eprintln!("not run: mounting a tmpfs needs root");
        return;
    };
    let path = directory.path().join("inbox.db");
    let inbox = Inbox::open(&path, LIMITS).unwrap();
    let mut stored = Vec::new();
    let mut refused = 0;
    for number in 0..400 {
        match inbox.store(delivery(number, 9000)).await.unwrap() {
            Stored::New(sequence) => stored.push(sequence),
            Stored::Full(why) => {
                assert!(why.contains("no room on the disk"), "{why}");
                refused += 1;
            }
            Stored::Duplicate { .. } => panic!("never sent before"),
        }
        if refused == 5 {
            break;
        }
    }
    assert!(stored.len() > 10 && refused == 5, "{} stored, {refused} refused", stored.len());
    let filler = directory.path().join("filler");
    fill(&filler);
    for number in 500..505 {
        let large = inbox.store(delivery(number, 90_000)).await.unwrap();
        assert!(matches!(large, Stored::Full(_)), "{large:?}");
    }
    let all = stored.clone();
    let error =
        inbox.write(move |tx| all.iter().try_for_each(|it| decline(tx, *it, 5))).await.err();
    assert!(error.as_ref().is_none_or(InboxError::is_full), "its own writing: {error:?}");

    // Nothing of what was refused is there, before and after a restart.
    let check = async |inbox: &Inbox| {
        let all = inbox
            .read(|look| {
                let all = look.list(&Criteria::default(), 999)?;
                let body = |sequence| look.body(sequence).map(|it| it.is_some());
                all.into_iter().map(|it| Ok((it.sequence, body(it.sequence)?))).collect()
            })
            .await;
        let mut all: Vec<(u64, bool)> = all.unwrap();
        all.reverse();
        assert_eq!(all, stored.iter().map(|it| (*it, true)).collect::<Vec<_>>());
    };
    check(&inbox).await;
    fs::remove_file(&filler).unwrap();
    drop(inbox);
    let disk = Command::new("mount").args(["-o", "remount,size=8m"]).arg(directory.path()).status();
    assert!(disk.unwrap().success());
    let inbox = Inbox::open(&path, LIMITS).unwrap();
    check(&inbox).await;
    for number in 500..505 {
        assert!(matches!(inbox.store(delivery(number, 90_000)).await.unwrap(), Stored::New(_)));
    }
}

#[tokio::test]
async fn it_works_again_without_a_restart_when_space_is_back() {
    let directory = tempfile::tempdir().unwrap();
    let Some(_disk) = SmallDisk::over(directory.path()) else {
        eprintln!("not run: mounting a tmpfs needs root");
        return;
    };
    let inbox = Inbox::open(&directory.path().join("inbox.db"), LIMITS).unwrap();
    let filler = directory.path().join("filler");
    for round in 0..3 {
        fill(&filler);
        let while_full = inbox.store(delivery(round, 200_000)).await.unwrap();
        assert!(matches!(while_full, Stored::Full(_)), "{while_full:?}");
        fs::remove_file(&filler).unwrap();
        let stored = inbox.store(delivery(round, 20_000)).await.unwrap();
        assert!(matches!(stored, Stored::New(_)), "{stored:?}");
    }
}

#[tokio::test]
async fn some_of_the_disk_and_of_the_file_is_kept_for_writing_down_what_becomes_of_deliveries() {
    let rig = Rig::with(InboxLimits { disk_reserve_bytes: 1 << 60, ..LIMITS });
    let Stored::Full(why) = rig.store(delivery(1, 9)).await else { panic!("stored") };
    assert!(why.ends_with("bytes are left on the disk"), "{why}");

    let rig = Rig::with(InboxLimits { file_bytes: 300 << 10, ..LIMITS });
    let mut stored = 0;
    let why = loop {
        match rig.store(delivery(stored, 9000)).await {
            Stored::New(_) => stored += 1,
            Stored::Full(why) => break why,
            Stored::Duplicate { .. } => panic!("never sent before"),
        }
    };
    assert!(stored > 5 && why.contains("the inbox has its full size"), "{stored}: {why}");
    let all = u64::try_from(stored).unwrap();
    rig.write(move |tx| (1..=all).try_for_each(|it| decline(tx, it, 5))).await;
    let retention = Retention { body_bytes: 0, ..Retention::default() };
    rig.write(move |tx| tx.retain(10, &retention)).await;
    assert!(matches!(rig.store(delivery(stored, 9000)).await, Stored::New(_)), "there is room");
}
