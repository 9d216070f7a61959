//! Measures observations of one key per call: durable ones, through the log's map and through
//! write(2), and the same in memory.
//!
//! Keys are URLs of 72 bytes, 30 % of them new; hashing is included. CPU time is that of all
//! threads of the process, so checkpoints and syncs count. Making the keys is left out.

use std::time::{Duration, Instant};

use dedupstore::store::{Claim, SharedStore};

use super::measure::{
    Keys, filters, median, open_options, process_time, store_options, temporary_directory, verdict,
};

/// The number of keys per contender and round: more than a log of 256 MiB takes.
const KEYS: u64 = 8_000_000;
const ROUNDS: usize = 3;
/// The largest cost of a durable observation in nanoseconds.
const TARGET: f64 = 300.0;

type Contender = (&'static str, Box<dyn FnMut(&[u8]) -> bool>);

/// Prints the cost per call of each contender.
pub fn run(size_mib: u64) {
    println!("\n## Single keys, {size_mib} MiB\n");
    for filter in filters(&["blocked"]) {
        let directory = temporary_directory();
        let options = store_options(&filter, size_mib);
        let path = |name: &str| directory.path().join(name);
        let opening = open_options();
        let mut mapped = opening
            .create(path("mapped.dds"), &options)
            .expect("created");
        let unmapped = opening.map_log(false);
        let mut written = unmapped
            .create(path("written.dds"), &options)
            .expect("created");
        let mut claimed = opening
            .create(path("claimed.dds"), &options)
            .expect("created");
        let shared = SharedStore::create(path("shared.dds"), &options.clone().shards(2));
        let shared = shared.expect("created");
        let mut set = options.in_memory().expect("memory");
        let mut contenders: Vec<Contender> = vec![
            ("keys alone", Box::new(|key| key.is_empty())),
            ("in memory", Box::new(move |key| set.observe(key).is_new())),
            (
                "Store::observe",
                Box::new(move |key| mapped.observe(key).expect("observed").is_new()),
            ),
            (
                "Store::observe by write(2)",
                Box::new(move |key| written.observe(key).expect("observed").is_new()),
            ),
            (
                "Store::claim and commit",
                Box::new(move |key| match claimed.claim(key) {
                    Claim::New(ticket) => claimed.commit(ticket).is_ok(),
                    Claim::Seen | Claim::Pending => false,
                }),
            ),
            (
                "SharedStore::observe",
                Box::new(move |key| shared.observe(key).expect("observed").is_new()),
            ),
        ];
        let mut costs = vec![Vec::new(); contenders.len()];
        let mut streams = vec![Urls::new(); contenders.len()];
        for _ in 0..ROUNDS {
            for (index, (_, observe)) in contenders.iter_mut().enumerate() {
                costs[index].push(streams[index].timed(KEYS, observe));
            }
        }
        println!("{filter}: ns per call, median of {ROUNDS} rounds of {KEYS} keys");
        println!("{:28} {:>8} {:>8}", "", "CPU", "wall");
        let part = |index: usize, part: fn(&Cost) -> Duration| {
            let per_key = |cost: &Cost| part(cost).as_secs_f64() * 1e9 / KEYS as f64;
            median(costs[index].iter().map(per_key))
        };
        let (keys_cpu, keys_wall) = (part(0, |cost| cost.cpu), part(0, |cost| cost.wall));
        for (index, (name, _)) in contenders.iter().enumerate().skip(1) {
            let cpu = part(index, |cost| cost.cpu) - keys_cpu;
            let wall = part(index, |cost| cost.wall) - keys_wall;
            let target = match *name {
                "Store::observe" | "Store::claim and commit" => {
                    format!("target {TARGET} {}", verdict(cpu <= TARGET))
                }
                _ => String::new(),
            };
            println!("{name:28} {cpu:8.0} {wall:8.0}  {target}");
        }
    }
}

#[derive(Clone)]
struct Cost {
    cpu: Duration,
    wall: Duration,
}

/// A stream of URLs of 72 bytes.
#[derive(Clone)]
struct Urls {
    keys: Keys,
    url: [u8; 72],
}

impl Urls {
    fn new() -> Self {
        let mut url = [b'a'; 72];
        url[..40].copy_from_slice(b"https://harbour.example/archive/2026/11/");
        Urls {
            keys: Keys::new(),
            url,
        }
    }

    /// Calls `observe` with `count` URLs. The cost includes making them.
    fn timed(&mut self, count: u64, observe: &mut dyn FnMut(&[u8]) -> bool) -> Cost {
        let (cpu, started) = (process_time(), Instant::now());
        let url = &mut self.url;
        self.keys.timed(count, |batch| {
            for key in batch {
                let digits = url[56..].iter_mut().enumerate();
                digits.for_each(|(i, digit)| {
                    *digit = b"0123456789abcdef"[(key.fingerprint.0 >> (4 * i)) as usize % 16];
                });
                std::hint::black_box(observe(&url[..]));
            }
        });
        Cost {
            cpu: process_time() - cpu,
            wall: started.elapsed(),
        }
    }
}
