//! Many writers of filter files at once: real processes, threads with handles of their own, and
//! the daemon's stamps between them.

use agent_box_event::{FilterDocument, TopicPattern, Wish};
use agent_box_webhook::filters::{EditError, Owner, Stamps, edit, read};
use agent_box_webhook::now_ms;

use crate::verbs::{Done, Scene};

fn topics(scene: &Scene, owner: &Owner) -> Vec<String> {
    let file = read(&scene.paths(), owner);
    let rows = &file.filter().expect("a filter").rows;
    let mut topics: Vec<String> = rows.iter().map(|row| row.pattern.to_string()).collect();
    topics.sort();
    topics
}

#[test]
fn twelve_parallel_subscribes_keep_twelve() {
    let scene = Scene::in_session();
    let owner = Owner::Session("alice-main".to_owned());
    for round in 0..3 {
        let names: Vec<String> = (0..12).map(|number| format!("o/r{round}-{number:02}")).collect();
        let children: Vec<_> = names
            .iter()
            .map(|name| {
                let mut command = scene.command(&["subscribe", name, "--ttl", "0"]);
                command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
                command.spawn().unwrap()
            })
            .collect();
        for child in children {
            Done::of(child.wait_with_output().unwrap()).expect(0);
        }
        let expected: Vec<String> = names.iter().map(|name| format!("github:{name}")).collect();
        let kept = topics(&scene, &owner);
        let of_round: Vec<&String> = kept.iter().filter(|it| expected.contains(it)).collect();
        assert_eq!(of_round.len(), 12, "{kept:?}");
        assert_eq!(kept.len(), 12 * (round + 1));
    }
}

#[test]
fn threads_and_stamps_lose_nothing_of_each_other() {
    let scene = Scene::in_session();
    let (paths, owner) = (scene.paths(), Owner::Session("alice-main".to_owned()));
    let subscribe = |topic: String| -> Result<(), EditError> {
        let pattern = TopicPattern::parse(&topic).unwrap();
        let change = |document: &mut FilterDocument| {
            document.subscribe(&pattern, &Wish::default(), owner.audience(), now_ms())
        };
        edit(&paths, &owner, now_ms(), change).map(|_| ())
    };
    subscribe("o/busy".to_owned()).unwrap();
    let busy = TopicPattern::parse("o/busy").unwrap();
    let stamp = |last: u64| {
        let mut stamps = Stamps::default();
        stamps.note(&owner, &busy, last);
        for due in stamps.take_due(last) {
            due.write(&paths, now_ms()).unwrap();
        }
    };
    let start = now_ms();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let subscribe = &subscribe;
            scope.spawn(move || {
                for number in 0..10 {
                    subscribe(format!("o/t{thread}-{number}")).unwrap();
                }
            });
        }
        for number in 1..=20 {
            stamp(start + number);
        }
    });
    assert_eq!(topics(&scene, &owner).len(), 41);
    let file = read(&paths, &owner);
    let row = file.filter().unwrap().rows.iter().find(|row| row.pattern.is_same(&busy)).unwrap();
    assert_eq!(row.last_activity_ms, Some(start + 20));
    let names = std::fs::read_dir(paths.state()).unwrap().count();
    assert_eq!(names, 2, "no temporary file is left");
}
