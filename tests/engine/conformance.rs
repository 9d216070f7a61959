//! What every filter must do, present and future, without a line of its own.
//!
//! Filters, parameters and sizes come from the registry. A filter that is added there is
//! tested here.

use std::cell::Cell;
use std::ops::Range;

use dedupstore::filter::{
    FilterSpec, Kind, MAX_MEMORY_BITS, MIN_MEMORY_BITS, Place, Recorded, Value,
};
use dedupstore::lab::golden_states;
use dedupstore::{
    AnyFilter, BuildError, Fingerprint, KeyHasher, Observation, Region, Registers, SeenSet,
    Verdict, registry, state_digest,
};
use dedupstore_tests::fixture;
use proptest::prelude::*;

/// A filter with a state, taken apart so that tests can look at every piece.
#[derive(Clone)]
struct Bench {
    filter: AnyFilter,
    region: Vec<u8>,
    registers: Registers,
}

impl Bench {
    fn new(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let filter = AnyFilter::build(spec, memory_bits)?;
        Ok(Bench {
            region: vec![0; filter.region_bytes()],
            registers: Registers::new(7),
            filter,
        })
    }

    fn observe(&mut self, observation: Observation) -> Verdict {
        self.filter
            .observe(&mut self.region[..], &mut self.registers, observation)
    }

    fn observe_batch(&mut self, observations: &[Observation]) -> Vec<Verdict> {
        let mut verdicts = vec![Verdict::New; observations.len()];
        self.filter.observe_batch(
            &mut self.region[..],
            &mut self.registers,
            observations,
            &mut verdicts,
        );
        verdicts
    }

    fn contains(&self, fingerprint: Fingerprint) -> Verdict {
        self.filter
            .contains(&self.region, &self.registers, fingerprint)
    }

    fn digest(&self) -> u64 {
        state_digest(&self.region, &self.registers)
    }
}

/// Any filter of the registry with any values of its parameters.
fn any_spec() -> impl Strategy<Value = FilterSpec> {
    let numbers = proptest::collection::vec(any::<u64>(), 8);
    (0..registry().len(), numbers).prop_map(|(which, numbers)| {
        let mut spec = FilterSpec::with_defaults(registry()[which]);
        for (parameter, number) in registry()[which].parameters.iter().zip(numbers) {
            let value = match parameter.kind {
                // Small values are the likely ones, and the whole range is possible.
                Kind::Integer { min, max, .. } => {
                    let span = if number % 4 == 0 {
                        max - min
                    } else {
                        (max - min).min(8)
                    };
                    (min + (number >> 8) % (span + 1)).to_string()
                }
                Kind::Decimal {
                    min_millionths,
                    max_millionths,
                    ..
                } => {
                    let span = max_millionths - min_millionths;
                    Value::Decimal(min_millionths + number % (span + 1)).to_string()
                }
                Kind::Choice { options } => options[number as usize % options.len()].to_owned(),
            };
            spec = spec.with(parameter.name, &value).expect("within its range");
        }
        spec
    })
}

/// Keys that repeat, at distances near and far.
fn any_stream(length: Range<usize>) -> impl Strategy<Value = Vec<Observation>> {
    proptest::collection::vec((0u64..400, any::<u32>(), any::<u16>()), length).prop_map(|keys| {
        let hasher = KeyHasher::new(3);
        let observation = |(key, tick, importance): (u64, u32, u16)| Observation {
            fingerprint: hasher.fingerprint(&key.to_le_bytes()),
            tick,
            importance,
        };
        keys.into_iter().map(observation).collect()
    })
}

