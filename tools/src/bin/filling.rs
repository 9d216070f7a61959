//! Prints how long batches take while a filter fills: `cargo run --release -p dedupstore-tools --bin
//! filling [MEMORY-MIB MILLION-KEYS ROWS BASELINE FILTER…]`.

use dedupstore_tools::filling::{Campaign, line, mean, run};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| -> u64 {
        let given = arguments.next();
        given.map_or(default, |text| text.parse().expect("a number"))
    };
    let memory_bytes = number(256) << 20;
    let keys = number(125) * 1_000_000;
    let rows = number(10);
    let mut filters: Vec<String> = arguments.collect();
    if filters.is_empty() {
        filters = ["blocked", "quotient"].map(str::to_owned).to_vec();
    }
    let campaign = Campaign {
        filters,
        memory_bytes,
        keys,
        rows,
    };
    let named = |kind: &str| -> String {
        let name = |filter: &String| format!(" {kind}: {filter} |");
        campaign.filters.iter().map(name).collect()
    };
    println!("| keys |{}{}", named("new"), named("repeats"));
    println!("|---|{}", "---|".repeat(2 * campaign.filters.len()));
    let rows = run(&campaign, |row| {
        println!("{}", line(&row.keys.to_string(), &row.new, &row.repeats));
    });
    let (new, repeats) = (mean(&rows, |it| &it.new), mean(&rows, |it| &it.repeats));
    println!("{}", line("mean", &new, &repeats));
}
