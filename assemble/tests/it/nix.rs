//! The generated text before the real Nix; each test says so when Nix is not at hand.
#![expect(clippy::print_stderr, reason = "a proof that did not run must not look like one")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use agent_box_assemble::Sources;
use agent_box_assemble::embedded::embedded;
use agent_box_assemble::nix::{nar, store_path};
use agent_box_assemble::nix_string::NixString;
use agent_box_assemble::nix_text::NixText;
use tempfile::TempDir;

use crate::repository::root;
use crate::small_repository::write;

/// A Nix with a store of its own, which goes away with it.
struct Nix(TempDir);

impl Nix {
    /// `None`, after saying so, where no Nix is installed.
    fn installed() -> Option<Self> {
        if Command::new("nix-instantiate").arg("--version").output().is_err() {
            eprintln!("NOT PROVEN here: nix-instantiate is not installed (Debian: nix-bin)");
            return None;
        }
        Some(Self(tempfile::tempdir().unwrap()))
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for name in ["store", "state", "log", "conf"] {
            let variable = format!("NIX_{}{}", name.to_uppercase(), "_DIR");
            command.env(variable, self.0.path().join(name));
        }
        let config = "sandbox = false\nbuild-users-group =\nsubstituters =\n";
        command.env("NIX_CONFIG", config).env("NIX_REMOTE", "local").env("HOME", self.0.path());
        command.current_dir(self.0.path());
        command
    }

    fn evaluate(&self, expression: &str) -> serde_json::Value {
        write(self.0.path(), "expression.nix", expression);
        let mut command = self.command("nix-instantiate");
        let output = command.args(["--eval", "--strict", "--json", "expression.nix"]).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Builds these files by the module's own derivation, promising this hash.
    fn build(&self, files: &BTreeMap<String, String>, hash: &str) -> Output {
        write(self.0.path(), "files.nix", literal(files).as_str());
        write(self.0.path(), "tree.nix", TREE);
        let mut command = self.command("nix-build");
        command.args(["tree.nix", "--no-out-link", "--argstr", "hash", hash, "--arg", "programs"]);
        command.arg(root().join("nixos/templates/programs.nix")).output().unwrap()
    }
}

/// The module's source tree, with stand-ins for what building the programs would need.
const TREE: &str = r#"{ programs, hash }:
(import programs {
  cfg = { };
  constants.version = "0";
  env = { };
  lib = { };
  source = { inherit hash; files = import ./files.nix; };
  pkgs = {
    tmux.override = _: { };
    rustPlatform.buildRustPackage = package: package;
    runCommand = name: attributes: command: derivation (attributes // {
      inherit name;
      system = builtins.currentSystem;
      builder = "/bin/bash";
      args = [ "-c" (". \"$NIX_ATTRS_SH_FILE\"\nPATH=/usr/bin:/bin out=\${outputs[out]}\n" + command) ];
    });
  };
}).builtPackage.src
"#;

impl Drop for Nix {
    fn drop(&mut self) {
        // Nix takes the write permission from what it has built.
        let store = self.0.path().join("store");
        let _ = Command::new("chmod").args(["-R", "u+w"]).arg(store).output();
    }
}

