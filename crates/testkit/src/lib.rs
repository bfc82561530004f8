//! Test support: private tmux, temporary homes, stub agents, pause points.
//!
//! Owns what tests of several crates share: a [`TestBox`] (one user's box in a temporary home, with
//! a tmux socket of its own), the [stub agents](stub_agent) that stand in for the real CLIs, the
//! [table](conformance) that holds both to one behaviour, and the looks at [processes](process)
//! that a test needs. It refuses to know how agent-box works inside: it starts programs, reads
//! files and asks the kernel.
//!
//! ```no_run
//! use agent_box_testkit::{TestBox, within};
//!
//! # fn show(built_program: &str) {
//! let mut test_box = TestBox::new(built_program);
//! test_box.stubs().plan_every(r#"{"exit": 1}"#);
//! let _supervisor = test_box.supervise(&["supervise"]);
//! test_box.run(&["add", "quest"]).expect_success();
//! within(10).until("quest started", || test_box.stubs().launches().len() == 1);
//! # }
//! ```
//!
//! **Invariants**
//! - Whatever a test started through a [`TestBox`] is dead when the box is dropped.
//! - Nothing is found by program name: only by a recorded pid, a socket path or the box's home.
//! - Waiting always has a deadline and names what it waited for.

mod agent_box;
mod clock;
pub mod conformance;
mod files;
mod home;
pub mod mock_model;
mod points;
mod private_tmux;
pub mod process;
pub mod stub_agent;
mod stubs;
mod supervisor;
mod test_box;
mod wait;

pub use agent_box::{AgentBox, Finished, Running};
pub use points::TestPoints;
pub use private_tmux::PrivateTmux;
pub use stubs::{Launch, Stubs, stub_agent_program};
pub use supervisor::Supervisor;
pub use test_box::TestBox;
pub use wait::{Deadline, within};
