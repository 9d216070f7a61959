//! Measures stores on Redis beside `SADD`, and carries the figures to larger numbers of keys.
//!
//! `cluster_bench` prints processor time and memory of one redis-server per key; `cluster_bench scale
//! SLOT_US SADD_US` prints how many machines so many keys need, from those figures.

#[path = "cluster/servers.rs"]
#[allow(dead_code)]
mod servers;

use dedupstore::Fingerprint;
use dedupstore::sites::FailureRule;
use dedupstore_cluster::{Access, ClusterAddress, ClusterStore, CreateOptions, Recording};
use servers::Server;

const KEYS: u64 = 200_000;
const BATCH: usize = 1000;
const ROUNDS: usize = 5;
/// The memory of both filters: 4 bytes per key.
const MEMORY_BITS: u64 = KEYS * 32;

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

fn create(server: &Server, filter: &str) -> ClusterStore {
    let address: ClusterAddress = format!("redis://127.0.0.1:{}/bench", server.port)
        .parse()
        .expect("an address");
    let options = CreateOptions {
        filter: filter.parse().expect("a filter"),
        memory_bits: MEMORY_BITS,
        slicing: "horizontal:16".parse().expect("slices"),
        rule: FailureRule::Unknown,
        recording: Some(Recording::Atomic),
        seed: Some(1),
        key: String::new(),
    };
    let access = Access::of(&address).expect("no file");
    ClusterStore::create(&address, access, &options).expect("a store")
}

fn observe(store: &mut ClusterStore) {
    let hasher = store.hasher();
    let mut verdicts = Vec::new();
    for first in (0..KEYS).step_by(BATCH) {
        let keys: Vec<Fingerprint> = (first..first + BATCH as u64)
            .map(|number| hasher.fingerprint(url(number).as_bytes()))
            .collect();
        store
            .observe_batch(&keys, &mut verdicts)
            .expect("an answer");
    }
}

struct Row {
    name: &'static str,
    /// µs per new key, one figure per round.
    new: Vec<f64>,
    /// µs per repeat.
    repeat: Vec<f64>,
    bytes_per_key: f64,
}

fn measure() {
    let server = Server::start(&["--appendonly", "no"]);
    let names = [
        "SADD, a command per key",
        "SADD, 1000 keys per command",
        "slot:values=65535",
        "bloom:k=4",
    ];
    let mut rows = names.map(|name| Row {
        name,
        new: Vec::new(),
        repeat: Vec::new(),
        bytes_per_key: 0.0,
    });
    for _ in 0..ROUNDS {
        for row in &mut rows {
            server.call::<()>(&["FLUSHALL"]);
            let before = figure(&server, "memory", "used_memory");
            if row.name.starts_with("SADD") {
                let single = row.name.ends_with("per key");
                row.new.push(timed(&server, || sadd(&server, single)));
                row.repeat.push(timed(&server, || sadd(&server, single)));
            } else {
                let mut store = create(&server, row.name);
                row.new.push(timed(&server, || observe(&mut store)));
                row.repeat.push(timed(&server, || observe(&mut store)));
            }
            row.bytes_per_key = (figure(&server, "memory", "used_memory") - before) / KEYS as f64;
        }
    }
    println!("| | µs per new key | µs per repeat | × SADD | bytes per key |");
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
            row.name, row.bytes_per_key
        );
    }
}

/// What a machine for Redis has and costs, and how keys come; assumptions, not measurements.
const MACHINE_BYTES: f64 = 64e9;
const MACHINE_PRICE_PER_HOUR: f64 = 0.25;
/// The share of a machine's memory and of a processor that is planned for.
const USABLE: f64 = 0.5;
/// A crawl of the size is done in so many days, and meets each key so often.
const DAYS: f64 = 90.0;
const MEETINGS: f64 = 10.0;
/// Of these, a leaf answers this share.
const LEAF_HITS: f64 = 0.8;
const BATCH_KEYS: f64 = 1000.0;

fn scale(microseconds: f64, bytes_per_key: f64) {
    println!(
        "| keys | memory | keys/s at the root | messages/s | Redis processes for speed | machines | per billion keys |"
    );
    println!("|---|---|---|---|---|---|---|");
    for exponent in [8, 9, 10, 11] {
        let keys = 10f64.powi(exponent);
        let memory = keys * bytes_per_key;
        let per_second = keys * MEETINGS * (1.0 - LEAF_HITS) / (DAYS * 86_400.0);
        let processes = (per_second * microseconds / 1e6 / USABLE).ceil().max(1.0);
        // A master and a replica on another machine.
        let machines = (2.0 * memory / (MACHINE_BYTES * USABLE)).ceil().max(2.0);
        let messages = per_second / BATCH_KEYS * (machines / 2.0).max(processes).ceil();
        let cost = machines * DAYS * 24.0 * MACHINE_PRICE_PER_HOUR / (keys / 1e9);
        println!(
            "| 10^{exponent} | {:.1} GB | {per_second:.0} | {messages:.1} | {processes:.0} | {machines:.0} | {cost:.0} $ |",
            memory / 1e9
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments.get(index).and_then(|it| it.parse().ok());
    match (arguments.first().map(String::as_str), number(1), number(2)) {
        (None, ..) => measure(),
        (Some("scale"), Some(microseconds), Some(bytes)) => scale(microseconds, bytes),
        _ => println!("cluster_bench [scale MICROSECONDS_PER_KEY BYTES_PER_KEY]"),
    }
}
