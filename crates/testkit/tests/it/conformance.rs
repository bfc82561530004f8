//! The stub agents and, where they are installed, the real CLIs behave as the table says.

use std::path::Path;

use agent_box_testkit::conformance::{Case, Expect, TABLE, check, real_programs};
use agent_box_testkit::mock_model::MockModel;
use agent_box_testkit::stub_agent_program;

/// The kinds of rows: the real CLIs are slow, and a test has its time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    All,
    Options,
    Prompts,
    Refusals,
    Others,
}

impl Rows {
    fn of(case: &Case) -> Self {
        match case.expect {
            Expect::Prompt("P1") => Self::Options,
            Expect::Prompt(_) => Self::Prompts,
            Expect::Refuses(..) => Self::Refusals,
            Expect::Waits(_) | Expect::Dies(..) => Self::Others,
        }
    }
}

fn check_rows(agent: &str, rows: Rows, program: &Path) {
    let model = MockModel::start().unwrap();
    let chosen = |case: &&Case| rows == Rows::All || Rows::of(case) == rows;
    let cases: Vec<&Case> =
        TABLE.iter().filter(|case| case.agent == agent).filter(chosen).collect();
    assert!(!cases.is_empty());
    // Two at a time: the real programs are big, and most of a case is waiting.
    std::thread::scope(|scope| {
        for half in cases.chunks(cases.len().div_ceil(2)) {
            let model = &model;
            scope.spawn(move || half.iter().for_each(|case| check(case, program, model)));
        }
    });
}

fn check_stub(agent: &str) {
    let links = tempfile::tempdir().unwrap();
    let program = links.path().join(agent);
    std::os::unix::fs::symlink(stub_agent_program(), &program).unwrap();
    check_rows(agent, Rows::All, &program);
}

fn check_real(agent: &str, rows: Rows) {
    // Without the CLIs there is nothing to hold the table against.
    let Some(npm) = std::env::var_os("AGENT_BOX_REAL_CLIS") else { return };
    for (name, program) in real_programs(Path::new(&npm)) {
        if name == agent {
            check_rows(agent, rows, &program);
        }
    }
}

#[test]
fn the_stub_claude_behaves_as_the_table_says() {
    check_stub("claude");
}

#[test]
fn the_stub_codex_behaves_as_the_table_says() {
    check_stub("codex");
}

#[test]
fn the_real_claude_takes_options_as_the_table_says() {
    check_real("claude", Rows::Options);
}

#[test]
fn the_real_claude_takes_prompts_as_the_table_says() {
    check_real("claude", Rows::Prompts);
}

#[test]
fn the_real_claude_refuses_as_the_table_says() {
    check_real("claude", Rows::Refusals);
}

#[test]
fn the_real_claude_waits_and_dies_as_the_table_says() {
    check_real("claude", Rows::Others);
}

#[test]
fn the_real_codex_takes_options_as_the_table_says() {
    check_real("codex", Rows::Options);
}

#[test]
fn the_real_codex_takes_prompts_as_the_table_says() {
    check_real("codex", Rows::Prompts);
}

#[test]
fn the_real_codex_refuses_waits_and_dies_as_the_table_says() {
    check_real("codex", Rows::Refusals);
    check_real("codex", Rows::Others);
}
