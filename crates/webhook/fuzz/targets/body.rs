//! Bodies of deliveries, from bytes to their keys.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agent_box_webhook_fuzz::body(data));
