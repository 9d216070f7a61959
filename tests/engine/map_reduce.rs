//! Streaming quotient filters on many workers: by rows in stream order, and by Map-Reduce.

use std::collections::{BTreeMap, BTreeSet};

use dedupstore::lab::StreamSpec;
use dedupstore::rng::Generator;
use dedupstore::sites::{
    PartitionError, RowEntry, RowPartition, RowPartitions, combine, observe_block, split_evenly,
};
use dedupstore::{FilterSpec, Fingerprint, KeyHasher, Registers, SeenSet, Verdict};
use proptest::prelude::*;

const SEED: u64 = 1;
/// 3,500 rows of four buckets with four bits.
const FILTER: &str = "sqf:r=4,rr=2,k=4";
const MEMORY_BITS: u64 = 56_000;

fn spec(text: &str) -> FilterSpec {
    text.parse().expect("a filter")
}

fn plan(workers: usize) -> RowPartitions {
    RowPartitions::new(&spec(FILTER), MEMORY_BITS, workers).expect("enough rows")
}

/// The fingerprints of a stream, and whether each is a first occurrence.
fn stream(text: &str, count: u64) -> (Vec<Fingerprint>, Vec<bool>) {
    let mut keys = text
        .parse::<StreamSpec>()
        .expect("a stream")
        .open(count, SEED);
    let (hasher, mut truth) = (KeyHasher::new(SEED), keys.truth());
    let (mut fingerprints, mut first) = (Vec::new(), Vec::new());
    while let Some((key, number)) = keys.next_key() {
        fingerprints.push(hasher.fingerprint(key));
        first.push(truth.is_first(number));
    }
    (fingerprints, first)
}

/// Verdicts with the state after them.
type Run = (Vec<Verdict>, Vec<u8>, Registers);

fn sequential_of(filter: &str, memory_bits: u64, keys: &[Fingerprint]) -> Run {
    let set = SeenSet::builder(spec(filter)).expect("a filter");
    let mut set = set
        .memory_bits(memory_bits)
        .seed(SEED)
        .build()
        .expect("small");
    let verdicts = keys.iter().map(|&key| set.observe_fingerprint(key));
    let verdicts = verdicts.collect();
    (verdicts, set.region().to_vec(), set.registers().clone())
}

fn sequential(keys: &[Fingerprint]) -> Run {
    sequential_of(FILTER, MEMORY_BITS, keys)
}

/// Each worker observes its rows in stream order.
fn by_rows(plan: &RowPartitions, keys: &[Fingerprint], block: usize) -> Run {
    let mut partitions = plan.empty(SEED);
    let mut verdicts = Vec::new();
    for block in keys.chunks(block) {
        let mut of_block = vec![Verdict::Seen; block.len()];
        // The last worker first: their order must not matter.
        for partition in partitions.iter_mut().rev() {
            let own: Vec<(u32, Fingerprint)> = (0..)
                .zip(block.iter().copied())
                .filter(|(_, key)| plan.partition_of(*key) == partition.index())
                .collect();
            let found = plan.observe(partition, &own, block.len() as u32);
            for (verdict, (position, _)) in found.expect("its rows").into_iter().zip(own) {
                of_block[position as usize] = verdict;
            }
        }
        verdicts.extend(of_block);
    }
    let (region, registers) = plan.join(&partitions).expect("all");
    (verdicts, region, registers)
}

fn by_map_reduce(plan: &RowPartitions, keys: &[Fingerprint], block: usize, workers: usize) -> Run {
    let mut partitions = plan.empty(SEED);
    let blocks = keys.chunks(block).flat_map(|block| {
        observe_block(plan, &mut partitions, block, workers).expect("all partitions")
    });
    let verdicts = blocks.collect();
    let (region, registers) = plan.join(&partitions).expect("all");
    (verdicts, region, registers)
}

/// The share of repeats reported New.
fn false_negative_rate(verdicts: &[Verdict], first: &[bool]) -> f64 {
    let repeats = verdicts.iter().zip(first).filter(|(_, first)| !**first);
    let missed = repeats.clone().filter(|(verdict, _)| verdict.is_new());
    missed.count() as f64 / repeats.count() as f64
}

#[test]
fn rows_in_stream_order_equal_the_sequential_filter() {
    let (keys, _) = stream("shuffle:15", 100_000);
    let expected = sequential(&keys);
    for (workers, block) in [(1, 10_000), (2, 10_000), (3, 1), (7, 777), (54, 100_000)] {
        let found = by_rows(&plan(workers), &keys, block);
        assert!(found == expected, "{workers} workers, blocks of {block}");
    }
}

