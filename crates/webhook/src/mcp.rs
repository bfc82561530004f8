//! The MCP server that an agent sees: `agent-box mcp`, JSON-RPC lines on stdin and stdout.
//!
//! ```text
//! client                                   here                          daemon
//! {"method":"initialize",…}          ─▶
//!                                    ◀─   tools, instructions
//! {"method":"notifications/initialized"} ─▶  if channels are taken ─▶     hello, role channel
//! {"method":"tools/call",…}          ─▶   filter files, or a reader ─▶   what waits
//!                                    ◀─   result; then ack ─▶
//!            notifications/claude/channel ◀─                         ◀─   message; then ack
//! ```
//!
//! A message is acknowledged after it was written to the client, so a crash between the two sends
//! it twice and never loses it. Claude drops channel messages unless it was started so that it
//! takes them, and does not say so; therefore none is sent unless the client declares it or
//! whoever started it set `AGENT_BOX_CHANNEL`. They wait for the hooks and `webhook_read` then.
//!
//! Written by hand on `serde_json`: three methods and one notification of our own. The `rmcp`
//! crate would bring thirty more crates into a program that every session keeps in memory.

mod channel;
mod instructions;
mod lines;
mod rpc;
mod server;
mod tools;
mod waiting;

use std::process::ExitCode;

use crate::cli::{Context, block_on, print};

/// Serves until stdin ends, which is the client's way to end a server.
pub fn serve(context: &Context) -> ExitCode {
    match block_on(server::Server::new(context).run()) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) | Err(error) => ExitCode::from(print::fault(&error)),
    }
}
