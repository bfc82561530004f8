//! Tests with real files, sockets and processes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod beside;
mod examples;
mod filters;
mod inbox;
mod ingress;
mod mcp;
mod mcp_channel;
mod mcp_daemon;
mod mcp_live;
mod sources;
mod subscriptions;
mod subscriptions_self;
mod verbs;
mod engine;
mod peers;
mod receiver;
mod serve;
