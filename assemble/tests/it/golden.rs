//! What the goldens promise, for machines without the NixOS modules that render them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use agent_box_assemble::Sources;

use crate::repository::root;

fn golden() -> PathBuf {
    root().join("checks/golden")
}

/// The rendered boxes by name.
fn boxes() -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(golden()).unwrap().map(Result::unwrap);
    let boxes = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    let boxes = boxes.map(|it| (it.file_name().into_string().unwrap(), it.path()));
    let boxes: Vec<_> = boxes.collect();
    let examples = fs::read_dir(root().join("nixos/examples")).unwrap().count();
    assert_eq!(boxes.len(), examples, "one golden an example");
    boxes
}

/// A unit's settings: all values of each key.
struct Unit(BTreeMap<String, Vec<String>>);

impl Unit {
    fn read(path: &Path) -> Self {
        let mut settings: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in fs::read_to_string(path).unwrap().lines() {
            if let Some((key, value)) = line.split_once('=') {
                settings.entry(key.to_owned()).or_default().push(value.to_owned());
            }
        }
        Self(settings)
    }

    fn values(&self, key: &str) -> &[String] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    fn says(&self, key: &str, value: &str) -> bool {
        self.values(key) == [value]
    }

    fn names(&self, key: &str, unit: &str) -> bool {
        self.values(key).iter().any(|value| value.split(' ').any(|it| it == unit))
    }
}

/// Every unit of every box: the box, the unit's name, the unit.
fn units() -> Vec<(String, String, Unit)> {
    let mut units = Vec::new();
    for (name, path) in boxes() {
        for entry in fs::read_dir(path.join("units")).unwrap() {
            let entry = entry.unwrap();
            let unit = entry.file_name().into_string().unwrap();
            units.push((name.clone(), unit, Unit::read(&entry.path())));
        }
    }
    assert!(units.len() > 15, "only {} golden units", units.len());
    units
}

#[test]
fn no_example_fails_an_assertion() {
    for (name, path) in boxes() {
        assert_eq!(fs::read_to_string(path.join("assertions")).unwrap(), "", "{name}");
    }
}

#[test]
fn every_option_has_a_type_an_example_and_a_description() {
    let text = fs::read_to_string(golden().join("options.json")).unwrap();
    let options: BTreeMap<String, BTreeMap<String, Option<String>>> =
        serde_json::from_str(&text).unwrap();
    assert!(options.len() > 60, "only {} options", options.len());
    for (name, option) in options {
        let part = |key: &str| option[key].as_deref().unwrap_or_default().trim();
        assert!(!part("type").is_empty(), "{name} has no type");
        assert!(!part("example").is_empty(), "{name} has no example");
        let description = part("description");
        assert!(description.ends_with('.'), "{name}: {description}");
        assert!(description.starts_with(char::is_uppercase), "{name}: {description}");
        assert!(description.split_whitespace().count() > 3, "{name}: {description}");
    }
}

/// `tmux -D` holds the agents' terminals.
#[test]
fn nothing_restarts_the_terminals() {
    let terminals = units().into_iter().filter(|(_, name, _)| name.ends_with("-tmux.service"));
    for (golden, name, unit) in terminals {
        for (key, value) in [
            ("Type", "exec"),
            ("X-RestartIfChanged", "false"),
            ("X-StopIfChanged", "false"),
            ("OOMPolicy", "continue"),
            ("Delegate", "true"),
            ("DelegateSubgroup", "server"),
            ("RuntimeDirectoryPreserve", "true"),
            ("UnsetEnvironment", "XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS"),
        ] {
            assert!(unit.says(key, value), "{golden}/{name} does not say {key}={value}");
        }
        let waits = &unit.values("ExecStartPost")[0];
        assert!(waits.contains("list-sessions"), "{golden}/{name} does not wait for its socket");
    }
}

#[test]
fn a_supervisor_follows_its_terminals_and_is_not_bound_to_them() {
    let all = units();
    let is_box =
        |name: &str| ["agent-box-update.service", "agent-box-spot-monitor.service"].contains(&name);
    let mut seen = 0;
    for (golden, name, unit) in &all {
        let Some(user) = name.strip_suffix(".service") else { continue };
        let terminals = format!("{user}-tmux.service");
        if is_box(name) || name.contains("-webhook-") || user.ends_with("-tmux") {
            continue;
        }
        seen += 1;
        for key in ["Wants", "After", "JoinsNamespaceOf"] {
            assert!(unit.names(key, &terminals), "{golden}/{name}: {key} lacks {terminals}");
        }
        for key in ["Requires", "Requisite", "BindsTo", "PartOf", "Upholds"] {
            assert!(unit.values(key).is_empty(), "{golden}/{name} says {key}");
        }
        assert!(unit.values("RuntimeDirectory").is_empty(), "{golden}/{name} owns a directory");
        assert!(unit.says("X-StopIfChanged", "false"), "{golden}/{name}: a switch leaves a gap");
    }
    assert!(seen >= 5, "only {seen} supervisors");
}

