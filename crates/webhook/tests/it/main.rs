//! Tests with real files, sockets and processes.

mod examples;
mod filters;
mod inbox;
mod ingress;
mod mcp;
mod mcp_channel;
mod mcp_live;
mod subscriptions;
mod subscriptions_self;
mod verbs;
mod engine;
mod peers;
mod receiver;
mod serve;
