//! What every filter must do.
//!
//! Filters, parameters and sizes come from the registry, so a new filter is tested without a
//! change of this file.

use std::cell::Cell;
use std::ops::Range;

use dedupstore::filter::{
    Evidence, EvidenceCell, FilterSpec, LoggedObservations, MAX_MEMORY_BITS, MIN_MEMORY_BITS,
};
use dedupstore::lab::golden_states;
use dedupstore::{
    AnyFilter, BuildError, Fingerprint, KeyHasher, Observation, Region, Registers, SeenSetBuilder,
    Verdict, registry, state_digest,
};
use dedupstore_tests::fixture;
use proptest::prelude::*;

use crate::arbitrary::{any_memory_bits, any_spec, any_stream};

/// A filter with its state, all parts accessible.
#[derive(Clone)]
pub struct FilterState {
    pub filter: AnyFilter,
    pub region: Vec<u8>,
    pub registers: Registers,
}

impl FilterState {
    pub fn new(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let filter = AnyFilter::build(spec, memory_bits)?;
        Ok(FilterState {
            region: vec![0; filter.region_bytes()],
            registers: Registers::new(7),
            filter,
        })
    }

    pub fn observe(&mut self, observation: Observation) -> Verdict {
        self.filter
            .observe(&mut self.region[..], &mut self.registers, observation)
    }

    pub fn observe_batch(&mut self, observations: &[Observation]) -> Vec<Verdict> {
        let mut verdicts = vec![Verdict::New; observations.len()];
        self.filter.observe_batch(
            &mut self.region[..],
            &mut self.registers,
            observations,
            &mut verdicts,
        );
        verdicts
    }

    pub fn contains(&self, fingerprint: Fingerprint) -> Verdict {
        self.filter
            .contains(&self.region, &self.registers, fingerprint)
    }

    pub fn contains_at(&self, observation: Observation) -> Verdict {
        let Observation {
            fingerprint, tick, ..
        } = observation;
        self.filter
            .contains_at(&self.region, &self.registers, fingerprint, tick)
    }

    pub fn evidence(&self, fingerprint: Fingerprint) -> Evidence {
        self.filter
            .evidence(&self.region, &self.registers, fingerprint)
    }

