//! Rules against payloads, both from any JSON.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agent_box_event_fuzz::predicate(data));
