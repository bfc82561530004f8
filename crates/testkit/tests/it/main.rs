//! Tests of the test support itself.

mod conformance;
mod mock_model;
mod stub_agent;
mod test_box;
