//! The promises of the session protocol over many random interleavings on real tmux.
//!
//! Seen red within two minutes with the check in the launcher's gate taken out.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(feature = "testpoints")]
#[path = "../shared/interleaving.rs"]
mod interleaving;
#[cfg(feature = "testpoints")]
#[path = "../shared/oracle.rs"]
mod oracle;

#[allow(dead_code, reason = "the other test binary uses the rest")]
#[expect(dead_code, reason = "the tests of the other program ask for more")]
#[path = "../shared/webhook_box.rs"]
mod webhook_box;
mod webhook_door;
#[cfg(feature = "testpoints")]
mod webhook_killed;
mod webhook_thousand;

/// Another seed plays other scripts.
#[cfg(feature = "testpoints")]
const SEED: u64 = 0x5eed_2026_1201;

#[cfg(feature = "testpoints")]
#[test]
fn p3_p4_p5_hold_over_two_thousand_random_interleavings() {
    println!("seed {SEED:#x}");
    interleaving::play(env!("CARGO_BIN_EXE_agent-box"), SEED, 2000, 4);
}

#[cfg(not(feature = "testpoints"))]
#[test]
fn the_interleavings_need_the_testpoints_feature() {
    panic!("run the tests of agent-box with `--features testpoints`");
}