    pub fn digest(&self) -> u64 {
        state_digest(&self.region, &self.registers)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn same_state_and_same_observations_give_the_same_bytes(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(0..600),
    ) {
        let Ok(fresh) = FilterState::new(&spec, memory_bits) else { return Ok(()) };
        let (mut a, mut b) = (fresh.clone(), fresh);
        for &observation in &stream {
            prop_assert_eq!(a.observe(observation), b.observe(observation));
        }
        prop_assert_eq!(a.digest(), b.digest());
    }

    /// The cells that are displayed are the ones that decide.
    #[test]
    fn a_verdict_follows_from_the_evidence(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(0..600),
    ) {
        let Ok(mut state) = FilterState::new(&spec, memory_bits) else { return Ok(()) };
        state.observe_batch(&stream);
        let values = state.filter.cell_values(&state.region);
        let layout = state.filter.cell_layout();
        prop_assert_eq!(values.len() as u64, state.filter.cells());
        prop_assert_eq!(values.len() as u64 % layout.row_cells, 0, "{}", spec);
        prop_assert!(values.iter().all(|&value| value <= layout.max_value), "{}", spec);
        let in_use = values.iter().filter(|&&value| value != 0).count() as u64;
        prop_assert_eq!(in_use, state.registers.occupied(), "{}", spec);
        let hasher = KeyHasher::new(3);
        for key in 0..500u64 {
            let fingerprint = hasher.fingerprint(&key.to_le_bytes());
            let evidence = state.evidence(fingerprint);
            prop_assert_eq!(evidence.verdict(), state.contains(fingerprint), "{}", spec);
            for cell in evidence.cells() {
                prop_assert_eq!(cell.value, values[cell.index as usize], "{}", spec);
                prop_assert_eq!(cell.meaning, layout.cell);
            }
            prop_assert!(!evidence.in_words(&layout).is_empty());
        }
    }

    /// Flips every bit of the region. Only bits of the evidence may change the answer about a key,
    /// and the changed answer must follow from the changed evidence.
    #[test]
    fn only_the_evidence_decides(
        spec in any_spec(), memory_bits in 64u64..1200, stream in any_stream(0..200),
    ) {
        let Ok(mut state) = FilterState::new(&spec, memory_bits) else { return Ok(()) };
        state.observe_batch(&stream);
        let hasher = KeyHasher::new(3);
        let unknown = hasher.fingerprint(b"never observed");
        for fingerprint in stream.iter().rev().take(3).map(|it| it.fingerprint).chain([unknown]) {
            let evidence = state.evidence(fingerprint);
            let verdict = state.contains(fingerprint);
            let covers = |bit: u64, cell: &EvidenceCell| {
                (cell.offset_bits..cell.offset_bits + u64::from(cell.width_bits)).contains(&bit)
            };
            for bit in 0..8 * state.region.len() as u64 {
                // A damaged link may lead into a circle.
                if evidence.links.iter().any(|cell| covers(bit, cell)) {
                    continue;
                }
                let flip = |region: &mut [u8]| region[(bit / 8) as usize] ^= 1 << (bit % 8);
                flip(&mut state.region);
                let changed = state.contains(fingerprint);
                if evidence.cells().any(|cell| covers(bit, cell)) {
                    let evidence = state.evidence(fingerprint);
                    prop_assert_eq!(evidence.verdict(), changed, "{} bit {}", spec, bit);
                } else {
                    prop_assert_eq!(verdict, changed, "{} bit {}", spec, bit);
                }
                flip(&mut state.region);
            }
        }
    }

    #[test]
    fn a_batch_equals_a_loop_over_its_observations(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(0..600),
    ) {
        let Ok(fresh) = FilterState::new(&spec, memory_bits) else { return Ok(()) };
        let (mut one_by_one, mut batched) = (fresh.clone(), fresh);
        let verdicts: Vec<Verdict> = stream.iter().map(|&o| one_by_one.observe(o)).collect();
        prop_assert_eq!(batched.observe_batch(&stream), verdicts);
        prop_assert_eq!(batched.digest(), one_by_one.digest());
    }

    #[test]
    fn a_copied_state_continues_like_the_original(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(1..600), cut: u64,
    ) {
        let Ok(mut whole) = FilterState::new(&spec, memory_bits) else { return Ok(()) };
        let mut first = whole.clone();
        let (before, after) = stream.split_at(cut as usize % stream.len());
        first.observe_batch(before);
        let mut resumed = FilterState {
            filter: AnyFilter::build(&spec, memory_bits).expect("built before"),
            region: first.region.clone(),
            registers: Registers::from_bytes(&first.registers.to_bytes()),
        };
        drop(first);
        let verdicts = whole.observe_batch(&stream);
        prop_assert_eq!(resumed.observe_batch(after), &verdicts[before.len()..]);
        prop_assert_eq!(resumed.digest(), whole.digest());
    }

    /// `contains` takes the region by shared reference; this checks that later verdicts do not
    /// change either.
    #[test]
    fn contains_changes_nothing(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(0..300),
    ) {
        let Ok(fresh) = FilterState::new(&spec, memory_bits) else { return Ok(()) };
        let (mut queried, mut untouched) = (fresh.clone(), fresh);
        for &observation in &stream {
            let answer = queried.contains(observation.fingerprint);
            prop_assert_eq!(queried.contains(observation.fingerprint), answer);
            prop_assert_eq!(queried.observe(observation), untouched.observe(observation));
        }
        prop_assert_eq!(queried.digest(), untouched.digest());
    }

    /// `observe` gives the verdict that `contains` would give, unless the verdict is random. A
    /// random verdict is Seen whenever `contains` says Seen.
    #[test]
    fn contains_predicts_the_verdict(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(0..300),
    ) {
        let Ok(mut state) = FilterState::new(&spec, memory_bits) else { return Ok(()) };
        for &observation in &stream {
            let predicted = state.contains_at(observation);
            let verdict = state.observe(observation);
            if predicted == Verdict::Seen || !state.filter.verdict_is_random() {
                prop_assert_eq!(verdict, predicted);
            }
        }
    }

    /// A log may skip observations that left the state unchanged.
    #[test]
    fn replaying_a_log_restores_the_state(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(0..600),
    ) {
        let Ok(fresh) = FilterState::new(&spec, memory_bits) else { return Ok(()) };
        let (mut original, mut replayed) = (fresh.clone(), fresh);
        let clock = original.filter.tick_clock().copied();
        let mut frames = vec![LoggedObservations::default()];
        for &observation in &stream {
            // A frame carries one step, at which all its observations count.
            let step = clock.map(|clock| {
                let own = clock.step_of(observation.tick);
                own.max(original.registers.clock())
            });
            if frames.last().is_none_or(|frame| frame.step != step) {
                frames.push(LoggedObservations { step, ..LoggedObservations::default() });
            }
            let logged = frames.last_mut().expect("a frame");
            let verdict = original.observe(observation);
            if verdict == Verdict::Seen && original.filter.seen_leaves_state_unchanged() {
                logged.skipped_after += 1;
            } else {
                logged.skipped_before.push(std::mem::take(&mut logged.skipped_after));
                // A frame carries the fingerprint, and no time of its own.
                logged.observations.push(Observation { tick: 0, ..observation });
            }
        }
        let logged: u64 = frames.iter().map(LoggedObservations::count).sum();
        prop_assert_eq!(logged, stream.len() as u64);
        let FilterState { filter, region, registers } = &mut replayed;
        for frame in &frames {
            filter.replay(&mut region[..], registers, frame, &mut Vec::new());
        }
        prop_assert_eq!(replayed.digest(), original.digest());
    }

    #[test]
    fn counts_and_load_are_exact(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(0..600),
    ) {
        let Ok(mut state) = FilterState::new(&spec, memory_bits) else { return Ok(()) };
        let verdicts = state.observe_batch(&stream);
        let new = verdicts.iter().filter(|&&verdict| verdict == Verdict::New).count() as u64;
        prop_assert_eq!(state.registers.observations(), stream.len() as u64);
        prop_assert_eq!(state.registers.new_count(), new);
        prop_assert_eq!(state.registers.occupied(), state.filter.recount(&state.region));
        prop_assert!(state.registers.occupied() <= state.filter.cells());
        prop_assert!(state.filter.accepts(&state.registers), "{}", spec);
        let rate = state.filter.false_positive_rate(&state.registers);
        prop_assert!((0.0..=1.0).contains(&rate), "{}", rate);
    }

    /// A store neither reads nor writes what was never used.
    #[test]
    fn bytes_that_were_never_used_are_zero(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(0..600),
    ) {
        let Ok(mut state) = FilterState::new(&spec, memory_bits) else { return Ok(()) };
        let mut used = 0;
        for part in stream.chunks(50) {
            state.observe_batch(part);
            let now = state.filter.used_bytes(&state.registers);
            prop_assert!(used <= now && now <= state.region.len(), "{}", spec);
            prop_assert!(state.region[now..].iter().all(|&byte| byte == 0), "{}", spec);
            used = now;
        }
    }

    /// `explain` relies on it.
    #[test]
    fn a_key_that_cannot_be_forgotten_is_seen(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(0..600),
    ) {
        let Ok(mut state) = FilterState::new(&spec, memory_bits) else { return Ok(()) };
        state.observe_batch(&stream);
        for observation in stream {
            let fingerprint = observation.fingerprint;
            let FilterState { filter, region, registers, .. } = &state;
            if !filter.may_have_forgotten(region, registers, fingerprint) {
                let verdict = filter.contains(region, registers, fingerprint);
                prop_assert_eq!(verdict, Verdict::Seen, "{}", spec);
            }
        }
    }

    /// A checkpoint copies only declared changes; an undeclared one would be lost.
    #[test]
    fn every_change_is_declared(
        spec in any_spec(), memory_bits in any_memory_bits(), stream in any_stream(0..200),
    ) {
        let Ok(mut state) = FilterState::new(&spec, memory_bits) else { return Ok(()) };
        for &observation in &stream {
            let before = state.region.clone();
            let mut tracked = TrackedRegion { bytes: &mut state.region, declared: Vec::new() };
            state.filter.observe(&mut tracked, &mut state.registers, observation);
            let declared = tracked.declared;
            for (at, (old, new)) in before.iter().zip(&state.region).enumerate() {
                prop_assert!(old == new || declared.iter().any(|range| range.contains(&at)));
            }
        }
    }
}

/// A region that records which changes were declared.
pub struct TrackedRegion<'a> {
    pub bytes: &'a mut [u8],
    pub declared: Vec<Range<usize>>,
}

