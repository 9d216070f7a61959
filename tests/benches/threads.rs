//! Compares several threads with one, interleaved:
//! `cargo bench -p dedupstore-benches --bench threads [-- SIZE_MIB … NAME …]`.
//!
//! The first rows say what the machine can give at all: the same loop in one thread and in two, each
//! with half of the work. One loop computes, the other waits for random cache lines. The last row
//! is a split block Bloom filter of another crate, divided into 64 parts with a mutex each, which
//! two threads fill together. A ratio is the median over the rounds of the ratio to one thread in
//! the same round.

use std::sync::Mutex;
use std::time::Instant;

use dedupstore::{KeyHasher, Observation, SeenSet, Verdict};

const ROUNDS: usize = 9;
const KEYS_PER_ROUND: usize = 4_000_000;
const FILTERS: [&str; 6] = ["blocked", "slot", "word", "recent", "aging", "sqf"];
const THREADS: usize = 2;
const MUTEXES: usize = 64;

fn main() {
    // Cargo adds the option `--bench`.
    let arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    let (numbers, names): (Vec<_>, Vec<_>) =
        arguments.partition(|argument| argument.parse::<u64>().is_ok());
    let mut sizes: Vec<u64> = numbers.iter().flat_map(|number| number.parse()).collect();
    if sizes.is_empty() {
        sizes = vec![256];
    }
    for size_mib in sizes {
        compare(size_mib, &names);
    }
}

/// One of the two sides of a comparison.
type Run = Box<dyn FnMut(&[Observation])>;

struct Pair {
    name: String,
    one: Run,
    two: Run,
    /// The seconds of each round.
    seconds: Vec<[f64; 2]>,
}

fn compare(size_mib: u64, names: &[String]) {
    let mut pairs = vec![computing(), waiting(size_mib)];
    let wanted = |name: &&&str| names.is_empty() || names.iter().any(|it| it == **name);
    pairs.extend(
        FILTERS
            .iter()
            .filter(wanted)
            .map(|name| filter(name, size_mib)),
    );
    pairs.push(mutexes(size_mib));
    for round in 0..ROUNDS {
        let keys = keys_of(round as u64);
        for pair in &mut pairs {
            let seconds = [&mut pair.one, &mut pair.two].map(|run| {
                let started = Instant::now();
                run(&keys);
                started.elapsed().as_secs_f64()
            });
            pair.seconds.push(seconds);
        }
    }
    println!("\n{size_mib} MiB, {ROUNDS} rounds of {KEYS_PER_ROUND} hashed keys");
    println!("{:<28} {:>10} {:>10} {:>8}", "", "ns, 1", "ns, 2", "ratio");
    let per_key = |seconds: f64| seconds * 1e9 / KEYS_PER_ROUND as f64;
    for pair in &pairs {
        let [one, two] = [0, 1].map(|side| median(pair.seconds.iter().map(|it| per_key(it[side]))));
        let ratio = median(pair.seconds.iter().map(|[one, two]| one / two));
        println!("{:<28} {one:>10.1} {two:>10.1} {ratio:>8.2}", pair.name);
    }
}

fn filter(name: &str, size_mib: u64) -> Pair {
    let run = |threads: usize| -> Run {
        let builder = SeenSet::builder(name).expect("a filter");
        let builder = builder.memory_bits(size_mib << 23).threads(threads);
        let mut set = builder.build().expect("enough memory");
        let mut verdicts = vec![Verdict::New; KEYS_PER_ROUND];
        Box::new(move |keys| set.observe_batch(keys, &mut verdicts))
    };
    pair(name, run(1), run(THREADS))
}

fn pair(name: &str, one: Run, two: Run) -> Pair {
    Pair {
        name: name.to_owned(),
        one,
        two,
        seconds: Vec::new(),
    }
}

/// Calls `work` with the number of a thread and its share of the keys.
fn divided(threads: usize, keys: &[Observation], work: impl Fn(usize, &[Observation]) + Sync) {
    std::thread::scope(|scope| {
        let work = &work;
        for (number, share) in keys.chunks(keys.len().div_ceil(threads)).enumerate() {
            scope.spawn(move || work(number, share));
        }
    });
}

fn computing() -> Pair {
    let run = |threads: usize| -> Run {
        Box::new(move |keys| {
            divided(threads, keys, |_, share| {
                let mut sum = 0u64;
                for key in share {
                    for _ in 0..16 {
                        sum = (sum ^ key.fingerprint.0).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                    }
                }
                std::hint::black_box(sum);
            });
        })
    };
    pair("(machine: computing)", run(1), run(THREADS))
}

fn waiting(size_mib: u64) -> Pair {
    let run = |threads: usize| -> Run {
        let words: Vec<u64> = (0..size_mib << 17).collect();
        Box::new(move |keys| {
            divided(threads, keys, |_, share| {
                let mut sum = 0u64;
                for key in share {
                    let at = (u128::from(key.fingerprint.0) * words.len() as u128) >> 64;
                    sum = sum.wrapping_add(words[at as usize]);
                }
                std::hint::black_box(sum);
            });
        })
    };
    pair("(machine: random reads)", run(1), run(THREADS))
}

fn mutexes(size_mib: u64) -> Pair {
    let run = |threads: usize| -> Run {
        let part = || sbbf_rs_safe::Filter::new(8, (size_mib << 20) as usize / MUTEXES);
        let parts: Vec<_> = (0..MUTEXES).map(|_| Mutex::new(part())).collect();
        Box::new(move |keys| {
            divided(threads, keys, |_, share| {
                let mut new = 0;
                for key in share {
                    let hash = key.fingerprint.0;
                    let part = &parts[hash as usize % MUTEXES];
                    new += u64::from(
                        !part
                            .lock()
                            .expect("no panic")
                            .insert_hash(hash.rotate_left(32)),
                    );
                }
                std::hint::black_box(new);
            });
        })
    };
    pair("64 × Mutex<sbbf-rs-safe>", run(1), run(THREADS))
}

/// Returns the keys of a round. About 20 % are new: 30 % come from the range of this round, the
/// others from the ranges of all rounds so far.
fn keys_of(round: u64) -> Vec<Observation> {
    let hasher = KeyHasher::new(1);
    let fresh = KEYS_PER_ROUND as u64 * 3 / 10;
    let number = |i: u64| match i % 10 {
        0..3 => round * fresh + i,
        _ => hasher.fingerprint(&i.to_le_bytes()).0 % ((round + 1) * fresh),
    };
    let numbers = (0..KEYS_PER_ROUND as u64).map(number);
    numbers
        .map(|number| hasher.fingerprint(&number.to_le_bytes()).into())
        .collect()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
