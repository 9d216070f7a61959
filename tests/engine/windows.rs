//! Windows against an exact record of deliveries, over long streams with times.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use dedupstore::filter::{ClockKind, WindowClock};
use dedupstore::lab::{NoClock, RunSummary, Simulation, StreamSpec, Truth, measure};
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
/// if and only if it was delivered at most `age_limit` steps before. Of age partitions only the
/// first half is required. Returns how many verdicts
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
            if spec.descriptor().name == "apbf" {
                let is_inside = age.is_some_and(|age| age < clock.span());
                assert!(verdict.is_seen() || !is_inside, "{spec}: event {index}");
            } else {
                assert_in_promise(&clock, age, verdict, index);
                let expected = steps.is_some_and(|steps| steps <= clock.age_limit());
                assert_eq!(
                    verdict.is_seen(),
                    expected,
                    "{spec}: event {index}, {steps:?} steps"
                );
            }
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
        "stamped:bits=32,span=3600",
        "stamped:bits=32,span=70000,step=10000,clock=count",
        // Parts that are not full: a full one drops one new key in a million.
        "growing:fpr=0.000001,k=12,span=3600,by=density,part=5000000",
        "growing:fpr=0.000001,k=12,span=3600,by=cardinality,part=5000000,step=500",
        "growing:fpr=0.000001,k=16,span=70000,part=3000000,clock=count,layout=shared",
    ] {
        let [seen, forgotten] = run(filter, MEMORY_BITS / 4, 200_000);
        assert!(
            seen > 10_000 && forgotten > 1000,
            "{filter}: {seen}, {forgotten}"
        );
    }
}

/// Expiry is not exact here: one bit of another key may stand in for the first that was retired.
#[test]
fn age_partitions_have_no_false_negatives() {
    for filter in [
        "apbf:k=9,span=3600",
        "apbf:k=9,span=70000,step=10000,clock=count",
        "apbf:k=9,span=20000,clock=deliveries",
    ] {
        let [seen, forgotten] = run(filter, MEMORY_BITS / 64, 200_000);
        assert!(
            seen > 10_000 && forgotten > 1000,
            "{filter}: {seen}, {forgotten}"
        );
    }
}

/// Simulates filters in 4,000 bits over a stream with a time for each key.
fn simulate(filters: &[&str], tick_of: impl Fn(u32) -> Option<u32>) -> Vec<RunSummary> {
    let mut simulation = Simulation::new(1, Truth::for_fingerprints());
    for filter in filters {
        let spec = filter.parse().expect("a filter");
        simulation.add_filter(&spec, 4000).expect("small");
    }
    let stream: StreamSpec = "zipf:0.8:5000".parse().expect("a stream");
    let mut keys = stream.open(30_000, 1);
    for position in 0.. {
        let Some((key, _)) = keys.next_key() else {
            break;
        };
        match tick_of(position) {
            Some(tick) => simulation.push_key_at(key, tick, &NoClock),
            None => simulation.push_key(key, &NoClock),
        }
    }
    simulation.flush(&NoClock);
    simulation.measurements("zipf")
}

/// If errors were counted against first occurrences, each wrong drop of a key would be followed by
/// a false negative, and each key that comes again after its span would be one.
#[test]
fn a_simulated_window_errs_only_against_its_own_deliveries() {
    let filters = [
        "window:k=3,span=600",
        "window:k=3,span=600,clock=count,equal=2",
        "bloom:k=3",
    ];
    let [window, equal, bloom] = &simulate(&filters, |_| None)[..] else {
        panic!("three filters");
    };
    assert!(window.fp > 500, "{window:?}");
    assert_eq!(window.false_negatives, 0);
    assert!(equal.false_negatives > 100, "{equal:?}");
    // Keys come again after their span, so there are more new keys than distinct ones.
    assert!(window.distinct > bloom.distinct + 1000);
    assert_eq!(window.distinct + window.repeats, 30_000);
    assert!(window.fpr_fresh.is_some() && window.fpr_fresh != window.fpr);
    assert_eq!(bloom.fpr_fresh, bloom.fpr);
}

