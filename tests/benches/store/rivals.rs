//! The store beside exact sets that are durable as often.
//!
//! The databases get the first quarter of each round's keys, so that a run ends today. Their
//! trees stay smaller for it, which is to their advantage.

use std::time::Instant;

use dedupstore::store::Store;

use super::measure::{
    INTERVAL, Keys, median, millions, opening, place, process_time, store_options, verdict,
};
use super::rival::{Fjall, Lmdb, Redb, Rival, SetWithLog};

const ROUNDS: u64 = 5;
const KEYS_A_ROUND: u64 = 20_000_000;

struct Contender {
    name: &'static str,
    rival: Box<dyn Rival>,
    commits_itself: bool,
    keys: Keys,
    keys_a_round: u64,
    /// How many times faster ours is to be.
    target: Option<f64>,
    rates: Vec<f64>,
    processor_rates: Vec<f64>,
}

pub fn run(size_mib: u64) {
    let directory = place();
    let options = store_options("blocked", size_mib);
    let path = directory.path().join("ours.dds");
    let ours = Store::create(path, &options, opening()).expect("made");
    let at = directory.path();
    let mut contenders = [
        contender("dedupstore, blocked", Box::new(ours), None),
        contender(
            "HashSet<u64> and log",
            Box::new(SetWithLog::create(at)),
            Some(1.5),
        ),
        contender("redb", Box::new(Redb::create(at)), Some(20.0)),
        contender("fjall", Box::new(Fjall::create(at)), Some(20.0)),
        contender("LMDB by heed", Box::new(Lmdb::create(at)), Some(20.0)),
    ];
    contenders[0].commits_itself = true;
    for contender in &mut contenders[2..] {
        contender.keys_a_round /= 4;
    }
    let making = Keys::processor_cost();
    for round in 0..ROUNDS {
        for i in 0..contenders.len() {
            let contender = &mut contenders[(i + round as usize) % 5];
            let before = process_time();
            let seconds = one_round(contender);
            let count = contender.keys_a_round;
            let processor = (process_time() - before).saturating_sub(making * count as u32);
            contender.rates.push(seconds);
            contender.processor_rates.push(millions(count, processor));
        }
    }
    print(&contenders, size_mib);
}

fn contender(name: &'static str, rival: Box<dyn Rival>, target: Option<f64>) -> Contender {
    Contender {
        name,
        rival,
        commits_itself: false,
        keys: Keys::new(),
        keys_a_round: KEYS_A_ROUND,
        target,
        rates: Vec::new(),
        processor_rates: Vec::new(),
    }
}

/// A round ends with a commit, for each of them.
fn one_round(contender: &mut Contender) -> f64 {
    let (rival, commits_itself) = (&mut contender.rival, contender.commits_itself);
    let mut committed = Instant::now();
    let spent = contender.keys.timed(contender.keys_a_round, |batch| {
        std::hint::black_box(rival.observe(batch));
        if !commits_itself && committed.elapsed() >= INTERVAL {
            rival.commit();
            committed = Instant::now();
        }
    });
    let started = Instant::now();
    rival.commit();
    millions(contender.keys_a_round, spent + started.elapsed())
}

fn print(contenders: &[Contender], size_mib: u64) {
    println!(
        "\nRivals, durable every second; ours has {size_mib} MiB; {ROUNDS} rounds of {} million \
         keys, a quarter of them for databases",
        KEYS_A_ROUND / 1_000_000
    );
    println!(
        "{:<24} {:>12} {:>12} {:>14}   ours is × faster",
        "", "million/s", "of cpu", "keys at last"
    );
    let ours = &contenders[0];
    for contender in contenders {
        let ratios = ours.rates.iter().zip(&contender.rates);
        let ratio = median(ratios.map(|(ours, other)| ours / other));
        let ratios = ours.processor_rates.iter().zip(&contender.processor_rates);
        let processor_ratio = median(ratios.map(|(ours, other)| ours / other));
        let target = contender.target.map_or(String::new(), |target| {
            let met = verdict(ratio >= target);
            format!("{ratio:.1}, by cpu {processor_ratio:.1}; target {target}: {met}")
        });
        println!(
            "{:<24} {:>12.2} {:>12.2} {:>14}   {target}",
            contender.name,
            median(contender.rates.iter().copied()),
            median(contender.processor_rates.iter().copied()),
            contender.keys_a_round * ROUNDS * 3 / 10,
        );
    }
}
