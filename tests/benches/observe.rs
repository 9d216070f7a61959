//! Measures each filter alone, one key at a time and in batches:
//! `cargo bench -p dedupstore-benches --bench observe`.
//!
//! Use it to compare versions of one filter. To compare filters with each other or with other
//! crates, use `compare`, which interleaves them.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dedupstore::{FilterSpec, KeyHasher, Observation, SeenSetBuilder, Verdict, registry};

const BATCH: usize = 4096;

fn observe(criterion: &mut Criterion) {
    let hasher = KeyHasher::new(1);
    let mut next_key = 0u64;
    let mut keys = move || -> Vec<Observation> {
        next_key += BATCH as u64;
        let range = next_key..next_key + BATCH as u64;
        let fingerprint = |key: u64| hasher.fingerprint(&(key * key % 1_000_003).to_le_bytes());
        range.map(|key| fingerprint(key).into()).collect()
    };
    for size_mib in [1u64, 64] {
        let mut group = criterion.benchmark_group(format!("observe/{size_mib}MiB"));
        group.throughput(Throughput::Elements(BATCH as u64));
        for &descriptor in registry() {
            let spec = FilterSpec::with_defaults(descriptor);
            let mut set = SeenSetBuilder::new(&spec)
                .memory_bits(size_mib << 23)
                .seed(1)
                .build()
                .expect("enough memory");
            let mut verdicts = vec![Verdict::New; BATCH];
            group.bench_function(BenchmarkId::new("batch", descriptor.name), |bencher| {
                let keys = keys();
                bencher.iter(|| set.observe_batch(&keys, &mut verdicts));
            });
            group.bench_function(BenchmarkId::new("single", descriptor.name), |bencher| {
                let keys = keys();
                bencher.iter(|| {
                    for &key in &keys {
                        std::hint::black_box(set.observe_one(key));
                    }
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, observe);
criterion_main!(benches);
