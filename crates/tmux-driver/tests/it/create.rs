//! Creating sessions: atomic, tagged, and exactly the given program in the given directory.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;
use std::sync::Barrier;

use agent_box_tmux_driver::{Created, Name, NewSession, Tmux, TmuxError};

use crate::rig::{Rig, tags, wait};

/// Writes its arguments, then its directory, to the file named by `$0`.
const REPORT: &str = r#"{ printf '%s\0' "$@"; pwd; } >"$0.new" && mv "$0.new" "$0""#;

fn create(
    tmux: &Tmux,
    directory: &Path,
    command: &[OsString],
    environment: &[(OsString, OsString)],
) -> Result<Created, TmuxError> {
    tmux.create(&NewSession {
        name: &Name::new("s").unwrap(),
        tags: &tags("s"),
        directory,
        command,
        environment,
        size: (100, 30),
    })
}

fn report(rig: &Rig, args: &[OsString]) -> Vec<OsString> {
    let mut command: Vec<OsString> = ["sh", "-c", REPORT].map(OsString::from).into();
    command.push(rig.path().join("report").into());
    command.extend_from_slice(args);
    command
}

#[test]
fn of_twenty_parallel_creators_one_creates_and_nineteen_are_told() {
    for started in [false, true] {
        let rig = Rig::new();
        if started {
            rig.tmux.start_server().unwrap();
        }
        let barrier = Barrier::new(20);
        let results: Vec<_> = std::thread::scope(|scope| {
            let creator = || {
                let tmux = rig.tmux.clone().with_deadline(std::time::Duration::from_secs(5));
                barrier.wait();
                create(&tmux, rig.path(), &["sleep".into(), "1000000".into()], &[])
            };
            let threads: Vec<_> = (0..20).map(|_| scope.spawn(creator)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let created = results.iter().filter(|result| result.is_ok()).count();
        let duplicate = |result: &&Result<_, _>| matches!(result, Err(TmuxError::Duplicate { name }) if name == "s");
        assert_eq!((created, results.iter().filter(duplicate).count()), (1, 19), "{results:?}");
        assert_eq!(rig.names(), ["s"]);
    }
}

#[test]
fn a_session_is_created_and_tagged_in_one_round_trip() {
    let rig = Rig::started();
    let before = rig.tmux.round_trips();
    let created = rig.idle("s");
    assert_eq!(rig.tmux.round_trips(), before + 1);
    let snapshot = rig.tmux.snapshot().unwrap();
    let session = &snapshot.sessions[0];
    assert_eq!((session.tmux_id, session.pane.pid), (created.session, created.pane_pid));
    let found = (session.store.as_deref(), session.id.as_deref(), session.launch.as_deref());
    assert_eq!(found, (Some("store-1"), Some("s"), Some("launch-of-s")));
}

#[test]
fn a_program_that_ends_at_once_was_created_and_tagged_all_the_same() {
    let rig = Rig::started();
    for _ in 0..20 {
        rig.run("s", &["/bin/true", "x"]).unwrap();
        wait(|| rig.names().is_empty());
    }
}

#[test]
fn every_argument_arrives_as_it_was_given() {
    let rig = Rig::new();
    let mut args: Vec<OsString> = [
        "",
        ";",
        ";;",
        "a;",
        "a\\;",
        "a;b",
        "\\",
        "a\\",
        "{",
        "}",
        "'",
        "\"",
        "$(touch x)",
        "`id`",
        "$HOME",
        "#{pid}",
        "#(touch x)",
        "line\nline",
        "\t",
        "é 협업 🚀",
        "-t",
        "--",
        "*",
        "%1",
        "~",
    ]
    .map(OsString::from)
    .into();
    args.push(OsString::from_vec(b"\xff\xfe".to_vec()));
    create(&rig.tmux, rig.path(), &report(&rig, &args), &[]).unwrap();
    let seen = rig.await_file("report");
    let mut expected: Vec<u8> = Vec::new();
    for arg in args {
        expected.extend(arg.into_vec());
        expected.push(0);
    }
    assert_eq!(&seen[..expected.len()], expected);
    assert!(!rig.path().join("x").exists());
}

#[test]
fn a_directory_is_taken_literally_and_runs_nothing() {
    for start_server in [false, true] {
        for directory in ["#(touch x)", "a #{pid} b", "проект é", "$(touch x);", "%H", "-c"]
        {
            let rig = Rig::new();
            if start_server {
                rig.tmux.start_server().unwrap();
            }
            let directory = rig.make_dir(directory);
            create(&rig.tmux, &directory, &report(&rig, &[]), &[]).unwrap();
            let seen = String::from_utf8(rig.await_file("report")).unwrap();
            assert_eq!(seen.trim_matches(['\0', '\n']), directory.to_str().unwrap());
            assert!(!rig.path().join("x").exists() && !directory.join("x").exists());
        }
    }
}

#[test]
fn a_directory_that_cannot_be_entered_is_refused_before_tmux_is_asked() {
    let rig = Rig::started();
    let before = rig.tmux.round_trips();
    let circle = rig.path().join("circle");
    std::os::unix::fs::symlink(&circle, &circle).unwrap();
    let file = rig.path().join("file");
    std::fs::File::create(&file).unwrap();
    for directory in [rig.path().join("missing"), circle, file] {
        let result = create(&rig.tmux, &directory, &["sleep".into(), "1".into()], &[]);
        let refused =
            matches!(&result, Err(TmuxError::Directory { directory: d, .. }) if *d == directory);
        assert!(refused, "{result:?}");
    }
    assert_eq!(rig.tmux.round_trips(), before);
}

#[test]
fn a_single_word_is_executed_and_not_read_by_a_shell() {
    let rig = Rig::new();
    let program = rig.path().join("a b; $(touch x)");
    std::fs::copy("/bin/cat", &program).unwrap();
    let created = create(&rig.tmux, rig.path(), &[program.clone().into()], &[]).unwrap();
    let running = || std::fs::read_link(format!("/proc/{}/exe", created.pane_pid));
    wait(|| running().is_ok_and(|running| running == program));
    assert!(!rig.path().join("x").exists());
}

#[test]
fn a_command_that_tmux_would_misread_is_refused() {
    let rig = Rig::new();
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    let variable = |name: &str| [(OsString::from(name), OsString::from("secret"))];
    for (command, environment) in [
        (words(&[]), vec![]),
        (words(&["a=b"]), vec![]),
        (words(&["a", "nul\0"]), vec![]),
        (words(&["a", "b"]), variable("").into()),
        (words(&["a", "b"]), variable("A=B").into()),
    ] {
        let error = create(&rig.tmux, rig.path(), &command, &environment).unwrap_err();
        assert!(matches!(error, TmuxError::Unfit { .. }), "{error:?}");
        assert!(!error.to_string().contains("secret"));
    }
    assert_eq!(rig.tmux.round_trips(), 0);
}

#[test]
fn a_session_gets_its_variables_byte_for_byte() {
    let rig = Rig::new();
    let values: [&[u8]; 6] = [b"a;", b"", b"line\nline", b"=x=", b"\xff", b"$(id) #{pid} '\""];
    let environment: Vec<(OsString, OsString)> = values
        .iter()
        .enumerate()
        .map(|(n, value)| (format!("V{n}").into(), OsString::from_vec(value.to_vec())))
        .collect();
    let script = r#"env -0 >"$0.new" && mv "$0.new" "$0""#;
    let command = ["sh".into(), "-c".into(), script.into(), rig.path().join("out").into()];
    create(&rig.tmux, rig.path(), &command, &environment).unwrap();
    let out = rig.await_file("out");
    let seen: Vec<&[u8]> = out.split(|byte| *byte == 0).collect();
    for (n, value) in values.iter().enumerate() {
        let line = [format!("V{n}=").as_bytes(), value].concat();
        assert!(seen.contains(&line.as_slice()), "V{n}");
    }
}

#[test]
fn a_command_of_exactly_the_limit_is_taken() {
    let rig = Rig::new();
    let with = |length: usize| {
        let command = ["sleep".into(), "1000000".into(), "0".repeat(length).into()];
        create(&rig.tmux, rig.path(), &command, &[])
    };
    let Err(TmuxError::TooLong { size, limit, .. }) = with(20_000) else { panic!("not refused") };
    let fits = 20_000 - (size - limit);
    assert!(matches!(with(fits + 1), Err(TmuxError::TooLong { size, .. }) if size == limit + 1));
    assert_eq!(rig.tmux.round_trips(), 0);
    with(fits).unwrap();
    // The limit is tmux's own: `display-message -p` is 19 bytes of it.
    assert!(rig.raw(&["display-message", "-p", &"x".repeat(limit - 20)]).status.success());
    assert!(!rig.raw(&["display-message", "-p", &"x".repeat(limit - 19)]).status.success());
}
