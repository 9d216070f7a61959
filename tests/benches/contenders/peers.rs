//! Filters of other crates, each with the same memory as ours and the nearest settings.
//!
//! Keys are hashed before. A crate that hashes them again uses xxh3 if it can. All of them take one
//! key at a time, without huge pages and without prefetching.

use std::sync::{Mutex, PoisonError};

use dedupstore::Observation;
use fastbloom::BloomFilter;
use probabilistic_collections::bloom::RLBSBloomFilter;
use stable_bloom_filter::Filter;
use stable_bloom_filter::stable::StableBloomFilter;
use xxhash_rust::xxh3::Xxh3Builder;

use super::{Contender, Kind};

type Create = fn(u64) -> Contender;

pub const PEERS: [(&str, Create); 4] = [
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
        kind: Kind::Peer,
        observe: Box::new(move |keys| {
            let known = keys.iter().filter(|key| is_known(key)).count();
            keys.len() - known
        }),
    }
}

/// One insertion, as its documentation advises; it returns whether the key was present.
fn fastbloom_with_xxh3(memory_bits: u64) -> Contender {
    let mut filter = BloomFilter::with_num_bits(memory_bits as usize)
        .hasher(Xxh3Builder::new())
        .hashes(4);
    peer(FASTBLOOM, move |key| filter.insert_hash(key.fingerprint.0))
}

/// One insertion, which returns whether the key was present.
fn split_blocks(memory_bits: u64) -> Contender {
    let mut filter = sbbf_rs_safe::Filter::new(8, memory_bits as usize / 8);
    peer(SBBF, move |key| filter.insert_hash(key.fingerprint.0))
}

/// 64 split-block filters, each behind a lock; two threads take half of the keys each.
pub fn locked_split_blocks(memory_bits: u64) -> Contender {
    const PARTS: usize = 64;
    let part = || sbbf_rs_safe::Filter::new(8, memory_bits as usize / 8 / PARTS);
    let parts: Vec<Mutex<sbbf_rs_safe::Filter>> = (0..PARTS).map(|_| part().into()).collect();
    let new_among = |parts: &[Mutex<sbbf_rs_safe::Filter>], keys: &[Observation]| {
        let is_new = |key: &&Observation| {
            let hash = key.fingerprint.0;
            // The filter takes the other bits.
            let part = hash.rotate_left(20) as usize % PARTS;
            let mut part = parts[part].lock().unwrap_or_else(PoisonError::into_inner);
            !part.insert_hash(hash)
        };
        keys.iter().filter(is_new).count()
    };
    Contender {
        name: "64 × Mutex<sbbf-rs-safe>".to_owned(),
        kind: Kind::Peer,
        observe: Box::new(move |keys| {
            let (first, second) = keys.split_at(keys.len() / 2);
            std::thread::scope(|scope| {
                let other = scope.spawn(|| new_among(&parts, second));
                new_among(&parts, first) + other.join().expect("no panic")
            })
        }),
    }
}

/// Derives k and P from a rate; this rate gives our defaults.
fn stable(memory_bits: u64) -> Contender {
    let mut filter = StableBloomFilter::new(memory_bits as usize, 1, 0.1111);
    assert_eq!((filter.k(), filter.p(), filter.max()), (2, 4, 1));
    peer(STABLE, move |key| {
        filter.test_and_add(&key.fingerprint.0.to_le_bytes())
    })
}

/// Derives k from a rate, and takes the number of bits of one part.
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
