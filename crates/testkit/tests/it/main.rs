//! Tests of the test support itself.

#![expect(clippy::unwrap_used, reason = "a test ends where anything fails")]

mod conformance;
mod mock_model;
mod stub_agent;
mod test_box;
