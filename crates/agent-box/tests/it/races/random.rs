//! Sixty random interleavings, ten in the life of each box; `tests/slow` plays many more.
//!
//! Seen red with a harness that finds no prompt in any transcript, and with a supervisor that
//! leaves unlisted sessions alone.

const SEED: u64 = 0x0a6e_17b0;

macro_rules! lives {
    ($($life:ident: $number:literal,)*) => {
        mod p3_p4_p5_hold_over_sixty_random_interleavings {$(
            #[test]
            fn $life() {
                let seed = super::SEED + $number;
                crate::interleaving::play(env!("CARGO_BIN_EXE_agent-box"), seed, 10, 1);
            }
        )*}
    };
}

lives! { first: 0, second: 1, third: 2, fourth: 3, fifth: 4, sixth: 5, }
