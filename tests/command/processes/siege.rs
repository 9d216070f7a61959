//! Every attack of `cargo xtask siege`, once.

use std::time::Duration;

use dedupstore_tests::siege::{Program, run};

use crate::DEDUPSTORE;

#[test]
fn every_attack_of_the_siege_is_withstood() {
    let summary = run(&Program::new(DEDUPSTORE), 1, Duration::ZERO).expect("nothing broke");
    println!("{summary}");
    assert!(summary.least() > 0, "{summary}");
}
