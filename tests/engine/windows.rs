//! Windows against an exact record of deliveries, over long streams with times.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use dedupstore::filter::{ClockKind, WindowClock};
use dedupstore::rng::Generator;
use dedupstore::{AnyFilter, FilterSpec, Fingerprint, Memory, Observation, Registers, Verdict};

const EVENTS: u64 = 10_000_000;
const KEYS: u64 = 40_000;
/// So large that two keys share all their cells with a probability below 10^-15.
const MEMORY_BITS: u64 = 1 << 27;
const BATCH: usize = 1000;

/// Uses a fingerprint as its own hash.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// Generates events whose times advance, stand still, come late, come in bursts, and jump.
struct Events {
    draws: Generator,
    index: u64,
    newest: u32,
}

impl Events {
    fn new() -> Self {
        Events {
            draws: Generator::from_seed(3),
            index: 0,
            newest: 1_700_000_000,
        }
    }

    fn next(&mut self) -> Observation {
        let (kind, key) = (
            self.draws.draw(2 * self.index),
            self.draws.draw(2 * self.index + 1),
        );
        let is_burst = self.index / 50_000 % 4 == 3;
        self.index += 1;
        let advance = match kind % 1_000_000 {
            // Beyond the window, or within it.
            0..2 => (kind >> 40) as u32 % 30_000,
            2..500_000 if !is_burst => (kind >> 40) as u32 % 3,
            _ => 0,
        };
        self.newest += advance;
        let late = match kind >> 20 & 15 {
            0 => (kind >> 44) as u32 % 5000,
            _ => 0,
        };
        Observation {
            fingerprint: Fingerprint(Generator::from_seed(key % KEYS).draw(0)),
            tick: self.newest - late,
            importance: 0,
        }
    }
}

/// Runs a filter, and compares every verdict with a record of its own deliveries: a key is Seen
/// if and only if it was delivered at most `age_limit` steps before. Returns how many verdicts
/// were Seen, and how many keys came again after they had been forgotten.
fn run(filter: &str, memory_bits: u64, events: u64) -> [u64; 2] {
    let spec: FilterSpec = filter.parse().expect("a filter");
    let filter = AnyFilter::build(&spec, memory_bits).expect("enough memory");
    let clock = *filter.window().expect("a window");
    let mut region = Memory::zeroed(filter.region_bytes()).expect("enough memory");
    let mut registers = Registers::new(1);
    let mut delivered: HashMap<u64, (u64, u64), BuildHasherDefault<Identity>> = HashMap::default();
    let mut stream = Events::new();
    let (mut newest, mut deliveries, mut counts) = (0, 0, [0; 2]);
    let mut verdicts = [Verdict::New; BATCH];
    for first in (0..events).step_by(BATCH) {
        let batch: Vec<Observation> = (0..BATCH).map(|_| stream.next()).collect();
        filter.observe_batch(&mut region[..], &mut registers, &batch, &mut verdicts);
        for ((index, event), verdict) in (first..).zip(&batch).zip(verdicts) {
            newest = newest.max(u64::from(event.tick));
            let time = match clock.kind() {
                ClockKind::Seconds => newest,
                ClockKind::Count => index,
                _ => deliveries,
            };
            let known = delivered.get(&event.fingerprint.0);
            let age = known.map(|(time_then, _)| time - time_then);
            let steps = known.map(|(_, step)| time / clock.step() - step);
            assert_in_promise(&clock, age, verdict, index);
            let expected = steps.is_some_and(|steps| steps <= clock.age_limit());
            assert_eq!(
                verdict.is_seen(),
                expected,
                "{spec}: event {index}, {steps:?} steps"
            );
            counts[0] += u64::from(verdict.is_seen());
            counts[1] += u64::from(verdict.is_new() && known.is_some());
            if verdict.is_new() {
                deliveries += 1;
                delivered.insert(event.fingerprint.0, (time, time / clock.step()));
            }
        }
    }
    assert_eq!(registers.occupied(), filter.recount(&region[..]));
    counts
}

/// Within the span a key is Seen; it is forgotten at most a step after the span.
fn assert_in_promise(clock: &WindowClock, age: Option<u64>, verdict: Verdict, index: u64) {
    let latest = clock.span().next_multiple_of(clock.step()) + clock.step();
    match age {
        Some(age) if age < clock.span() => {
            assert!(verdict.is_seen(), "{index}: forgotten at {age}")
        }
        Some(age) if age < latest => {}
        _ => assert!(verdict.is_new(), "{index}: not forgotten at {age:?}"),
    }
}

#[test]
fn ten_million_events_are_forgotten_exact_to_the_step() {
    let [seen, forgotten] = run("window:k=6,span=20000,layout=blocked", MEMORY_BITS, EVENTS);
    assert!(seen > EVENTS / 2 && forgotten > KEYS, "{seen}, {forgotten}");
}

#[test]
fn every_clock_and_layout_forgets_exact_to_the_step() {
    for filter in [
        "window:k=8,span=3600",
        "window:k=8,span=3600,step=1",
        "window:k=8,span=3600,step=700,layout=blocked",
        "window:k=8,span=70000,clock=count",
        "window:k=8,span=70000,step=10000,clock=count,layout=blocked",
        "window:k=8,span=20000,clock=deliveries,layout=blocked",
    ] {
        let [seen, forgotten] = run(filter, MEMORY_BITS / 4, 200_000);
        assert!(
            seen > 10_000 && forgotten > 1000,
            "{filter}: {seen}, {forgotten}"
        );
    }
}
