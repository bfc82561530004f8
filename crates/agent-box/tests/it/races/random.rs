//! A few random interleavings; `tests/slow` plays many more.

#[test]
fn p3_p4_p5_hold_over_sixty_random_interleavings() {
    crate::interleaving::play(env!("CARGO_BIN_EXE_agent-box"), 0x0a6e_17b0, 60, 3);
}