#[test]
fn simulated_keys_without_times_come_one_per_second() {
    let filters = ["window:k=3,span=600", "bloom:k=3"];
    let without = simulate(&filters, |_| None);
    assert_eq!(simulate(&filters, Some), without);
    // At twice the pace, twice the span is the same window.
    let slower = simulate(&["window:k=3,span=1200,step=100"], |position| {
        Some(2 * position)
    });
    assert_eq!(slower[0].fp, without[0].fp);
    let counted = simulate(&["window:k=3,span=600,clock=count"], |_| None);
    assert_eq!(counted[0].fp, without[0].fp);
    // All at once, nothing is forgotten.
    let at_once = simulate(&["window:k=3,span=600"], |_| Some(1_700_000_000));
    assert!(
        at_once[0].load > 0.9 && without[0].load < 0.9,
        "{at_once:?}"
    );
}

#[test]
fn a_window_measured_alone_has_the_errors_of_a_simulation() {
    for (stream, filter) in [
        ("zipf:0.8:5000", "window:k=3,span=600"),
        ("zipf:0.8:5000", "window:k=3,span=600,clock=deliveries"),
        ("burst:30:2:5", "window:k=3,span=300"),
    ] {
        let stream: StreamSpec = stream.parse().expect("a stream");
        let spec: FilterSpec = filter.parse().expect("a filter");
        let mut keys = stream.open(30_000, 1);
        let mut simulation = Simulation::for_stream(&keys, 1);
        simulation.add_filter(&spec, 4000).expect("small");
        while let Some(arrival) = keys.next_arrival() {
            simulation.push_arrival(&arrival, &NoClock);
        }
        simulation.flush(&NoClock);
        let AnyFilter::Window(built) = AnyFilter::build(&spec, 4000).expect("small") else {
            panic!("a window");
        };
        let board = measure(&built, stream.open(30_000, 1), 1).expect("small");
        assert_eq!(board.now(), simulation.runs()[0].scoreboard().now());
        assert!(board.now().false_positives > 100);
    }
}

/// Simulates one filter over a synthetic stream of 30,000 keys.
fn simulate_stream(stream: &str, filter: &str) -> (RunSummary, Vec<u64>) {
    let stream: StreamSpec = stream.parse().expect("a stream");
    let mut keys = stream.open(30_000, 1);
    let mut simulation = Simulation::for_stream(&keys, 1);
    simulation
        .add_filter(&filter.parse().expect("a filter"), 20_000)
        .expect("small");
    while let Some(arrival) = keys.next_arrival() {
        simulation.push_arrival(&arrival, &NoClock);
    }
    simulation.flush(&NoClock);
    let curve = simulation.runs()[0].scoreboard().coarse_curve(30);
    let occupied = curve.iter().map(|point| point.occupied).collect();
    (simulation.summaries("burst").remove(0), occupied)
}

/// The window is so short that it fills within each third of the stream.
#[test]
fn a_burst_fills_a_window_of_seconds_in_the_middle_third() {
    let filter = "window:k=2,span=200,step=10";
    let (burst, occupied) = simulate_stream("burst:60:1:5", filter);
    let (steady, _) = simulate_stream("burst:60:1:1", filter);
    let mean = |part: &[u64]| part.iter().sum::<u64>() / part.len() as u64;
    let third = occupied.len() / 3;
    let before = mean(&occupied[third / 2..third]);
    let during = mean(&occupied[third + third / 2..2 * third]);
    let after = mean(&occupied[2 * third + third / 2..]);
    assert!(
        during > 3 * before && during < 5 * before,
        "{before}, {during}"
    );
    assert!(after.abs_diff(before) < before / 10, "{before}, {after}");
    assert!(burst.fp > 3 * steady.fp, "{}, {}", burst.fp, steady.fp);
    assert_eq!((burst.false_negatives, steady.false_negatives), (0, 0));
    // Without a burst, one key per second is what a stream without times has.
    let (uniform, _) = simulate_stream("uniform:60", filter);
    assert_eq!((uniform.fp, uniform.distinct), (steady.fp, steady.distinct));
    assert_eq!(uniform.predicted_fpr, steady.predicted_fpr);
    // A window of keys knows no time.
    let counted = |stream| {
        simulate_stream(stream, "window:k=2,span=200,clock=count")
            .0
            .fp
    };
    assert_eq!(counted("burst:60:1:5"), counted("burst:60:1:1"));
}
