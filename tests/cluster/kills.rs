//! A short campaign of kills.

use std::process::Command;

use crate::campaign;

const VARIABLE: &str = "DEDUPSTORE_CAMPAIGN_CLIENT";

/// Not a test: the process of a client of [`no_acknowledged_key_is_lost_to_kills`].
#[test]
fn client_process() {
    let Ok(text) = std::env::var(VARIABLE) else {
        return;
    };
    let (address, number) = text.rsplit_once(' ').expect("address and number");
    campaign::client(address, number.parse().expect("a number"));
}

fn start(address: &str, number: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["--exact", "kills::client_process", "--nocapture", "--quiet"])
        .env(VARIABLE, format!("{address} {number}"));
    command
}

#[test]
fn no_acknowledged_key_is_lost_to_kills() {
    let mut all = campaign::Outcome::default();
    for seed in 1..3 {
        let outcome = campaign::case(seed, start);
        println!("seed {seed}: {outcome}");
        all.add(&outcome);
    }
    assert!(all.killed_masters >= 2 && all.killed_clients >= 2, "{all}");
    assert!(all.acknowledged > 1000 && all.unknown > 0, "{all}");
    assert_eq!((all.lost, all.twice), (0, 0), "{all}");
}