/// Blocks of 10,000 keys, 15,000 distinct: the standard error of both rates is below .0017.
#[test]
fn map_reduce_misses_fewer_repeats_than_the_sequential_filter() {
    let (keys, first) = stream("shuffle:15", 100_000);
    let sequential = false_negative_rate(&sequential(&keys).0, &first);
    let map_reduce = by_map_reduce(&plan(4), &keys, 10_000, 4).0;
    let map_reduce = false_negative_rate(&map_reduce, &first);
    println!("false negative rate: sequential {sequential:.4}, Map-Reduce {map_reduce:.4}");
    assert!((sequential - 0.092).abs() < 0.005, "{sequential}");
    assert!((map_reduce - 0.080).abs() < 0.005, "{map_reduce}");
}

#[test]
fn results_do_not_depend_on_the_numbers_of_workers() {
    let (keys, _) = stream("shuffle:15", 30_000);
    let expected = by_map_reduce(&plan(1), &keys, 5000, 1);
    for (reducers, mappers) in [(1, 3), (5, 1), (8, 16), (54, 7)] {
        let found = by_map_reduce(&plan(reducers), &keys, 5000, mappers);
        assert!(found == expected, "{reducers} reducers, {mappers} mappers");
    }
}

/// Entries in random order, combined twice, once or never, and all states sent as bytes.
#[test]
fn results_do_not_depend_on_the_order_of_shards() {
    let (keys, _) = stream("shuffle:15", 20_000);
    let plan = plan(3);
    let expected = by_map_reduce(&plan, &keys, 5000, 1);
    let mut partitions = plan.empty(SEED);
    let mut verdicts = Vec::new();
    for (number, block) in (0u64..).zip(keys.chunks(5000)) {
        let mut entries: Vec<RowEntry> = Vec::new();
        for (shard, range) in split_evenly(block.len(), 6).enumerate() {
            let mapped = plan.map(&block[range.clone()], range.start as u32);
            entries.extend(match shard % 3 {
                0 => mapped,
                1 => combine(mapped).first,
                _ => combine(combine(mapped).first).first,
            });
        }
        let random = Generator::from_seed(number);
        entries.sort_by_key(|entry| random.draw(u64::from(entry.position)));
        let mut of_block = vec![Verdict::Seen; block.len()];
        let routed = plan.route(&entries);
        for (partition, entries) in partitions.iter_mut().zip(routed).rev() {
            let entries = RowEntry::decode(&RowEntry::encode(&entries)).expect("entries");
            let bytes = partition.bytes().to_vec();
            let registers = Registers::from_bytes(&partition.registers().to_bytes());
            let resumed = plan.resume(partition.index(), bytes, registers);
            *partition = resumed.expect("the same size");
            let reduced = plan.reduce(partition, entries, block.len() as u32);
            for position in reduced.expect("its rows").new {
                of_block[position as usize] = Verdict::New;
            }
        }
        verdicts.extend(of_block);
    }
    let (region, registers) = plan.join(&partitions).expect("all");
    assert!((verdicts, region, registers) == expected);
}

#[test]
fn blocks_of_one_key_equal_the_sequential_filter() {
    let (keys, _) = stream("shuffle:15", 20_000);
    let found = by_map_reduce(&plan(3), &keys, 1, 2);
    assert!(found == sequential(&keys));
}

#[test]
fn without_evictions_any_block_equals_the_sequential_filter() {
    let (keys, _) = stream("shuffle:15", 30_000);
    // As many buckets per row as there are signatures: no row can be full.
    let (filter, memory_bits) = ("sqf:r=4,rr=2,k=12", 3 * MEMORY_BITS);
    let plan = RowPartitions::new(&spec(filter), memory_bits, 5).expect("enough rows");
    let expected = sequential_of(filter, memory_bits, &keys);
    for block in [1000, 30_000] {
        assert!(by_map_reduce(&plan, &keys, block, 3) == expected, "{block}");
    }
}

/// The rows in which the sequential filter says New to a row and signature that the same block
/// already had, each with the position of the first such event.
fn forgotten_within(
    plan: &RowPartitions,
    block: &[Fingerprint],
    verdicts: &[Verdict],
) -> BTreeMap<u64, u32> {
    let mut present = BTreeSet::new();
    let mut forgotten = BTreeMap::new();
    for (entry, verdict) in plan.map(block, 0).into_iter().zip(verdicts) {
        let is_first = present.insert((entry.row, entry.signature));
        if !is_first && verdict.is_new() {
            forgotten.entry(entry.row).or_insert(entry.position);
        }
    }
    forgotten
}

