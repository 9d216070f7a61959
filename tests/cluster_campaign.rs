//! A long campaign of kills: `cargo xtask cluster-campaign [--cases N] [--seed N] [--replay SEED]`.

#[path = "cluster/campaign.rs"]
mod campaign;
#[path = "campaign_options.rs"]
mod campaign_options;
#[path = "cluster/servers.rs"]
#[allow(dead_code)]
mod servers;
#[path = "cluster/stores.rs"]
#[allow(dead_code)]
mod stores;

use std::process::{Command, ExitCode};

use campaign::Outcome;
use campaign_options::CampaignOptions;

const USAGE: &str = "usage: cargo xtask cluster-campaign [--cases N] [--seed N] [--replay SEED]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, address, number] = &arguments[..]
        && word == "client"
    {
        campaign::client(address, number.parse().unwrap_or(0));
        return ExitCode::SUCCESS;
    }
    let Some(options) = CampaignOptions::parse(&arguments, "--cases", 20) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let seeds = match options.replay {
        Some(seed) => seed..seed + 1,
        None => 1000 * options.seed..1000 * options.seed + options.count,
    };
    let mut all = Outcome::default();
    for seed in seeds {
        let outcome = campaign::case(seed, start);
        println!("case {seed}: {outcome}");
        all.add(&outcome);
        if outcome.lost + outcome.twice > 0 {
            println!("to try it again: cargo xtask cluster-campaign --replay {seed}");
            return ExitCode::FAILURE;
        }
    }
    println!("{all}");
    ExitCode::SUCCESS
}

fn start(address: &str, number: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["client", address, &number.to_string()]);
    command
}
