//! Several threads observe a batch as one thread does, byte for byte.

use dedupstore::filter::{Observation, Verdict};
use dedupstore::rng::Generator;
use dedupstore::store::{CreateOptions, OpenOptions};
use dedupstore::{AnyFilter, FilterSpec, SeenSet, registry, state_digest};

/// Configurations of row-local filters beyond the defaults: rows of odd sizes, draws, windows.
const CONFIGURATIONS: &[&str] = &[
    "blocked",
    "blocked:k=4,cap=30",
    "split",
    "split:k=5,cap=30",
    "slot",
    "word",
    "recent",
    "aging",
    "sqf",
    "sqf:r=4,rr=2,k=3",
    "window:layout=blocked,span=500,step=50",
];

/// Returns a stream whose keys come again, with times that rise slowly.
fn stream(count: u64, distinct: u64) -> Vec<Observation> {
    let keys = Generator::from_seed(3);
    let hasher = dedupstore::KeyHasher::new(1);
    let observation = |i: u64| Observation {
        tick: (1_000_000 + i / 100) as u32,
        ..hasher
            .fingerprint(&(keys.draw(i) % distinct).to_le_bytes())
            .into()
    };
    (0..count).map(observation).collect()
}

/// Returns the verdicts and the digest of the state after the stream, in batches of a size.
fn run(filter: &str, memory_bits: u64, threads: usize, batch: usize) -> (Vec<Verdict>, u64) {
    let builder = SeenSet::builder(filter).expect("a filter");
    let builder = builder.memory_bits(memory_bits).audit("4KiB").seed(1);
    let mut set = builder.threads(threads).build().expect("enough memory");
    let mut verdicts = Vec::new();
    for batch in stream(60_000, 20_000).chunks(batch) {
        let mut found = vec![Verdict::New; batch.len()];
        set.observe_batch(batch, &mut found);
        verdicts.extend(found);
    }
    (verdicts, state_digest(set.region(), set.registers()))
}

#[test]
fn any_number_of_threads_gives_the_same_bytes_and_verdicts() {
    for filter in CONFIGURATIONS {
        // The last memory has fewer rows than there could be parts.
        for memory_bits in [200_000, 77_777, 2_100] {
            let alone = run(filter, memory_bits, 1, 5000);
            for threads in 2..=8 {
                let together = run(filter, memory_bits, threads, 5000);
                assert!(together == alone, "{filter}, {memory_bits} bits, {threads}");
            }
            assert!(run(filter, memory_bits, 3, 60_000) == alone, "{filter}");
            assert!(run(filter, memory_bits, 2, 100) == alone, "{filter}");
        }
    }
}

/// Hashed by one thread or several, observed by one or several, in memory or in a store.
#[test]
fn keys_that_are_hashed_by_several_threads_have_the_same_verdicts() {
    let draws = Generator::from_seed(4);
    let keys: Vec<String> = (0..150_000)
        .map(|i| format!("https://harbour.example/{}", draws.draw(i) % 60_000))
        .collect();
    for filter in ["blocked", "stable", "window"] {
        let expected: Vec<Verdict> = {
            let builder = SeenSet::builder(filter).expect("a filter");
            let mut set = builder.memory("64KiB").seed(1).build().expect("small");
            keys.iter().map(|key| set.observe(key)).collect()
        };
        for threads in 1..=3 {
            let builder = SeenSet::builder(filter).expect("a filter");
            let builder = builder.memory("64KiB").seed(1).threads(threads);
            let mut set = builder.build().expect("small");
            let mut found = vec![Verdict::New; keys.len()];
            set.observe_keys(&keys, &mut found);
            assert!(found == expected, "{filter}, {threads} threads");

            let directory = tempfile::tempdir().expect("a directory");
            let options = CreateOptions::new(filter).expect("a filter");
            let options = options.memory("64KiB").seed(1);
            let open = OpenOptions::new().observing_threads(threads);
            let path = directory.path().join("keys.dds");
            let mut store = open.create(&path, &options).expect("a store");
            let mut found = vec![Verdict::New; keys.len()];
            store.observe_keys(&keys, &mut found).expect("recorded");
            assert!(found == expected, "{filter} in a store, {threads} threads");
        }
    }
}

#[test]
fn every_filter_whose_keys_touch_one_row_is_divided() {
    for descriptor in registry() {
        let spec = FilterSpec::with_defaults(descriptor);
        let filter = AnyFilter::build(&spec, 100_000).expect("enough memory");
        let listed = CONFIGURATIONS.contains(&descriptor.name);
        assert_eq!(filter.is_divisible(), listed, "{}", descriptor.name);
    }
}

#[test]
fn a_store_with_several_observing_threads_has_the_same_state() {
    for filter in ["blocked", "word"] {
        let options = CreateOptions::new(filter).expect("a filter");
        let options = options.memory("64KiB").seed(1);
        let digests = [1, 3].map(|threads| {
            let directory = tempfile::tempdir().expect("a directory");
            let path = directory.path().join("threads.dds");
            let open = OpenOptions::new().observing_threads(threads);
            let mut store = open.create(&path, &options).expect("a store");
            for batch in stream(60_000, 20_000).chunks(9000) {
                let mut verdicts = vec![Verdict::New; batch.len()];
                store.observe_batch(batch, &mut verdicts).expect("recorded");
            }
            let digest = state_digest(store.region(), store.registers());
            drop(store);
            let recovered = open.open(&path).expect("a store");
            let found = state_digest(recovered.region(), recovered.registers());
            assert_eq!(found, digest, "{filter}");
            digest
        });
        assert_eq!(digests[0], digests[1], "{filter}");
    }
}

#[test]
fn a_shared_store_with_several_observing_threads_has_the_same_verdicts() {
    let run = |threads: usize| {
        let directory = tempfile::tempdir().expect("a directory");
        let create = CreateOptions::new("stable").expect("a filter");
        let create = create.memory("64KiB").seed(1).shards(3);
        let store = OpenOptions::new()
            .observing_threads(threads)
            .create_shared(directory.path().join("keys.dds"), &create)
            .expect("created");
        let mut verdicts = Vec::new();
        for batch in stream(60_000, 20_000).chunks(9000) {
            let mut found = vec![Verdict::New; batch.len()];
            store.observe_batch(batch, &mut found).expect("observed");
            verdicts.extend(found);
        }
        store.close().expect("closed");
        verdicts
    };
    let alone = run(1);
    assert!(alone.contains(&Verdict::New) && alone.contains(&Verdict::Seen));
    for threads in [2, 3, 8] {
        assert!(run(threads) == alone, "{threads} threads");
    }
}
