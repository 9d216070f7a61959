//! Measures stores on Redis beside `SADD`, and carries the figures to larger numbers of keys.
//!
//! `cluster_bench` prints processor time and memory of one redis-server per key, what is forgotten
//! and dropped in so much memory, and how long a slice takes to move. `cluster_bench scale` prints how
//! many machines so many keys need, from those figures and from assumptions that are options.

#[path = "cluster/scale.rs"]
mod scale;
#[path = "cluster/servers.rs"]
#[allow(dead_code)]
mod servers;

use std::time::{Duration, Instant};

use dedupstore::Fingerprint;
use dedupstore::sites::{FailureRule, Slicing};
use dedupstore_cluster::{Access, ClusterAddress, ClusterStore, CreateOptions, Recording, Window};
use servers::Server;

const KEYS: u64 = 200_000;
const BATCH: usize = 1000;
const ROUNDS: usize = 5;
const SLICES: u64 = 16;
/// Ends the name of a filter with a window.
const WINDOW: &str = ", window of 8 steps";
/// Ends the name of a filter in so many slices that most keys of a batch have a command of their own.
const MANY_SLICES: &str = ", 1000 slices";
/// The memory of filters whose processor time is measured: 4 bytes per key.
const BYTES_PER_KEY: f64 = 4.0;
/// A slice whose move between nodes is timed.
const MOVED_BYTES: u64 = 64 << 20;

fn url(number: u64) -> String {
    format!("https://harbour.example/page/{number:010}")
}

/// Returns a figure of `INFO`.
fn figure(server: &Server, section: &str, name: &str) -> f64 {
    let text: String = server.call(&["INFO", section]);
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|it| it.trim().parse().ok())
        .expect("a figure")
}

/// Returns the processor time of the server's main thread, in µs.
fn processor_time(server: &Server) -> f64 {
    let part = |name: &str| figure(server, "cpu", name);
    1e6 * (part("used_cpu_user_main_thread") + part("used_cpu_sys_main_thread"))
}

/// Returns the processor time of the server per key, in µs.
fn timed(server: &Server, run: impl FnOnce()) -> f64 {
    let before = processor_time(server);
    run();
    (processor_time(server) - before) / KEYS as f64
}

/// Observes all keys with `SADD`, each in a command of its own or `BATCH` in one command.
fn sadd(server: &Server, single: bool) {
    let client = redis::Client::open(("127.0.0.1", server.port)).expect("an address");
    let mut connection = client.get_connection().expect("a server");
    for first in (0..KEYS).step_by(BATCH) {
        let keys: Vec<String> = (first..first + BATCH as u64).map(url).collect();
        let mut pipeline = redis::pipe();
        match single {
            true => keys.iter().for_each(|key| {
                pipeline.cmd("SADD").arg("set").arg(key);
            }),
            false => {
                pipeline.cmd("SADD").arg("set").arg(&keys);
            }
        }
        let _: redis::Value = pipeline.query(&mut connection).expect("an answer");
    }
}

fn create(server: &Server, filter: &str, bytes_per_key: f64) -> ClusterStore {
    let address: ClusterAddress = format!("redis://127.0.0.1:{}/bench", server.port)
        .parse()
        .expect("an address");
    let (filter, is_window) = match filter.strip_suffix(WINDOW) {
        Some(filter) => (filter, true),
        None => (filter, false),
    };
    let (filter, slices) = match filter.strip_suffix(MANY_SLICES) {
        Some(filter) => (filter, 1000),
        None => (filter, SLICES),
    };
    let window = Window::of_span(Duration::from_secs(7 * 86_400)).ok();
    let window = window.filter(|_| is_window);
    let slicing = Slicing::Horizontal { slices };
    // As `create --memory` does.
    let memory = (KEYS as f64 * bytes_per_key) as u64;
    let options = CreateOptions {
        filter: filter.parse().expect("a filter"),
        memory_bits: CreateOptions::bits_in(memory, slicing, window),
        window,
        slicing,
        rule: FailureRule::Unknown,
        recording: Some(Recording::Atomic),
        seed: Some(1),
        key: String::new(),
    };
    let access = Access::of(&address).expect("no file");
    ClusterStore::create(&address, access, &options).expect("a store")
}

/// Observes all keys, or looks them up. Returns how many were New.
fn ask(store: &mut ClusterStore, record: bool) -> u64 {
    let hasher = store.hasher();
    let mut verdicts = Vec::new();
    let mut new = 0;
    for first in (0..KEYS).step_by(BATCH) {
        let keys: Vec<Fingerprint> = (first..first + BATCH as u64)
            .map(|number| hasher.fingerprint(url(number).as_bytes()))
            .collect();
        let answered = match record {
            true => store.observe_batch(&keys, &mut verdicts),
            false => store.contains_batch(&keys, &mut verdicts),
        };
        answered.expect("an answer");
        new += verdicts.iter().filter(|verdict| verdict.is_new()).count() as u64;
    }
    new
}

struct Row {
    name: &'static str,
    /// µs per new key, one figure per round.
    new: Vec<f64>,
    /// µs per repeat.
    repeat: Vec<f64>,
    /// Messages per key; one carries 1000 keys of `SADD`.
    messages: f64,
}