/// Real Nix reads the file, if it is at hand.
pub(crate) fn parses(file: &Path) {
    let Ok(output) = Command::new("nix-instantiate").arg("--parse").arg(file).output() else {
        eprintln!("NOT PROVEN here: nix-instantiate is not installed (Debian: nix-bin)");
        return;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", file.display());
}

/// Files as a Nix set, escaped by the code that is proven here.
fn literal(files: &BTreeMap<String, String>) -> NixText {
    let string = |text| NixString::new(text).unwrap();
    NixText::set(0, files.iter().map(|(path, text)| (string(path), string(text).indented(4))))
}

/// The texts of the repository, and what no sane file holds.
fn hostile_tree() -> BTreeMap<String, String> {
    let mut files = embedded(&Sources::read(&root()).unwrap()).unwrap().files;
    let hostile = [
        ("apostrophes", "'''' ''' '' ' '${'} ''${x} ''\\n"),
        ("dollars", "$${a} $ $$ ${ \\${ $"),
        ("empty", ""),
        ("spaces", "   "),
        ("indented", "    a\n      b"),
        ("blank tail", "a\n   "),
        ("line ends", "\n\n\n"),
        ("tabs", "\ta\n\t\tb\n"),
        ("carriage returns", "a\r\nb\rc'\r\n"),
        ("marks", "\u{feff}\u{2028}\u{1f980}\u{7}\u{1b}[0m"),
        ("no end", "a\nb"),
        ("a/b", "sorts after `a-b`"),
        ("a-b", "sorts before `a/b`"),
        ("if", "a keyword"),
        ("${name} \"quoted\"", "an odd name"),
    ];
    files.extend(hostile.map(|(path, text)| (format!("hostile/{path}"), text.to_owned())));
    files
}

/// What runs them is a virtual machine; whether they can run is known without one.
#[test]
fn the_scripts_of_the_vm_tests_are_python() {
    let Some(nix) = Nix::installed() else { return };
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("NOT PROVEN here: python3 is not installed");
        return;
    }
    let script = |test: &str| {
        let path = root().join(format!("checks/vm/{test}.nix"));
        format!(
            "(import {} {{ lib = {{ }}; module = {{ }}; pkgs = {{ }}; }}).testScript",
            path.display()
        )
    };
    let tests = ["memory-protection", "sessions", "update-keeps-agents", "webhook"];
    let scripts = nix.evaluate(&format!("[ {} ]", tests.map(script).join(" ")));
    let scripts: Vec<String> = serde_json::from_value(scripts).unwrap();
    let mut python = Command::new("python3");
    let each = "for name, text in zip(sys.argv[1::2], sys.argv[2::2]): compile(text, name, 'exec')";
    python.args(["-c", &format!("import sys\n{each}")]);
    for (name, script) in tests.iter().zip(&scripts) {
        python.args([name, script.as_str()]);
    }
    let output = python.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The flake's outputs by name, over a nixpkgs that holds nothing.
#[test]
fn the_flake_has_one_check_a_promise() {
    let Some(nix) = Nix::installed() else { return };
    let names = nix.evaluate(&format!("({FLAKE}) {}", root().display()));
    let checks = [
        "assemble-escaping",
        "environment",
        "examples",
        "external-nixpkgs",
        "golden",
        "memory-protection",
        "module-generated-up-to-date",
        "module-single-file",
        "multi-user",
        "refusals",
        "sessions",
        "update-keeps-agents",
        "webhook",
        "webhook-route",
    ];
    assert_eq!(names["checks"], serde_json::json!(checks));
    assert_eq!(names["packages"], serde_json::json!(["agent-box", "assemble", "default"]));
    assert_eq!(names["modules"], serde_json::json!(["agent-box", "default"]));
    assert_eq!(names["rest"], serde_json::json!(["assemble", "default", "vm"]));
}

const FLAKE: &str = r#"root:
let
  system = "x86_64-linux";
  lib = {
    genAttrs = names: make: builtins.listToAttrs (map (name: { inherit name; value = make name; }) names);
    optionalAttrs = condition: set: if condition then set else { };
    nixosSystem = _: { };
  };
  nixpkgs = {
    inherit lib;
    legacyPackages.${system} = { inherit lib; stdenv.hostPlatform = { inherit system; }; };
  };
  flake = (import (root + "/flake.nix")).outputs { inherit nixpkgs; self = flake // { outPath = root; }; };
  names = builtins.attrNames;
in
{
  checks = names flake.checks.${system};
  packages = names flake.packages.${system};
  modules = names flake.nixosModules;
  rest = names (flake.apps.${system} // flake.devShells.${system} // flake.nixosConfigurations);
}
"#;

#[test]
fn nix_reads_the_embedded_texts_back() {
    let Some(nix) = Nix::installed() else { return };
    let files = hostile_tree();
    let read: BTreeMap<String, String> =
        serde_json::from_value(nix.evaluate(&literal(&files).to_string())).unwrap();
    for (path, text) in &files {
        assert_eq!(read.get(path), Some(text), "{path}");
    }
    assert_eq!(read.len(), files.len());
}

#[test]
fn nix_reads_a_sample_of_short_strings_back() {
    let Some(nix) = Nix::installed() else { return };
    let alphabet = ['\'', '$', '{', '\\', '"', '\n', ' ', '\r'];
    // A step without a common factor with the alphabet's size meets every letter at every place.
    let texts = (0..8_usize.pow(6))
        .step_by(37)
        .map(|number| (0..6).map(|place| alphabet[number >> (3 * place) & 7]).collect::<String>());
    let texts: Vec<String> = texts.collect();
    for write in [NixString::quoted, |text: NixString<'_>| text.indented(2)] {
        let literals = texts.iter().map(|text| write(NixString::new(text).unwrap()));
        let read = nix.evaluate(&NixText::list(literals).to_string());
        assert_eq!(serde_json::from_value::<Vec<String>>(read).unwrap(), texts);
    }
}

#[test]
fn the_tree_that_nix_builds_has_the_promised_hash() {
    let Some(nix) = Nix::installed() else { return };
    let files = hostile_tree();
    let hash = nar::hash(&files).unwrap().sri();
    let built = nix.build(&files, &hash);
    let errors = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{errors}");
    let out = String::from_utf8(built.stdout).unwrap();
    for (path, text) in &files {
        let read = std::fs::read_to_string(Path::new(out.trim()).join(path)).unwrap();
        assert_eq!(&read, text, "{path}");
    }

    // The old tree is in the store under the old hash: only the name makes Nix look again.
    let mut changed = files;
    changed.get_mut("hostile/no end").unwrap().push('!');
    let refused = nix.build(&changed, &hash);
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success(), "a changed text passed under the old hash");
    assert!(errors.contains("hash mismatch"), "{errors}");
}

#[test]
fn store_paths_are_those_of_nix() {
    let Some(nix) = Nix::installed() else { return };
    let tree = nar::hash(&BTreeMap::from([("a".to_owned(), "b".to_owned())])).unwrap();
    let expression = format!(
        "(derivation {{ name = \"t-1\"; system = \"x\"; builder = \"b\"; outputHash = \"{}\"; \
         outputHashMode = \"recursive\"; outputHashAlgo = \"sha256\"; }}).outPath",
        tree.sri()
    );
    let mut command = nix.command("nix-instantiate");
    command.env_remove("NIX_STORE_DIR").args(["--eval", "--readonly-mode", "--json", "-E"]);
    let output = command.arg(expression).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let path: String = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(store_path::of_fixed_tree("t-1", &tree), path);
}