#[test]
fn only_a_row_that_forgets_within_a_block_differs_from_the_sequential_filter() {
    let (keys, _) = stream("shuffle:15", 60_000);
    let plan = plan(1);
    let set = SeenSet::builder(spec(FILTER)).expect("a filter");
    let builder = set.memory_bits(MEMORY_BITS).seed(SEED);
    let mut set = builder.build().expect("small");
    let (mut same, mut different) = (0, 0);
    for block in keys.chunks(10_000) {
        // Both start the block from the same state.
        let split = plan.split(set.region(), set.registers());
        let mut partitions = split.expect("the same size");
        let found = observe_block(&plan, &mut partitions, block, 2).expect("all");
        let expected = block.iter().map(|&key| set.observe_fingerprint(key));
        let expected: Vec<Verdict> = expected.collect();
        let forgotten = forgotten_within(&plan, block, &expected);
        let entries = plan.map(block, 0);
        for (entry, (found, expected)) in entries.iter().zip(found.iter().zip(&expected)) {
            match forgotten.get(&entry.row) {
                Some(&from) if entry.position == from => {
                    assert_eq!((*found, *expected), (Verdict::Seen, Verdict::New));
                    different += 1;
                }
                Some(&from) if entry.position > from => {}
                _ => {
                    assert_eq!(found, expected, "{entry:?}");
                    same += 1;
                }
            }
        }
        // A row has two bytes.
        let (region, _) = plan.join(&partitions).expect("all");
        let rows = region.chunks(2).zip(set.region().chunks(2));
        for (row, (found, expected)) in (0..).zip(rows) {
            assert!(
                found == expected || forgotten.contains_key(&row),
                "row {row}"
            );
        }
    }
    println!("{same} verdicts must be and are the same; {different} first differences");
    assert!(same > 50_000 && different > 100);
}

#[test]
fn a_divided_state_unites_to_the_same_state() {
    let (keys, _) = stream("shuffle:15", 20_000);
    let (_, region, registers) = sequential(&keys);
    let plan = plan(9);
    let partitions = plan.split(&region, &registers).expect("the same size");
    assert_eq!(plan.join(&partitions), Ok((region, registers)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Rows whose width is no multiple of eight bits, one or many partitions, any block.
    #[test]
    fn any_geometry_can_be_divided(
        r in 2u64..8, kept in 0u64..2, k in 1u64..6, rows in 64u64..600,
        workers in 1usize..4, block in 1usize..300,
    ) {
        let filter = format!("sqf:r={r},rr={kept},k={k}");
        let signatures = (1 << kept) * (r - kept + 1);
        let memory_bits = rows * k * u64::from(64 - u64::leading_zeros(signatures));
        let workers = workers.min((rows / 64) as usize);
        let plan = RowPartitions::new(&spec(&filter), memory_bits, workers).expect("enough rows");
        let keys = stream("shuffle:30", 2000).0;
        let expected = sequential_of(&filter, memory_bits, &keys);
        prop_assert!(by_rows(&plan, &keys, block) == expected);
        prop_assert!(by_map_reduce(&plan, &keys, 1, workers) == expected);
    }
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let error = |result: Result<RowPartitions, PartitionError>| result.expect_err("refused");
    let dsqf = RowPartitions::new(&spec("dsqf"), MEMORY_BITS, 2);
    assert!(error(dsqf).to_string().contains("only sqf can"));
    for workers in [0, 55] {
        let many = RowPartitions::new(&spec(FILTER), MEMORY_BITS, workers);
        let message = error(many).to_string();
        assert!(message.contains("1 to 54 partitions"), "{message}");
    }
    let plan = plan(2);
    let mut partitions = plan.empty(SEED);
    let untouched: Vec<RowPartition> = partitions.clone();
    let entry = |row, signature, position| RowEntry {
        row,
        signature,
        position,
    };
    for bad in [
        entry(3499, 1, 0),
        entry(u64::MAX, 1, 0),
        entry(0, 0, 0),
        entry(0, 13, 0),
        entry(0, 1, 10),
    ] {
        let entries = vec![entry(5, 1, 3), bad];
        let refused = plan.reduce(&mut partitions[0], entries, 10);
        assert!(refused.is_err(), "{bad:?}");
    }
    assert_eq!(partitions, untouched);
    assert!(plan.resume(0, vec![0; 7], Registers::new(0)).is_err());
    assert!(plan.resume(2, vec![0; 7], Registers::new(0)).is_err());
    assert!(plan.split(&[0; 7], &Registers::new(0)).is_err());
    assert!(plan.join(&partitions[..1]).is_err());
    assert!(plan.join(&[]).is_err());
    partitions.swap(0, 1);
    assert!(plan.join(&partitions).is_err());
    partitions.swap(0, 1);
    plan.reduce(&mut partitions[0], Vec::new(), 10)
        .expect("an empty block");
    let missed = plan.join(&partitions).expect_err("a missed block");
    assert!(
        missed
            .to_string()
            .contains("partition 1 is at observation 0")
    );
}
