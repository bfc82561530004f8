//! The seed scenario: something happens while a start is under way, at every point of it.
//!
//! A start is held at one of its points, an operator acts or a program is killed there, the start
//! is let go, and the [oracle](crate::oracle) says whether the promises were kept.

/// Two tests, for two halves of a start, of what may happen at any point of it.
macro_rules! at_every_point_of_a_start {
    ($($name:ident: $act:expr;)*) => {$(
        mod $name {
            #[allow(unused_imports, reason = "each act needs some of them")]
            use super::*;

            #[test]
            fn in_the_supervisor() {
                at_each(IN_SUPERVISOR, $act);
            }

            #[test]
            fn in_the_launcher() {
                at_each(IN_LAUNCHER, $act);
            }
        }
    )*};
}

mod deaf;
mod deleter;
mod frozen_tmux;
mod killed;
mod operator;
mod random;
mod stage;
mod stale_editor;
