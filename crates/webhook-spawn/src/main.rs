//! `agent-box-webhook-spawn`: reads events on standard input, writes the registry.

fn main() {}
