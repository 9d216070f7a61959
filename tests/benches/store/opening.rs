//! Measures opening a store that was closed, and the first observations after that.
//!
//! `Automatic` is one of the other two backings. A difference between it and that one is due to the
//! memory that the system provided: clearing huge pages can take several times longer for one
//! opening than for the next.

use std::path::Path;
use std::time::{Duration, Instant};

use dedupstore::store::Backing;

use super::measure::{
    Keys, feed, median, millions, milliseconds, open_options, process_time, store_options,
    temporary_directory, thread_time, verdict,
};

const ROUNDS: usize = 3;
const SIZES_MIB: [u64; 3] = [64, 256, 1024];
const FIRST_KEYS: u64 = 1_000_000;
const WARM_UP_KEYS: u64 = 8_000_000;
/// The targets apply at 1 GiB.
const VERIFIED_TARGET: Duration = Duration::from_millis(600);
const DEFERRED_TARGET: Duration = Duration::from_millis(20);

pub fn run(size_mib: u64) {
    println!("\nOpening a clean store with its files in the page cache; medians of {ROUNDS}");
    println!(
        "{:>8}  {:<12} {:<9} {:>9} {:>9} {:>14} {:>14}   target at 1024 MiB: {} ms verified first, {} ms verified after",
        "MiB",
        "backing",
        "verified",
        "ms",
        "CPU ms",
        "first M/CPU s",
        "later M/CPU s",
        milliseconds(VERIFIED_TARGET),
        milliseconds(DEFERRED_TARGET),
    );
    for size_mib in SIZES_MIB.into_iter().filter(|&size| size <= size_mib) {
        let directory = temporary_directory();
        let path = directory.path().join("opening.dds");
        let options = store_options("bloom:k=4", size_mib);
        let mut store = open_options().create(&path, &options).expect("created");
        feed(&mut store, &mut Keys::new(), WARM_UP_KEYS);
        store.close().expect("closed");
        compare(&path, size_mib);
    }
}

struct Case {
    backing: Backing,
    verify_first: bool,
    /// Opening time in milliseconds, wall and CPU; then rates, first and later.
    figures: [Vec<f64>; 4],
}

fn compare(path: &Path, size_mib: u64) {
    let case = |backing, verify_first| Case {
        backing,
        verify_first,
        figures: Default::default(),
    };
    let mut cases = [
        case(Backing::Anonymous, true),
        case(Backing::PrivateMap, true),
        case(Backing::Automatic, true),
        case(Backing::Anonymous, false),
        case(Backing::PrivateMap, false),
        case(Backing::Automatic, false),
    ];
    for round in 0..ROUNDS {
        for i in 0..cases.len() {
            let case = &mut cases[(i + round) % 6];
            let figures = one_opening(path, case.backing, case.verify_first);
            for (all, figure) in case.figures.iter_mut().zip(figures) {
                all.push(figure);
            }
        }
    }
    for case in cases {
        let [wall, processor, first, later] = case.figures.map(median);
        let (verified, target) = match case.verify_first {
            true => ("first", VERIFIED_TARGET),
            false => ("after", DEFERRED_TARGET),
        };
        let met = match size_mib {
            1024 => verdict(wall < milliseconds(target)),
            _ => "",
        };
        println!(
            "{size_mib:>8}  {:<12} {verified:<9} {wall:>9.1} {processor:>9.1} {first:>14.1} \
             {later:>14.1}   {met}",
            format!("{:?}", case.backing),
        );
    }
}

fn one_opening(path: &Path, backing: Backing, verify_first: bool) -> [f64; 4] {
    let options = open_options().backing(backing).verify_first(verify_first);
    let (wall, processor) = (Instant::now(), process_time());
    let mut store = options.open(path).expect("opened");
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