fn any_memory_bits() -> impl Strategy<Value = u64> {
    prop_oneof![64u64..300, 300u64..20_000, Just(65_536)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn same_state_and_same_observations_give_the_same_bytes(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(0..600),
    ) {
        let Ok(fresh) = Bench::new(&spec, memory_bits) else { return Ok(()) };
        let (mut a, mut b) = (fresh.clone(), fresh);
        for &observation in &stream {
            prop_assert_eq!(a.observe(observation), b.observe(observation));
        }
        prop_assert_eq!(a.digest(), b.digest());
    }

    /// What is shown to people is what decides.
    #[test]
    fn a_verdict_follows_from_the_evidence(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(0..600),
    ) {
        let Ok(mut bench) = Bench::new(&spec, memory_bits) else { return Ok(()) };
        bench.observe_batch(&stream);
        let values = bench.filter.cell_values(&bench.region);
        let anatomy = bench.filter.anatomy();
        prop_assert_eq!(values.len() as u64, bench.filter.cells());
        prop_assert_eq!(values.len() as u64 % anatomy.row_cells, 0, "{}", spec);
        prop_assert!(values.iter().all(|&value| value <= anatomy.most), "{}", spec);
        let in_use = values.iter().filter(|&&value| value != 0).count() as u64;
        prop_assert_eq!(in_use, bench.registers.occupied(), "{}", spec);
        let hasher = KeyHasher::new(3);
        for key in 0..500u64 {
            let fingerprint = hasher.fingerprint(&key.to_le_bytes());
            let evidence = bench.filter.evidence(&bench.region, fingerprint);
            prop_assert_eq!(evidence.verdict(), bench.contains(fingerprint), "{}", spec);
            for cell in evidence.cells() {
                prop_assert_eq!(cell.value, values[cell.index as usize], "{}", spec);
                prop_assert_eq!(cell.meaning, anatomy.cell);
            }
            prop_assert!(!evidence.in_words(&anatomy).is_empty());
        }
    }

    /// No bit but those named can change what is said of a key; and those named decide, also
    /// where they are changed.
    #[test]
    fn nothing_but_the_evidence_decides(
        spec in any_spec(), memory_bits in 64u64..1200, stream in any_stream(0..200),
    ) {
        let Ok(mut bench) = Bench::new(&spec, memory_bits) else { return Ok(()) };
        bench.observe_batch(&stream);
        let hasher = KeyHasher::new(3);
        let strange = hasher.fingerprint(b"never");
        for fingerprint in stream.iter().rev().take(3).map(|it| it.fingerprint).chain([strange]) {
            let evidence = bench.filter.evidence(&bench.region, fingerprint);
            let verdict = bench.contains(fingerprint);
            let covers = |bit: u64, place: &Place| {
                (place.offset_bits..place.offset_bits + u64::from(place.width_bits)).contains(&bit)
            };
            for bit in 0..8 * bench.region.len() as u64 {
                // A link that is broken may lead in circles.
                if evidence.links.iter().any(|place| covers(bit, place)) {
                    continue;
                }
                let flip = |region: &mut [u8]| region[(bit / 8) as usize] ^= 1 << (bit % 8);
                flip(&mut bench.region);
                let changed = bench.contains(fingerprint);
                if evidence.cells().any(|place| covers(bit, place)) {
                    let evidence = bench.filter.evidence(&bench.region, fingerprint);
                    prop_assert_eq!(evidence.verdict(), changed, "{} bit {}", spec, bit);
                } else {
                    prop_assert_eq!(verdict, changed, "{} bit {}", spec, bit);
                }
                flip(&mut bench.region);
            }
        }
    }

    #[test]
    fn a_batch_is_a_loop(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(0..600),
    ) {
        let Ok(fresh) = Bench::new(&spec, memory_bits) else { return Ok(()) };
        let (mut one_by_one, mut batched) = (fresh.clone(), fresh);
        let verdicts: Vec<Verdict> = stream.iter().map(|&o| one_by_one.observe(o)).collect();
        prop_assert_eq!(batched.observe_batch(&stream), verdicts);
        prop_assert_eq!(batched.digest(), one_by_one.digest());
    }

    #[test]
    fn a_copied_state_goes_on_where_it_was(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(1..600), cut: u64,
    ) {
        let Ok(mut whole) = Bench::new(&spec, memory_bits) else { return Ok(()) };
        let mut first = whole.clone();
        let (before, after) = stream.split_at(cut as usize % stream.len());
        first.observe_batch(before);
        let mut resumed = Bench {
            filter: AnyFilter::build(&spec, memory_bits).expect("built before"),
            region: first.region.clone(),
            registers: Registers::from_bytes(&first.registers.to_bytes()),
        };
        drop(first);
        let verdicts = whole.observe_batch(&stream);
        prop_assert_eq!(resumed.observe_batch(after), &verdicts[before.len()..]);
        prop_assert_eq!(resumed.digest(), whole.digest());
    }

    /// It takes the region by shared reference, so all it could change is the future.
    #[test]
    fn looking_changes_nothing(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(0..300),
    ) {
        let Ok(fresh) = Bench::new(&spec, memory_bits) else { return Ok(()) };
        let (mut looked_at, mut left_alone) = (fresh.clone(), fresh);
        for &observation in &stream {
            let looked = looked_at.contains(observation.fingerprint);
            prop_assert_eq!(looked_at.contains(observation.fingerprint), looked);
            prop_assert_eq!(looked_at.observe(observation), left_alone.observe(observation));
        }
        prop_assert_eq!(looked_at.digest(), left_alone.digest());
    }

    /// What `observe` decides is what `contains` would say, unless the verdict is drawn; and
    /// a drawn verdict never lets a key through that is known to have been met.
    #[test]
    fn looking_foretells_the_verdict(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(0..300),
    ) {
        let Ok(mut bench) = Bench::new(&spec, memory_bits) else { return Ok(()) };
        for &observation in &stream {
            let foretold = bench.contains(observation.fingerprint);
            let verdict = bench.observe(observation);
            if foretold == Verdict::Seen || !bench.filter.verdict_is_drawn() {
                prop_assert_eq!(verdict, foretold);
            }
        }
    }

    /// A log may leave out the observations that left no trace.
    #[test]
    fn what_a_log_keeps_is_enough(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(0..600),
    ) {
        let Ok(fresh) = Bench::new(&spec, memory_bits) else { return Ok(()) };
        let (mut lived, mut replayed) = (fresh.clone(), fresh);
        let mut recorded = Recorded::default();
        for &observation in &stream {
            let verdict = lived.observe(observation);
            if verdict == Verdict::Seen && lived.filter.seen_leaves_no_trace() {
                recorded.trailing += 1;
            } else {
                recorded.gaps.push(std::mem::take(&mut recorded.trailing));
                recorded.observations.push(observation);
            }
        }
        prop_assert_eq!(recorded.count(), stream.len() as u64);
        let Bench { filter, region, registers } = &mut replayed;
        filter.observe_recorded(&mut region[..], registers, &recorded, &mut Vec::new());
        prop_assert_eq!(replayed.digest(), lived.digest());
    }

    #[test]
    fn counts_and_load_are_exact(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(0..600),
    ) {
        let Ok(mut bench) = Bench::new(&spec, memory_bits) else { return Ok(()) };
        let verdicts = bench.observe_batch(&stream);
        let new = verdicts.iter().filter(|&&verdict| verdict == Verdict::New).count() as u64;
        prop_assert_eq!(bench.registers.observations(), stream.len() as u64);
        prop_assert_eq!(bench.registers.new_count(), new);
        prop_assert_eq!(bench.registers.occupied(), bench.filter.recount(&bench.region));
        prop_assert!(bench.registers.occupied() <= bench.filter.cells());
        let chance = bench.filter.drop_chance(&bench.registers);
        prop_assert!((0.0..=1.0).contains(&chance), "{}", chance);
    }

    /// A checkpoint copies what is declared; a change that was not would be lost.
    #[test]
    fn every_change_is_declared(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(0..200),
    ) {
        let Ok(mut bench) = Bench::new(&spec, memory_bits) else { return Ok(()) };
        for &observation in &stream {
            let before = bench.region.clone();
            let mut watched = Watched { bytes: &mut bench.region, declared: Vec::new() };
            bench.filter.observe(&mut watched, &mut bench.registers, observation);
            let declared = watched.declared;
            for (at, (old, new)) in before.iter().zip(&bench.region).enumerate() {
                prop_assert!(old == new || declared.iter().any(|range| range.contains(&at)));
            }
        }
    }
}

/// A region that writes down what it was told would change.
struct Watched<'a> {
    bytes: &'a mut [u8],
    declared: Vec<Range<usize>>,
}

