//! Tests of the wrapper's program with a real registry and a real tmux server.

mod arguments;
mod cap;
mod crash;
mod deliver;
mod prompts;
mod scene;
mod seeding;
mod spawning;
mod status;
