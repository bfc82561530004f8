//! Tests with real files, sockets and processes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod beside;
#[allow(dead_code, reason = "the slow tests use the rest of it")]
mod daemon;
mod doors;
mod engine;
mod examples;
mod filters;
mod health;
mod inbox;
mod ingress;
mod mcp;
mod mcp_channel;
mod mcp_daemon;
mod mcp_live;
mod peers;
mod receiver;
mod serve;
mod sources;
mod subscriptions;
mod subscriptions_self;
mod verbs;
