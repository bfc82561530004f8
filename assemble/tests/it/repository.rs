//! This repository itself: its module is current, and its Nix files are Nix.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use agent_box_assemble::{COMMAND, MODULE, Sources, difference, render};
use sha2::{Digest as _, Sha256};

/// The top of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every Nix file below a directory but those that other tools put there.
fn nix_files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            if !name.starts_with('.') && name != "target" {
                nix_files(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "nix") {
            found.push(path);
        }
    }
}

#[test]
fn the_generated_module_is_current() {
    let committed = fs::read_to_string(root().join(MODULE)).unwrap_or_default();
    let rendered = render(&Sources::read(&root()).unwrap()).unwrap();
    if let Some(diff) = difference::unified(MODULE, &committed, &rendered) {
        let head: Vec<&str> = diff.lines().take(60).collect();
        panic!("run `{COMMAND}` and commit the result:\n{}", head.join("\n"));
    }
}

/// The golden units were rendered from the module whose text without the sources has this hash.
#[test]
fn the_golden_units_belong_to_this_module() {
    let module = fs::read_to_string(root().join(MODULE)).unwrap();
    let (text, _sources) = module.split_once("\nmodule {").unwrap();
    let hash = Sha256::digest(format!("{text}\n")).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    });
    let golden = fs::read_to_string(root().join("checks/golden/module.sha256")).unwrap();
    assert_eq!(
        hash,
        golden.trim(),
        "run `checks/golden/regenerate.sh` where the NixOS modules are at hand and commit the result"
    );
}

#[test]
fn every_nix_file_parses_templates_too() {
    let mut files = Vec::new();
    nix_files(&root(), &mut files);
    assert!(files.len() > 3, "no Nix files below {}", root().display());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let errors = rnix::Root::parse(&text).errors().to_vec();
        assert!(errors.is_empty(), "{}: {errors:?}", file.display());
        // Real Nix also refuses names that nothing defines.
        crate::nix::parses(&file);
    }
}

/// The time that rendering may take is a benchmark's matter; this is the work that it consists of.
#[test]
fn every_source_is_read_once_and_rendering_reads_nothing() {
    let before = bytes_read();
    let sources = Sources::read(&root()).unwrap();
    let after_reading = bytes_read();
    render(&sources).unwrap();
    let after_rendering = bytes_read();

    let all = ["crates", "nixos/payload", "nixos/templates"].iter();
    let all = all.flat_map(|directory| sources.below(directory)).map(|(_, text)| text.len());
    let top = ["Cargo.lock", "Cargo.toml"].iter().map(|name| sources.get(name).unwrap().len());
    let size = all.chain(top).sum::<usize>() as u64;
    // Reading the counter counts too.
    let slack = 2048;
    let read = after_reading - before;
    assert!((size..size + slack).contains(&read), "{read} bytes read for {size} bytes of sources");
    assert!(after_rendering - after_reading < slack, "rendering reads files");
}

/// What this thread has read so far, in bytes, as the kernel counts it.
fn bytes_read() -> u64 {
    let counters = fs::read_to_string("/proc/thread-self/io").unwrap();
    let read = counters.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    read.parse().unwrap()
}

#[test]
fn rendering_twice_gives_the_same_bytes() {
    let once = || render(&Sources::read(&root()).unwrap()).unwrap();
    let first = once();
    assert!(first == once());
    let here = root().into_os_string().into_string().unwrap();
    assert!(!first.contains(&here), "the module names the directory it was made in");
}
