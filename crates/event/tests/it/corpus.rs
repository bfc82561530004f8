//! Every committed input through the function that the fuzzer calls with it.

use std::path::Path;

#[path = "../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "a library where the fuzzer builds it")]
mod targets;

/// Runs a target over its folder; some inputs must be there, and cut short each is an input too.
#[expect(clippy::print_stdout, reason = "the test runner shows the input beside a panic")]
fn run(name: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).expect("the target's corpus") {
        let path = entry.expect("an entry").path();
        let input = std::fs::read(&path).expect("an input");
        println!("{}", path.display());
        target(&input);
        target(input.trim_ascii_end());
        for length in 0..input.len().min(200) {
            target(&input[..length]);
        }
        count += 1;
    }
    assert!(count >= 3, "{}: {count} inputs", folder.display());
}

#[test]
fn topic_patterns_match_only_what_they_say() {
    run("topic_pattern", targets::topic_pattern);
}

#[test]
fn points_in_time_print_as_themselves() {
    run("point_in_time", targets::point_in_time);
}

#[test]
fn rules_stay_as_they_are() {
    run("predicate", targets::predicate);
}

#[test]
fn filter_files_lose_nothing() {
    run("filter_document", targets::filter_document);
}

#[test]
fn messages_have_no_forged_line() {
    run("message", targets::message);
}