#[test]
fn a_switch_closes_no_socket() {
    let all = units();
    let mut seen = 0;
    for (golden, name, _) in &all {
        let Some(base) = name.strip_suffix(".socket") else { continue };
        let service = format!("{base}.service");
        let it = all.iter().find(|it| it.0 == *golden && it.1 == service);
        let (.., unit) = it.unwrap_or_else(|| panic!("{golden}: nobody serves {name}"));
        assert!(unit.says("X-StopIfChanged", "false"), "{golden}/{service} takes {name} along");
        seen += 1;
    }
    assert!(seen >= 3, "only {seen} sockets");
}

/// What the predecessor's units gave up, and the exceptions that are meant.
#[test]
fn every_unit_is_hardened() {
    for (golden, name, unit) in units() {
        if name.ends_with(".socket") || name == "agent-box-update.service" {
            continue;
        }
        for key in [
            "LockPersonality",
            "PrivateDevices",
            "PrivateTmp",
            "ProtectClock",
            "ProtectControlGroups",
            "ProtectKernelModules",
            "ProtectKernelTunables",
            "RestrictRealtime",
            "RestrictSUIDSGID",
        ] {
            assert!(unit.says(key, "true"), "{golden}/{name} does not say {key}=true");
        }
        assert!(unit.says("ProtectSystem", "strict"), "{golden}/{name} may write to the system");
        let sudoers = fs::read_to_string(self::golden().join(&golden).join("sudoers")).unwrap();
        let may_gain = sudoers.contains("NOPASSWD") && name.ends_with("-tmux.service");
        let given_up = if may_gain { "false" } else { "true" };
        assert!(unit.says("NoNewPrivileges", given_up), "{golden}/{name}: {given_up} is expected");
    }
}

/// The kernel keeps 15 bytes of a program's name; earlyoom knows no other.
#[test]
fn earlyoom_knows_daemons_and_agents_by_what_the_kernel_keeps_of_their_names() {
    let text = fs::read_to_string(golden().join("one-user/earlyoom")).unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    let ["--avoid", avoid, "--prefer", prefer] = words[..] else { panic!("{text}") };
    let mut daemons = programs();
    assert!(daemons.iter().any(|name| name.len() > 15), "nothing is cut off: {daemons:?}");
    let others = ["tmux: server", "tmux: client", "sshd", "systemd", "systemd-journald", "caddy"];
    daemons.extend(others.map(str::to_owned));
    for name in daemons {
        let comm = &name[..name.len().min(15)];
        assert!(matches(avoid, comm), "earlyoom may end {comm}");
        assert!(!matches(prefer, comm), "earlyoom would rather end {comm}");
    }
    for agent in ["claude", "codex", "node", ".claude-wrapped", ".codex-wrapped"] {
        assert!(agent.len() <= 15);
        assert!(matches(prefer, agent), "earlyoom does not prefer {agent}");
        assert!(!matches(avoid, agent), "earlyoom spares {agent}");
    }
}

/// The names of the programs that a box gets.
fn programs() -> Vec<String> {
    let sources = Sources::read(&root()).unwrap();
    let mut names = Vec::new();
    for path in ["crates/agent-box/Cargo.toml", "crates/webhook-spawn/Cargo.toml"] {
        let manifest: toml_edit::DocumentMut = sources.get(path).unwrap().parse().unwrap();
        let name = |it: &toml_edit::Table| it["name"].as_str().unwrap().to_owned();
        match manifest.get("bin").and_then(|it| it.as_array_of_tables()) {
            Some(programs) => names.extend(programs.iter().map(name)),
            None => names.push(name(manifest["package"].as_table().unwrap())),
        }
    }
    names
}

/// As regcomp of the C library reads the expression, which is what earlyoom calls.
fn matches(expression: &str, text: &str) -> bool {
    let mut grep = Command::new("grep");
    let grep = grep.args(["-Eq", expression]).stdin(Stdio::piped()).spawn();
    let mut grep = grep.unwrap();
    grep.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    grep.wait().unwrap().success()
}
