//! `assemble` as people and CI call it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::small_repository::{small_repository, write};

fn assemble(repo: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assemble"));
    command.arg("--repo").arg(repo).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn it_writes_the_module_and_then_finds_it_current() {
    let repo = small_repository();
    let missing = assemble(repo.path(), &["--check"]);
    assert_eq!(missing.status.code(), Some(1));

    let written = assemble(repo.path(), &[]);
    assert_eq!(text(&written.stderr), "wrote nixos/agent-box.nix\n");
    let module = fs::read_to_string(repo.path().join("nixos/agent-box.nix")).unwrap();
    assert!(!module.contains("never embedded"), "{module}");
    assert!(!module.contains("tests-only"), "{module}");
    assert!(!module.contains("profile"), "{module}");

    for arguments in [&["--check"][..], &[]] {
        let again = assemble(repo.path(), arguments);
        assert!(again.status.success());
        assert_eq!(text(&again.stderr), "nixos/agent-box.nix is up to date\n");
    }
    assert_eq!(text(&assemble(repo.path(), &["--stdout"]).stdout), module);
}

#[test]
fn one_changed_character_fails_the_check_with_a_diff() {
    let repo = small_repository();
    assert!(assemble(repo.path(), &[]).status.success());
    let changes = [
        ("crates/part/src/lib.rs", "#[cfg(test)]\nmod test;\n", "+      mod test;\n"),
        ("nixos/payload/greeting.md", "hallo\n", "+      hallo\n"),
        ("crates/agent-box/src/main.rs", "fn main() {}\n", "+      fn main() {}\n"),
    ];
    for (path, changed, line) in changes {
        let before = fs::read_to_string(repo.path().join(path)).unwrap();
        write(repo.path(), path, changed);
        let checked = assemble(repo.path(), &["--check"]);
        assert_eq!(checked.status.code(), Some(1));
        let diff = text(&checked.stdout);
        assert!(diff.starts_with("--- a/nixos/agent-box.nix\n"), "{diff}");
        assert!(diff.contains(line), "{diff}");
        assert!(text(&checked.stderr).contains("run `cargo run -p agent-box-assemble`"));
        write(repo.path(), path, &before);
    }
}

#[test]
fn what_cannot_be_rendered_is_named() {
    let repo = small_repository();
    let failure = |path: &str, broken: &str| {
        let before = fs::read_to_string(repo.path().join(path)).unwrap();
        write(repo.path(), path, broken);
        let output = assemble(repo.path(), &[]);
        write(repo.path(), path, &before);
        assert!(!output.status.success());
        text(&output.stderr).to_owned()
    };
    let nul = failure("crates/part/src/lib.rs", "a\0");
    assert!(nul.contains("crates/part/src/lib.rs cannot be embedded"), "{nul}");
    let manifest = failure("crates/part/Cargo.toml", "[package\n");
    assert!(manifest.contains("crates/part/Cargo.toml is not a manifest"), "{manifest}");
    let template = failure("nixos/templates/module.nix", "{ /*= nothing =*/ }\n");
    assert!(template.contains("module.nix:1"), "{template}");
    let nowhere = assemble(&repo.path().join("nowhere"), &[]);
    assert!(text(&nowhere.stderr).contains("nowhere/Cargo.lock"), "{nowhere:?}");
}
