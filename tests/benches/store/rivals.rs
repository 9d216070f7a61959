//! Compares the store with exact sets that are synced at the same interval.
//!
//! The databases get a quarter of the keys of each round, because they are slower. Their trees stay
//! smaller, which is to their advantage.

use std::time::Instant;

use super::measure::{
    INTERVAL, Keys, median, millions, open_options, process_time, store_options,
    temporary_directory, verdict,
};
use super::rival::{Fjall, Lmdb, Redb, Rival, SetWithLog};

const ROUNDS: u64 = 5;
const KEYS_PER_ROUND: u64 = 20_000_000;

struct Contender {
    name: &'static str,
    rival: Box<dyn Rival>,
    syncs_itself: bool,
    keys: Keys,
    keys_per_round: u64,
    /// The factor by which our store must be faster.
    target: Option<f64>,
    rates: Vec<f64>,
    processor_rates: Vec<f64>,
}

pub fn run(size_mib: u64) {
    let directory = temporary_directory();
    let options = store_options("blocked:k=4,cap=70", size_mib);
    let path = directory.path().join("ours.dds");
    let ours = open_options().create(path, &options).expect("created");
    let at = directory.path();
    let mut contenders = [
        contender("dedupstore, blocked", Box::new(ours), None),
        contender(
            "HashSet<u64> with log",
            Box::new(SetWithLog::create(at)),
            Some(1.5),
        ),
        contender("redb", Box::new(Redb::create(at)), Some(20.0)),
        contender("fjall", Box::new(Fjall::create(at)), Some(20.0)),
        contender("LMDB (heed)", Box::new(Lmdb::create(at)), Some(20.0)),
    ];
    contenders[0].syncs_itself = true;
    for contender in &mut contenders[2..] {
        contender.keys_per_round /= 4;
    }
    let generation = Keys::generation_cost();
    for round in 0..ROUNDS {
        for i in 0..contenders.len() {
            let contender = &mut contenders[(i + round as usize) % 5];
            let before = process_time();
            let rate = one_round(contender);
            let count = contender.keys_per_round;
            let processor = (process_time() - before).saturating_sub(generation * count as u32);
            contender.rates.push(rate);
            contender.processor_rates.push(millions(count, processor));
        }
    }
    print(&contenders, size_mib);
}

fn contender(name: &'static str, rival: Box<dyn Rival>, target: Option<f64>) -> Contender {
    Contender {
        name,
        rival,
        syncs_itself: false,
        keys: Keys::new(),
        keys_per_round: KEYS_PER_ROUND,
        target,
        rates: Vec::new(),
        processor_rates: Vec::new(),
    }
}

/// Runs a round, which ends with a commit. Returns millions of keys per second.
fn one_round(contender: &mut Contender) -> f64 {
    let (rival, syncs_itself) = (&mut contender.rival, contender.syncs_itself);
    let mut committed = Instant::now();
    let spent = contender.keys.timed(contender.keys_per_round, |batch| {
        std::hint::black_box(rival.observe(batch));
        if !syncs_itself && committed.elapsed() >= INTERVAL {
            rival.commit();
            committed = Instant::now();
        }
    });
    let started = Instant::now();
    rival.commit();
    millions(contender.keys_per_round, spent + started.elapsed())
}

fn print(contenders: &[Contender], size_mib: u64) {
    println!(
        "\nRivals, synced every second; our store has {size_mib} MiB; {ROUNDS} rounds of {} million \
         keys, a quarter of that for databases",
        KEYS_PER_ROUND / 1_000_000
    );
    println!(
        "{:<24} {:>12} {:>12} {:>14}   × faster than it",
        "", "M/s", "M/CPU s", "keys at end"
    );
    let ours = &contenders[0];
    for contender in contenders {
        let ratios = ours.rates.iter().zip(&contender.rates);
        let ratio = median(ratios.map(|(ours, other)| ours / other));
        let ratios = ours.processor_rates.iter().zip(&contender.processor_rates);
        let processor_ratio = median(ratios.map(|(ours, other)| ours / other));
        let target = contender.target.map_or(String::new(), |target| {
            let met = verdict(ratio >= target);
            format!("{ratio:.1}, by CPU time {processor_ratio:.1}; target {target}: {met}")
        });
        println!(
            "{:<24} {:>12.2} {:>12.2} {:>14}   {target}",
            contender.name,
            median(contender.rates.iter().copied()),
            median(contender.processor_rates.iter().copied()),
            contender.keys_per_round * ROUNDS * 3 / 10,
        );
    }
}
