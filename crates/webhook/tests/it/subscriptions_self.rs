//! Finding out what the box acts as, with a stub that stands in for gh.

use std::os::unix::fs::PermissionsExt as _;

use crate::verbs::{Scene, put};

/// Answers with the login in `$HOME/login`, or fails; counts its calls.
const GH: &str = "#!/bin/sh\n\
    echo \"$*\" >> $HOME/calls\n\
    env > $HOME/environment\n\
    [ -e $HOME/login ] || { echo 'HTTP 401: Bad credentials' >&2; exit 1; }\n\
    printf '{\"login\":\"%s\"}' \"$(cat $HOME/login)\"\n";

struct Gh(Scene);

impl Gh {
    fn new(login: &str) -> Self {
        let mut scene = Scene::new();
        scene.put_program("gh", GH);
        scene.set("GH_TOKEN", "one");
        let gh = Self(scene);
        gh.answer(login);
        gh
    }

    fn answer(&self, login: &str) {
        put(&self.0.home().join("login"), login);
    }

    fn fail(&self) {
        std::fs::remove_file(self.0.home().join("login")).unwrap();
    }

    fn calls(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.0.home().join("calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    #[track_caller]
    fn says(&self, words: &[&str], login: &str, calls: usize) -> String {
        let done = self.0.run(&[&["self"], words].concat()).expect(0);
        assert_eq!((done.stdout.trim(), self.calls().len()), (login, calls), "{done:?}");
        done.stderr
    }
}

#[test]
fn the_login_is_asked_for_once_per_credentials() {
    let mut gh = Gh::new("octo");
    assert_eq!(gh.says(&[], "octo", 1), "");
    assert_eq!(gh.calls(), ["api user"]);
    let path = gh.0.paths().identity();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.ends_with("\nLOCAL_WEBHOOK_SELF=octo\n"), "{text}");
    let mark = text.lines().find_map(|line| line.strip_prefix("# fp=")).unwrap();
    assert!(mark.len() == 16 && mark.bytes().all(|it| it.is_ascii_hexdigit()), "{mark}");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o644);
    let search = "/nonexistent";
    gh.0.set("PATH", search);
    gh.says(&[], "octo", 1);
    gh.0.put_program("gh", GH);
    gh.answer("cat");
    gh.says(&[], "octo", 1);
    gh.says(&["--refresh"], "cat", 2);
    gh.0.set("GH_TOKEN", "two");
    gh.answer("dog");
    gh.says(&[], "dog", 3);
    // A login with gh itself is noticed as well.
    let hosts = gh.0.home().join(".config/gh/hosts.yml");
    put(&hosts, "github.com:\n    user: bird\n");
    gh.answer("bird");
    gh.says(&[], "bird", 4);
    gh.says(&[], "bird", 4);
}

#[test]
fn what_the_environment_says_counts_and_is_not_remembered() {
    let mut gh = Gh::new("octo");
    gh.0.set("LOCAL_WEBHOOK_SELF", "my-app[bot]");
    gh.says(&["--refresh"], "my-app[bot]", 0);
    assert!(!gh.0.paths().identity().exists());
    gh.0.set("LOCAL_WEBHOOK_SELF", "not a login");
    gh.says(&[], "octo", 1);
}

#[test]
fn in_vain_the_last_login_counts_and_a_patient_caller_does_not_ask_again() {
    let mut gh = Gh::new("octo");
    gh.says(&[], "octo", 1);
    gh.0.set("GH_TOKEN", "two");
    gh.fail();
    let said = gh.says(&[], "octo", 2);
    assert!(said.contains("Bad credentials") && said.contains("known last"), "{said}");
    let attempt = std::fs::read_to_string(gh.0.paths().identity_attempt()).unwrap();
    assert_eq!(attempt.split_whitespace().count(), 2, "{attempt}");
    assert!(gh.says(&["--throttled"], "octo", 2).contains("within the hour"));
    gh.answer("new");
    gh.says(&["--throttled"], "octo", 2);
    gh.says(&[], "new", 3);
    assert!(!gh.0.paths().identity_attempt().exists(), "success forgets the attempt");
    let old = format!("{} {}\n", 1_000_000, "0123456789abcdef");
    put(&gh.0.paths().identity_attempt(), &old);
    gh.0.set("GH_TOKEN", "three");
    gh.says(&["--throttled"], "new", 4);
}

#[test]
fn nobody_known_is_exit_1_and_nothing_on_stdout() {
    let gh = Gh::new("octo");
    gh.fail();
    let done = gh.0.run(&["self"]).expect(1);
    assert_eq!(done.stdout, "");
    assert!(done.stderr.contains("Bad credentials"), "{}", done.stderr);
    let mut scene = Scene::new();
    scene.set("PATH", "/nonexistent");
    let done = scene.run(&["self"]).expect(1);
    assert!(done.stderr.contains("cannot start gh"), "{}", done.stderr);
}

#[test]
fn an_app_asks_who_is_viewing() {
    let mut gh = Gh::new("x");
    gh.0.put_program("gh", "#!/bin/sh\necho \"$2\" >> $HOME/calls\necho '{\"data\":{\"viewer\":{\"login\":\"my-app[bot]\"}}}'\n");
    gh.0.set("GH_TOKEN", "ghs_secret");
    gh.says(&[], "my-app[bot]", 1);
    assert_eq!(gh.calls(), ["graphql"]);
}

#[test]
fn gh_sees_an_environment_of_its_own_and_no_secret_is_an_argument() {
    let mut gh = Gh::new("octo");
    gh.0.set("LOCAL_WEBHOOK_SPAWN_CMD", "x");
    gh.0.set("EDITOR", "vi");
    gh.says(&[], "octo", 1);
    let seen = std::fs::read_to_string(gh.0.home().join("environment")).unwrap();
    let names: Vec<&str> = seen.lines().filter_map(|line| line.split('=').next()).collect();
    assert!(names.contains(&"GH_TOKEN") && names.contains(&"GH_PROMPT_DISABLED"), "{names:?}");
    assert!(!names.contains(&"EDITOR") && !names.contains(&"LOCAL_WEBHOOK_SPAWN_CMD"), "{names:?}");
    assert!(gh.calls().iter().all(|call| !call.contains("one")));
}