impl Region for Watched<'_> {
    fn bytes(&self) -> &[u8] {
        self.bytes
    }

    fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        self.declared.push(range.clone());
        &mut self.bytes[range]
    }
}

#[test]
fn every_size_works_or_is_refused_with_a_reason() {
    let defaults = registry().iter().map(|&one| FilterSpec::with_defaults(one));
    // Cells that leave some of the smallest memories unused.
    let odd = [
        "stable:max=1024",
        "counting:bits=13",
        "counting:bits=14",
        "sqf:k=5,r=6,rr=4",
    ];
    let odd = odd.map(|text| text.parse().expect("a filter"));
    for spec in defaults.chain(odd) {
        for memory_bits in (0..700).chain([1021, 4093, 8191, 65_537]) {
            match SeenSet::in_memory(&spec, memory_bits, 1) {
                Ok(mut set) => {
                    assert!(memory_bits >= MIN_MEMORY_BITS);
                    assert!(set.region().len() as u64 <= memory_bits.div_ceil(8));
                    for key in 0..200u32 {
                        set.observe(&key.to_le_bytes());
                    }
                }
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.contains("needs at least"), "{text}");
                    assert!(text.contains(&memory_bits.to_string()), "{text}");
                }
            }
        }
        for memory_bits in [MAX_MEMORY_BITS + 1, u64::MAX] {
            let error = AnyFilter::build(&spec, memory_bits).expect_err("too large");
            assert!(matches!(error, BuildError::TooLarge { .. }), "{error}");
        }
    }
}

