//! Is there an input for which a law of the HTTP/1.1 codec does not hold?
#![no_main]

#[path = "../../filters/tests/wire/laws.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|data: &[u8]| laws::check(data));
