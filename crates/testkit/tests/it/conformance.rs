//! The stub agents and, where they are installed, the real CLIs behave as the table says.

use std::path::Path;

use agent_box_testkit::conformance::{Case, TABLE, check, real_programs};
use agent_box_testkit::mock_model::MockModel;
use agent_box_testkit::stub_agent_program;

fn check_all(agent: &str, program: &Path) {
    let model = MockModel::start().unwrap();
    let cases: Vec<&Case> = TABLE.iter().filter(|case| case.agent == agent).collect();
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
    check_all(agent, &program);
}

fn check_real(agent: &str) {
    // Without the CLIs there is nothing to hold the table against.
    let Some(npm) = std::env::var_os("AGENT_BOX_REAL_CLIS") else { return };
    for (name, program) in real_programs(Path::new(&npm)) {
        if name == agent {
            check_all(agent, &program);
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
fn the_real_claude_behaves_as_the_table_says() {
    check_real("claude");
}

#[test]
fn the_real_codex_behaves_as_the_table_says() {
    check_real("codex");
}
