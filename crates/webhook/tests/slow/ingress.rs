//! The ingress under weight: large bodies, through a proxy and as a process of its own.

mod caddy;
#[allow(dead_code, reason = "the fast tests use the rest of it")]
#[path = "../it/daemon.rs"]
mod daemon;
#[allow(dead_code, reason = "the fast tests use the rest of it")]
#[path = "../it/ingress/raw_http.rs"]
mod raw_http;
#[allow(dead_code, reason = "the fast tests use the rest of it")]
#[path = "../it/ingress/rig.rs"]
mod rig;
mod strangers;
