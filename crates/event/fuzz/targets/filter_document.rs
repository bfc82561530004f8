//! Filter files and edits of them.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agent_box_event_fuzz::filter_document(data));
