//! The seed scenario: something happens while a start is under way, at every point of it.
//!
//! A start is held at one of its points, an operator acts or a program is killed there, the start
//! is let go, and the [oracle](crate::oracle) says whether the promises were kept.

mod deaf;
mod deleter;
mod frozen_tmux;
mod killed;
mod operator;
mod random;
mod stage;
mod stale_editor;
