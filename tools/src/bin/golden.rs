//! Adds the golden states and the golden store of a new filter: `cargo xtask golden NAME`.

use std::process::ExitCode;

use dedupstore_tools::golden;

fn main() -> ExitCode {
    let Some(filter) = std::env::args().nth(1) else {
        eprintln!("usage: cargo xtask golden NAME");
        return ExitCode::from(2);
    };
    match golden::add(&filter) {
        Ok(()) => {
            println!("appended to fixtures/golden-states.txt");
            println!("created fixtures/stores/{}", golden::store_name(&filter));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(1)
        }
    }
}
