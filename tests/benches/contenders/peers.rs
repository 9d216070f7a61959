//! Other people's filters, each with as much memory as ours and settings as near to ours
//! as it has. Keys come hashed; what wants to hash them again does so with xxh3 if it can.
//! They take one key at a time, and none of them asks for huge pages or fetches ahead:
//! that is how they are.

use dedupstore::Observation;
use fastbloom::BloomFilter;
use probabilistic_collections::bloom::RLBSBloomFilter;
use stable_bloom_filter::Filter;
use stable_bloom_filter::stable::StableBloomFilter;
use xxhash_rust::xxh3::Xxh3Builder;

use super::Contender;

type Make = fn(u64) -> Contender;

pub const PEERS: [(&str, Make); 4] = [
    (FASTBLOOM, fastbloom_with_xxh3),
    (SBBF, split_blocks),
    (STABLE, stable),
    (RLBSBF, rlbsbf),
];

const FASTBLOOM: &str = "fastbloom, 4 hashes";
const SBBF: &str = "sbbf-rs-safe, 8 bits";
const STABLE: &str = "stable-bloom-filter, k 2, p 4";
const RLBSBF: &str = "probabilistic-collections RLBSBF, k 2";

fn peer(name: &str, mut is_known: impl FnMut(&Observation) -> bool + 'static) -> Contender {
    Contender {
        name: name.to_owned(),
        observe: Box::new(move |keys| {
            let known = keys.iter().filter(|key| is_known(key)).count();
            keys.len() - known
        }),
    }
}

/// As its documentation advises: one insertion, which tells whether it was there.
fn fastbloom_with_xxh3(memory_bits: u64) -> Contender {
    let mut filter = BloomFilter::with_num_bits(memory_bits as usize)
        .hasher(Xxh3Builder::new())
        .hashes(4);
    peer(FASTBLOOM, move |key| filter.insert_hash(key.fingerprint.0))
}

/// An insertion tells whether it was there, too.
fn split_blocks(memory_bits: u64) -> Contender {
    let mut filter = sbbf_rs_safe::Filter::new(8, memory_bits as usize / 8);
    peer(SBBF, move |key| filter.insert_hash(key.fingerprint.0))
}

/// It derives k and P from a rate; this one gives our defaults.
fn stable(memory_bits: u64) -> Contender {
    let mut filter = StableBloomFilter::new(memory_bits as usize, 1, 0.1111);
    assert_eq!((filter.k(), filter.p(), filter.max()), (2, 4, 1));
    peer(STABLE, move |key| {
        filter.test_and_add(&key.fingerprint.0.to_le_bytes())
    })
}

/// It derives k from a rate, and counts the bits of one part.
fn rlbsbf(memory_bits: u64) -> Contender {
    let hashers = [Xxh3Builder::new(), Xxh3Builder::new().with_seed(1)];
    let mut filter =
        RLBSBloomFilter::<u64, _>::with_hashers(memory_bits as usize / 2, 0.5, hashers);
    assert_eq!(filter.hasher_count(), 2);
    peer(RLBSBF, move |key| {
        let known = filter.contains(&key.fingerprint.0);
        if !known {
            filter.insert(&key.fingerprint.0);
        }
        known
    })
}
