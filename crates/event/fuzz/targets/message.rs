//! Messages to agents about any event.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agent_box_event_fuzz::message(data));
