//! Stands in for an agent CLI in tests; which one is chosen by the name it is called by.

fn main() -> std::process::ExitCode {
    agent_box_testkit::stub_agent::run()
}
