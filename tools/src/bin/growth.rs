//! Prints how a filter grows: `cargo run --release -p dedupstore-tools --bin growth [FILTER
//! RESERVE-MIB KEYS]`.

use dedupstore_tools::growth::{Campaign, HEAD, row, run};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let filter = arguments.next().unwrap_or("growing:fpr=0.001".to_owned());
    let mut number = |default: u64| -> u64 {
        let given = arguments.next();
        given.map_or(default, |text| text.parse().expect("a number"))
    };
    let campaign = Campaign {
        filter,
        reserve_bytes: number(256) << 20,
        most_keys: number(100_000_000),
    };
    let rate = campaign.filter.split("fpr=").nth(1);
    let rate = rate.and_then(|text| text.split(',').next()?.parse().ok());
    let rate = rate.unwrap_or(0.001);
    println!(
        "{} in {} MiB\n\n{HEAD}",
        campaign.filter,
        campaign.reserve_bytes >> 20
    );
    run(&campaign, |point| println!("{}", row(point, rate)));
}