/// Prints the processor time per key.
fn measure_time(server: &Server) {
    let names = [
        "SADD, a command per key",
        "SADD, 1000 keys per command",
        "slot:values=65535",
        "bloom:k=4",
        "slot:values=65535, 1000 slices",
        "slot:values=65535, window of 8 steps",
        "bloom:k=4, window of 8 steps",
    ];
    let mut rows = names.map(|name| Row {
        name,
        new: Vec::new(),
        repeat: Vec::new(),
        messages: 0.001,
    });
    for _ in 0..ROUNDS {
        for row in &mut rows {
            server.call::<()>(&["FLUSHALL"]);
            if row.name.starts_with("SADD") {
                let single = row.name.ends_with("per key");
                row.new.push(timed(server, || sadd(server, single)));
                row.repeat.push(timed(server, || sadd(server, single)));
            } else {
                let mut store = create(server, row.name, BYTES_PER_KEY);
                let before = store.router_counts().messages;
                let mut observe = || {
                    ask(&mut store, true);
                };
                row.new.push(timed(server, &mut observe));
                row.repeat.push(timed(server, observe));
                let messages = store.router_counts().messages - before;
                row.messages = messages as f64 / KEYS as f64 / 2.0;
            }
        }
    }
    println!("| | µs per new key | µs per repeat | × SADD | messages per 1000 keys |");
    println!("|---|---|---|---|---|");
    let median = |figures: &[f64]| {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    let of_both = |row: &Row| (median(&row.new) + median(&row.repeat)) / 2.0;
    let sadd = of_both(&rows[0]);
    for row in &rows {
        let (new, repeat) = (median(&row.new), median(&row.repeat));
        let times = of_both(row) / sadd;
        println!(
            "| {} | {new:.2} | {repeat:.2} | {times:.2} | {:.1} |",
            row.name,
            1000.0 * row.messages
        );
    }
    // How many slices a batch meets: each costs a command.
    let commands = |slices: f64| {
        let batch = BATCH as f64;
        slices * (1.0 - (1.0 - 1.0 / slices).powf(batch)) / batch
    };
    let (few, many) = (of_both(&rows[2]), of_both(&rows[4]));
    let command = (many - few) / (commands(1000.0) - commands(SLICES as f64));
    println!(
        "\nOf `slot`, a command takes {command:.2} µs, and each key in it {:.2} µs.",
        few - command * commands(SLICES as f64)
    );
}

/// Prints, for filters in so much memory per key, what the server uses, and the errors.
fn measure_memory(server: &Server) {
    server.call::<()>(&["FLUSHALL"]);
    let used = || figure(server, "memory", "used_memory");
    let before = used();
    sadd(server, false);
    let of_sadd = (used() - before) / KEYS as f64;
    println!("| | bytes per key | of SADD's | forgotten | new keys dropped |");
    println!("|---|---|---|---|---|");
    println!("| SADD | {of_sadd:.1} | 1 | 0 | 0 |");
    for filter in ["slot:values=65535", "bloom:k=4"] {
        for bytes_per_key in [2.0, 3.0, 4.0, 8.0] {
            server.call::<()>(&["FLUSHALL"]);
            let before = used();
            let mut store = create(server, filter, bytes_per_key);
            let dropped = KEYS - ask(&mut store, true);
            let forgotten = ask(&mut store, false);
            let bytes = (used() - before) / KEYS as f64;
            println!(
                "| `{filter}`, {bytes_per_key} bytes per key | {bytes:.2} | 1/{:.1} | {:.1} % | {:.4} % |",
                of_sadd / bytes,
                100.0 * forgotten as f64 / KEYS as f64,
                100.0 * dropped as f64 / KEYS as f64
            );
        }
    }
}

/// Prints how long a slice blocks its nodes when it moves.
fn measure_move(server: &Server) {
    let target = Server::start(&["--appendonly", "no"]);
    server.call::<()>(&["FLUSHALL"]);
    let last = (MOVED_BYTES - 1).to_string();
    server.call::<()>(&["SETRANGE", "slice", &last, "x"]);
    let port = target.port.to_string();
    let started = Instant::now();
    let moved = ["MIGRATE", "127.0.0.1", &port, "slice", "0", "60000"];
    server.call::<String>(&moved);
    println!(
        "A slice of {} MiB moves within one machine in {:.0} ms.",
        MOVED_BYTES >> 20,
        1000.0 * started.elapsed().as_secs_f64()
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        None => {
            let server = Server::start(&["--appendonly", "no"]);
            measure_time(&server);
            println!();
            measure_memory(&server);
            println!();
            measure_move(&server);
        }
        Some((first, options)) if first == "scale" => match scale::Plan::parse(options) {
            Ok(plan) => plan.print(),
            Err(error) => {
                eprintln!("{error}");
                std::process::exit(2);
            }
        },
        _ => {
            eprintln!("usage: cargo xtask cluster-bench [scale [--OPTION VALUE]…]");
            std::process::exit(2);
        }
    }
}
