//! The embedded workspace is complete and holds nothing else.

use std::path::Path;
use std::process::Command;

use agent_box_assemble::embedded::embedded;
use agent_box_assemble::{Sources, difference, render};

use crate::repository::root;
use crate::small_repository::write;

#[test]
fn the_embedded_workspace_builds_alone() {
    let embedded = embedded(&Sources::read(&root()).unwrap()).unwrap();
    let alone = tempfile::tempdir().unwrap();
    for (path, text) in &embedded.files {
        write(alone.path(), path, text);
    }
    the_lock_file_is_what_cargo_would_write(alone.path());
    // Beside the build directory of this test, so that dependencies are compiled once.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("embedded");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--locked", "--offline", "--quiet"]).current_dir(alone.path());
    let built = cargo.env("CARGO_TARGET_DIR", &target).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    assert_eq!(String::from_utf8_lossy(&built.stderr), "", "a build without warnings");

    for program in ["agent-box", "agent-box-pane", "agent-box-webhook-spawn"] {
        let path = target.join("debug").join(program);
        assert!(path.exists(), "{program} was not built");
    }
    let version = Command::new(target.join("debug/agent-box")).arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    assert_eq!(version, format!("agent-box {}\n", embedded.version));
}

/// `--locked` would say only that the file differs; this says how.
fn the_lock_file_is_what_cargo_would_write(workspace: &Path) {
    let path = workspace.join("Cargo.lock");
    let ours = std::fs::read_to_string(&path).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    // Only what a build here needs has been downloaded.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let metadata = cargo.args(["metadata", "--offline", "--format-version=1"]);
    let metadata = metadata.args(["--filter-platform", &platform]);
    let resolved = metadata.current_dir(workspace).output().unwrap();
    assert!(resolved.status.success(), "{}", String::from_utf8_lossy(&resolved.stderr));
    let theirs = std::fs::read_to_string(&path).unwrap();
    if let Some(diff) = difference::unified("Cargo.lock", &ours, &theirs) {
        panic!("add what is removed here to lock_file::FOR_TESTS_ONLY:\n{diff}");
    }
}

#[test]
fn nothing_that_serves_tests_is_embedded() {
    let embedded = embedded(&Sources::read(&root()).unwrap()).unwrap();
    for path in embedded.files.keys() {
        let parts: Vec<&str> = path.split('/').collect();
        let shipped = matches!(
            parts[..],
            ["Cargo.toml" | "Cargo.lock"] | ["crates", _, "Cargo.toml"] | ["crates", _, "src", ..]
        );
        assert!(shipped, "{path}");
        assert!(!path.contains("testkit") && !path.ends_with("/tests.rs"), "{path}");
    }
    let lock = &embedded.files["Cargo.lock"];
    for only_for_tests in ["proptest", "stateright", "minijinja", "agent-box-testkit"] {
        assert!(!lock.contains(&format!("\"{only_for_tests}\"")), "{only_for_tests}");
    }
}

#[test]
fn a_change_of_any_embedded_file_reaches_the_module() {
    let sources = Sources::read(&root()).unwrap();
    let embedded = embedded(&sources).unwrap();
    // The lock file is not text of ours: it is read and written anew.
    let paths: Vec<&String> = embedded.files.keys().filter(|it| *it != "Cargo.lock").collect();
    let mut changed = sources.clone();
    for path in &paths {
        changed.set(path, &format!("{}# changed: {path}\n", sources.get(path).unwrap()));
    }
    let module = render(&changed).unwrap();
    for path in paths {
        assert!(module.contains(&format!("# changed: {path}\n")), "{path}");
    }
}
