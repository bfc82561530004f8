//! The webhook verbs and the MCP server alone, as `agent-box` runs them; tests start this one.
//!
//! ```text
//! webhook ls --json          as agent-box webhook ls --json
//! webhook mcp                as agent-box mcp
//! ```

use std::process::ExitCode;

use agent_box_session::env;
use agent_box_webhook::cli::{self, Context};
use agent_box_webhook::mcp;

fn main() -> ExitCode {
    let home = std::env::var_os(env::HOME).unwrap_or_default();
    let user = std::env::var_os(env::USER).unwrap_or_default();
    let context = Context::new(home, user.to_string_lossy(), std::env::vars_os());
    let mut words = std::env::args_os().skip(1).peekable();
    if words.peek().is_some_and(|word| word == "mcp") {
        return mcp::serve(&context);
    }
    cli::run(words, &context)
}
