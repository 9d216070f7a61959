//! A fuzz target for libFuzzer: the one that the variable `FUZZ_TARGET` names.

#![no_main]

use std::sync::OnceLock;

use dedupstore_fuzz::{TARGETS, Target};
use libfuzzer_sys::fuzz_target;

static CHOSEN: OnceLock<&'static Target> = OnceLock::new();

fuzz_target!(|input: &[u8]| {
    let target = CHOSEN.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        let found = TARGETS.iter().find(|target| target.name == name);
        found.unwrap_or_else(|| panic!("FUZZ_TARGET names no target: `{name}`"))
    });
    (target.run)(input);
});
