//! Opening a store that was closed, and the first observations after that.
//!
//! `Automatic` is one of the other two. Where it differs from that one, the difference is
//! in the memory that the system happened to hand out: clearing huge pages can take
//! several times as long for one opening as for the next.

use std::path::Path;
use std::time::{Duration, Instant};

use dedupstore::store::{Backing, OpenOptions, Store};

use super::measure::{
    Keys, feed, median, millions, milliseconds, opening, place, process_time, store_options,
    thread_time, verdict,
};

const ROUNDS: usize = 3;
const SIZES_MIB: [u64; 3] = [64, 256, 1024];
const FIRST_KEYS: u64 = 1_000_000;
const WARM_UP_KEYS: u64 = 8_000_000;
/// At 1 GiB.
const VERIFIED_TARGET: Duration = Duration::from_millis(600);
const DEFERRED_TARGET: Duration = Duration::from_millis(20);

pub fn run(size_mib: u64) {
    println!("\nOpening a clean store, its files in memory; medians of {ROUNDS}");
    println!(
        "{:>8}  {:<12} {:<9} {:>9} {:>9} {:>14} {:>14}   target at 1024: {} ms verified, {} deferred",
        "MiB",
        "backing",
        "checked",
        "ms",
        "ms, cpu",
        "first M/s cpu",
        "later M/s cpu",
        milliseconds(VERIFIED_TARGET),
        milliseconds(DEFERRED_TARGET),
    );
    for size_mib in SIZES_MIB.into_iter().filter(|&size| size <= size_mib) {
        let directory = place();
        let path = directory.path().join("opening.dds");
        let options = store_options("bloom:k=4", size_mib);
        let mut store = Store::create(&path, &options, opening()).expect("made");
        feed(&mut store, &mut Keys::new(), WARM_UP_KEYS);
        store.close().expect("closed");
        compare(&path, size_mib);
    }
}

struct Way {
    backing: Backing,
    verify_first: bool,
    /// Opening, in milliseconds of both clocks; then rates, first and later.
    figures: [Vec<f64>; 4],
}

fn compare(path: &Path, size_mib: u64) {
    let way = |backing, verify_first| Way {
        backing,
        verify_first,
        figures: Default::default(),
    };
    let mut ways = [
        way(Backing::Anonymous, true),
        way(Backing::PrivateMap, true),
        way(Backing::Automatic, true),
        way(Backing::Anonymous, false),
        way(Backing::PrivateMap, false),
        way(Backing::Automatic, false),
    ];
    for round in 0..ROUNDS {
        for i in 0..ways.len() {
            let way = &mut ways[(i + round) % 6];
            let figures = one_opening(path, way.backing, way.verify_first);
            for (all, figure) in way.figures.iter_mut().zip(figures) {
                all.push(figure);
            }
        }
    }
    for way in ways {
        let [wall, processor, first, later] = way.figures.map(median);
        let (checked, target) = match way.verify_first {
            true => ("first", VERIFIED_TARGET),
            false => ("after", DEFERRED_TARGET),
        };
        let met = match size_mib {
            1024 => verdict(wall < milliseconds(target)),
            _ => "",
        };
        println!(
            "{size_mib:>8}  {:<12} {checked:<9} {wall:>9.1} {processor:>9.1} {first:>14.1} \
             {later:>14.1}   {met}",
            format!("{:?}", way.backing),
        );
    }
}

fn one_opening(path: &Path, backing: Backing, verify_first: bool) -> [f64; 4] {
    let options = OpenOptions {
        backing,
        verify_first,
        ..opening()
    };
    let (wall, processor) = (Instant::now(), process_time());
    let mut store = Store::open(path, options).expect("opened");
    let (wall, processor) = (wall.elapsed(), process_time() - processor);
    let mut keys = Keys::new();
    let mut rate = || {
        let before = thread_time();
        feed(&mut store, &mut keys, FIRST_KEYS);
        millions(FIRST_KEYS, thread_time() - before)
    };
    let first = rate();
    for _ in 0..WARM_UP_KEYS / FIRST_KEYS {
        rate();
    }
    let later = rate();
    store.close().expect("closed");
    [milliseconds(wall), milliseconds(processor), first, later]
}