impl Region for TrackedRegion<'_> {
    fn bytes(&self) -> &[u8] {
        self.bytes
    }

    fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        self.declared.push(range.clone());
        &mut self.bytes[range]
    }
}

#[test]
fn every_memory_size_works_or_is_refused_with_a_reason() {
    let defaults = registry().iter().map(|&one| FilterSpec::with_defaults(one));
    // Cell sizes that leave part of a small memory unused.
    let odd = [
        "stable:max=1024",
        "counting:bits=13",
        "counting:bits=14",
        "sqf:k=5,r=6,rr=4",
    ];
    let odd = odd.map(|text| text.parse().expect("a filter"));
    for spec in defaults.chain(odd) {
        for memory_bits in (0..700).chain([1021, 4093, 8191, 65_537]) {
            match SeenSetBuilder::new(&spec)
                .memory_bits(memory_bits)
                .seed(1)
                .build()
            {
                Ok(mut set) => {
                    assert!(memory_bits >= MIN_MEMORY_BITS);
                    assert!(set.region().len() as u64 <= memory_bits.div_ceil(8));
                    for key in 0..200u32 {
                        set.observe(key.to_le_bytes());
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

/// The region is all the memory that a filter uses: the filter value has the same size for a
/// gigabyte as for a kilobyte, and observing allocates nothing.
#[test]
fn only_the_region_grows_with_the_memory() {
    for descriptor in registry() {
        let spec = FilterSpec::with_defaults(descriptor);
        let largest = AnyFilter::build(&spec, MAX_MEMORY_BITS.min(1 << 35)).expect("fits");
        assert!(largest.region_bytes() as u64 <= 1 << 32);
        let mut set = SeenSetBuilder::new(&spec)
            .memory_bits(1 << 20)
            .seed(1)
            .build()
            .expect("small");
        let observations: Vec<Observation> = (0..5000u64)
            .map(|key| set.hasher().fingerprint(&key.to_le_bytes()).into())
            .collect();
        let mut verdicts = vec![Verdict::New; observations.len()];
        // The first batch may allocate a buffer for the times.
        set.observe_batch(&observations, &mut verdicts);
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

    // SAFETY: every call is passed on unchanged to the system's allocator.
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

/// The browser tests compare the same file with what WebAssembly computes. If a line differs,
/// stores written by earlier versions would be read incorrectly.
#[test]
fn golden_states_do_not_change() {
    let file = fixture("golden-states.txt");
    let golden = std::fs::read_to_string(&file).unwrap_or_default();
    let found: Vec<String> = golden_states().iter().map(ToString::to_string).collect();
    let unknown: Vec<&String> = found
        .iter()
        .filter(|line| !golden.lines().any(|known| known == line.as_str()))
        .collect();
    assert!(
        unknown.is_empty(),
        "{} does not contain these lines. Never change a line; if the filter is new, run `cargo xtask \
         golden NAME`:\n{}",
        file.display(),
        unknown
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
    );
    assert_eq!(
        found.len(),
        golden.lines().count(),
        "the file has lines that no filter computes"
    );
}
