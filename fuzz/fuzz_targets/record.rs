#![no_main]

use std::path::Path;

// The text of a record: lines, or a one-line error.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Err(error) = controlg::trace::parse(Path::new("trace.jsonl"), text) {
        controlg_fuzz::check_message(&error);
    }
});
