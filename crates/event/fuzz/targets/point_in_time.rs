//! Timestamps from any text.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agent_box_event_fuzz::point_in_time(data));
