//! Every filter beside an oracle: the same algorithm in the plainest words, over vectors,
//! with no thought of speed. Verdicts and load must agree, observation by observation.

mod bits;
mod keys;
mod rows;

use dedupstore::rng::Generator;
use dedupstore::{AnyFilter, FilterSpec, Fingerprint, KeyHasher, Registers, Verdict};
use proptest::prelude::*;

const SEED: u64 = 7;

/// A filter in the plainest words.
trait Oracle {
    /// Decides and updates; `draws` are this observation's random numbers.
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict;

    /// How many draws an observation takes.
    fn draws(&self) -> u64;

    /// Cells in use.
    fn occupied(&self) -> u64;
}

fn verdict(seen: bool) -> Verdict {
    match seen {
        true => Verdict::Seen,
        false => Verdict::New,
    }
}

/// The key's first `count` positions, each in a range of `range`.
fn positions(key: Fingerprint, count: u64, range: u64) -> Vec<usize> {
    let mut probes = key.probes();
    (0..count)
        .map(|_| probes.next_below(range) as usize)
        .collect()
}

fn assert_agree(
    spec: &str,
    memory_bits: u64,
    mut oracle: impl Oracle,
    keys: &[Fingerprint],
) -> Result<(), TestCaseError> {
    let spec: FilterSpec = spec.parse().expect("a filter");
    let filter = AnyFilter::build(&spec, memory_bits).expect("it fits");
    let mut region = vec![0; filter.region_bytes()];
    let mut registers = Registers::new(SEED);
    let mut generator = Generator::from_seed(SEED);
    for (i, &key) in keys.iter().enumerate() {
        let expected = oracle.observe(key, generator);
        generator = generator.ahead(oracle.draws());
        let found = filter.observe(&mut region[..], &mut registers, key.into());
        prop_assert_eq!(found, expected, "{}: key {} of the stream", spec, i);
        prop_assert_eq!(
            registers.occupied(),
            oracle.occupied(),
            "{}: key {}",
            spec,
            i
        );
    }
    Ok(())
}

/// Keys that repeat, near and far.
fn any_keys() -> impl Strategy<Value = Vec<Fingerprint>> {
    (1u64..400).prop_flat_map(|universe| {
        proptest::collection::vec(0..universe, 0..500).prop_map(|numbers| {
            let hasher = KeyHasher::new(5);
            let key = |number: u64| hasher.fingerprint(&number.to_le_bytes());
            numbers.into_iter().map(key).collect()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn bloom(k in 1u64..6, bits in 64u64..600, apart: bool, keys in any_keys()) {
        let (layout, parts) = match apart {
            true => ("partitioned", bits::Parts::separate(k, bits)),
            false => ("shared", bits::Parts::shared(k, bits)),
        };
        assert_agree(&format!("bloom:k={k},layout={layout}"), bits, bits::Bloom(parts), &keys)?;
    }

    #[test]
    fn stable(
        k in 1u64..6, p in prop_oneof![0u64..9, 50u64..64], max in 1u64..9,
        bits in 64u64..600, keys in any_keys(),
    ) {
        let width = u64::from(64 - max.leading_zeros());
        let bits = bits.max(p * width);
        let oracle = bits::Stable { k, p, max, cells: vec![0; (bits / width) as usize] };
        assert_agree(&format!("stable:k={k},p={p},max={max}"), bits, oracle, &keys)?;
    }

    #[test]
    fn bsbf(k in 1u64..6, bits in 64u64..600, keys in any_keys()) {
        let parts = bits::Parts::separate(k, bits);
        assert_agree(&format!("bsbf:k={k}"), bits, bits::Bsbf(parts), &keys)?;
    }

    #[test]
    fn bsbfsd(k in 1u64..6, bits in 64u64..600, keys in any_keys()) {
        let parts = bits::Parts::separate(k, bits);
        assert_agree(&format!("bsbfsd:k={k}"), bits, bits::Bsbfsd(parts), &keys)?;
    }

    #[test]
    fn rlbsbf(k in 1u64..6, bits in 64u64..600, keys in any_keys()) {
        let parts = bits::Parts::separate(k, bits);
        assert_agree(&format!("rlbsbf:k={k}"), bits, bits::Rlbsbf(parts), &keys)?;
    }

    #[test]
    fn rsbf_as_published(k in 1u64..6, bits in 64u64..600, keys in any_keys()) {
        let oracle = bits::Rsbf::published(bits::Parts::separate(k, bits));
        assert_agree(&format!("rsbf:k={k}"), bits, oracle, &keys)?;
    }

    #[test]
    fn rsbf_as_printed(
        k in 1u64..6, bits in 64u64..600, percent in 0u64..100, keys in any_keys(),
    ) {
        let parts = bits::Parts::separate(k, bits);
        let oracle = bits::Rsbf::printed(parts, percent);
        let spec = format!("rsbf:k={k},reading=printed,threshold=0.{percent:02}");
        assert_agree(&spec, bits, oracle, &keys)?;
    }

    #[test]
    fn sqf(r in 2u64..7, drop in 1u64..7, k in 1u64..6, bits in 64u64..2000, identity: bool,
           keys in any_keys()) {
        let kept = r.saturating_sub(drop);
        let Some(oracle) = rows::Sqf::new(r, kept, k, bits, identity) else { return Ok(()) };
        let fingerprint = if identity { "identity" } else { "hashed" };
        let spec = format!("sqf:r={r},rr={kept},k={k},fingerprint={fingerprint}");
        assert_agree(&spec, bits, oracle, &keys)?;
    }

    #[test]
    fn dsqf(r in 2u64..7, drop in 1u64..7, k in 1u64..6, bits in 400u64..4000, keys in any_keys()) {
        let kept = r.saturating_sub(drop);
        let oracle = rows::Dsqf::new(r, kept, k, bits);
        assert_agree(&format!("dsqf:r={r},rr={kept},k={k}"), bits, oracle, &keys)?;
    }

    #[test]
    fn buffer_of_the_latest(room in 1u64..80, spare in 0u64..192, keys in any_keys()) {
        let oracle = keys::Lru { room, keys: Vec::new() };
        assert_agree("buffer:policy=lru", 192 * room + spare, oracle, &keys)?;
    }

    #[test]
    fn buffer_with_a_clock(room in 1u64..80, spare in 0u64..128, keys in any_keys()) {
        let oracle = keys::Clock { room, slots: Vec::new(), hand: 0 };
        assert_agree("buffer:policy=clock", 128 * room + spare, oracle, &keys)?;
    }

    #[test]
    fn fpbuffer(room in 1u64..80, percent in 0u64..100, keys in any_keys()) {
        let buffer = keys::Lru { room, keys: Vec::new() };
        let oracle = keys::WithChance { percent, buffer };
        assert_agree(&format!("fpbuffer:q=0.{percent:02}"), 192 * room, oracle, &keys)?;
    }
}
