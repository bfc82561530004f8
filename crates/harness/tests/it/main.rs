//! The harness on real files in a temporary home.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod codex;
mod command_lines;
mod directories;
mod instructions;
mod live;
mod prompts;
mod resume;
mod scratch;
mod seeding;
mod telling;
