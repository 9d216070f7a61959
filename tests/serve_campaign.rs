//! Long runs against `dedupstore serve`: `cargo xtask serve kills | frames | crowd | bench |
//! checkpoint`.

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask serve COMMAND

  kills [N]              kill a server under load N times (100 unless given)
  frames [N [SEED]]      send N random and mutated requests (10000000 unless given)
  crowd [N]              N clients that misbehave (1000 unless given)
  bench [CLIENTS…]       processor time per key beside redis-server, also for so many clients
  checkpoint [MEMORY]    latency of single requests during a checkpoint (1GiB unless given)";

#[cfg(unix)]
fn main() -> ExitCode {
    use std::path::Path;
    use std::time::Duration;

    use dedupstore_tests::serve::{bench, checkpoint, crowd, frames, kills};

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [program, command, ref rest @ ..] = arguments[..] else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let number = |index: usize, default: u64| {
        let given = rest.get(index).and_then(|text| text.parse().ok());
        given.unwrap_or(default)
    };
    let program = Path::new(program);
    let directory = tempfile::tempdir().expect("a directory");
    let directory = directory.path();
    match command {
        "kills" => {
            let load = Duration::from_millis(400);
            println!("{:?}", kills::run(program, directory, number(0, 100), load));
        }
        "frames" => {
            let (count, seed) = (number(0, 10_000_000), number(1, 1));
            println!("{:?}", frames::run(program, directory, count, seed));
        }
        "crowd" => {
            let clients = number(0, 1000) as usize;
            println!("{:?}", crowd::run(program, directory, clients));
        }
        "checkpoint" => {
            let memory = rest.first().unwrap_or(&"1GiB");
            println!("{:?}", checkpoint::run(program, directory, memory));
        }
        "bench" => {
            let of = |clients, pipeline, keys| bench::Load {
                clients,
                pipeline,
                keys,
            };
            let mut loads = vec![of(1, 4, 1000), of(50, 50, 1)];
            let more = rest.iter().filter_map(|text| text.parse().ok());
            loads.extend(more.map(|clients| of(clients, 1, 1)));
            println!(
                "| clients | pipeline | keys per request | µs per key | Redis | ratio | keys per s | Redis |"
            );
            println!("|---|---|---|---|---|---|---|---|");
            for load in loads {
                let keys = match load.pipeline {
                    1 => 100_000,
                    _ => 2_000_000,
                };
                for it in bench::run(program, directory, &[load], keys, 10) {
                    println!(
                        "| {} | {} | {} | {:.3} | {:.3} | {:.1} × | {:.0} | {:.0} |",
                        it.load.clients,
                        it.load.pipeline,
                        it.load.keys,
                        it.ours,
                        it.redis,
                        it.ratio(),
                        it.our_rate,
                        it.redis_rate,
                    );
                }
            }
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}