/// Whatever the parameters, the region is all the memory there is: a filter's own value
/// is as large for a gigabyte as for a kilobyte, and observing allocates nothing.
#[test]
fn only_the_region_grows_with_size() {
    for descriptor in registry() {
        let spec = FilterSpec::with_defaults(descriptor);
        let largest = AnyFilter::build(&spec, MAX_MEMORY_BITS.min(1 << 35)).expect("fits");
        assert!(largest.region_bytes() as u64 <= 1 << 32);
        let mut set = SeenSet::in_memory(&spec, 1 << 20, 1).expect("small");
        let observations: Vec<Observation> = (0..5000u64)
            .map(|key| set.hasher().fingerprint(&key.to_le_bytes()).into())
            .collect();
        let mut verdicts = vec![Verdict::New; observations.len()];
        let before = ALLOCATIONS.with(Cell::get);
        set.observe_batch(&observations, &mut verdicts);
        set.observe(b"one more");
        set.contains(b"one more");
        assert_eq!(ALLOCATIONS.with(Cell::get), before, "{spec}");
    }
}

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

mod counting_allocator {
    #![allow(unsafe_code)]

    use std::alloc::{GlobalAlloc, Layout, System};

    struct Counting;

    // SAFETY: every call is handed on to the system's allocator unchanged.
    unsafe impl GlobalAlloc for Counting {
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`.
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            super::ALLOCATIONS.with(|count| count.set(count.get() + 1));
            // SAFETY: the caller's promise about `layout` is passed on.
            unsafe { System.alloc(layout) }
        }

        // SAFETY: the caller keeps the contract of `GlobalAlloc::dealloc`.
        unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
            // SAFETY: `pointer` came from `alloc` above, with this layout.
            unsafe { System.dealloc(pointer, layout) }
        }
    }

    #[global_allocator]
    static COUNTING: Counting = Counting;
}

/// The same file is compared with what WebAssembly computes, in the browser tests. A line
/// that differs means that stores written by earlier versions would be misread.
#[test]
fn golden_states_are_what_they_were() {
    let file = fixture("golden-states.txt");
    let golden = std::fs::read_to_string(&file).unwrap_or_default();
    let found: Vec<String> = golden_states().iter().map(ToString::to_string).collect();
    let unknown: Vec<&String> = found
        .iter()
        .filter(|line| !golden.lines().any(|known| known == line.as_str()))
        .collect();
    assert!(
        unknown.is_empty(),
        "{} does not have these lines; add those of a new filter by hand, and never change one:\n{}",
        file.display(),
        unknown
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
    );
    assert_eq!(
        found.len(),
        golden.lines().count(),
        "a golden state is gone"
    );
}
