//! `lab::Inside` counts the same errors as a simulation, and its explanations are true.

use std::collections::HashMap;
use std::sync::Arc;

use dedupstore::filter::{Evidence, FilterSpec, PossibleErrors};
use dedupstore::lab::{
    Inside, InsideError, Mistake, Mistakes, NoClock, ObservedKey, Reason, Simulation, StreamSpec,
    Truth,
};
use dedupstore::{Fingerprint, Observation, SeenSet, SeenSetBuilder, Verdict, registry};

const KEYS: u64 = 3000;
/// A memory in bits that is enough for every filter, and in which they err.
const SMALL: u64 = 2048;

fn keys() -> Vec<Vec<u8>> {
    let stream: StreamSpec = "zipf:1.0:2000".parse().expect("a stream");
    let mut keys = stream.open(KEYS, 1);
    let mut all = Vec::new();
    while let Some((key, _)) = keys.next_key() {
        all.push(key.to_vec());
    }
    all
}

fn watched(spec: &FilterSpec, memory_bits: u64, keys: &[Vec<u8>]) -> Inside {
    let mut inside = Inside::new(spec, memory_bits, 5).expect("small");
    keys.iter().for_each(|key| inside.push_key(key));
    inside
}

/// Returns a filter that has observed these keys.
fn plain(spec: &FilterSpec, memory_bits: u64, keys: &[Vec<u8>]) -> SeenSet {
    let mut set = SeenSetBuilder::new(spec)
        .memory_bits(memory_bits)
        .seed(5)
        .build()
        .expect("small");
    for (tick, key) in (0..).zip(keys) {
        let fingerprint = set.hasher().fingerprint(key);
        set.observe_one(Observation {
            tick,
            ..fingerprint.into()
        });
    }
    set
}

/// Returns the cells that decide about a key that comes next.
fn evidence(set: &SeenSet, fingerprint: Fingerprint) -> Evidence {
    let now = set.registers().observations() as u32;
    set.filter()
        .evidence_at(set.region(), set.registers(), fingerprint, now)
}

/// Every filter with its defaults, and windows that pass several times.
fn filters() -> Vec<FilterSpec> {
    let defaults = registry().iter().map(|one| FilterSpec::with_defaults(one));
    let windows = [
        "window:k=2,span=400",
        "window:k=4,span=900,step=1,layout=blocked,equal=2",
        "window:k=3,span=500,step=1,clock=count,equal=3",
        "stamped:bits=5,span=1500",
        "apbf:k=2,span=300,step=100",
    ];
    let windows = windows.map(|filter| filter.parse().expect("a filter"));
    defaults.chain(windows).collect()
}

/// Returns whether each key is new to the filter: it has not occurred before or, if the filter has
/// a window, was not delivered within the span. None where both verdicts are right.
fn new_keys(spec: &FilterSpec, memory_bits: u64, keys: &[Vec<u8>]) -> Vec<Option<bool>> {
    let mut set = plain(spec, memory_bits, &[]);
    let mut last = HashMap::new();
    let mut is_new = |(tick, key): (u32, &Vec<u8>)| {
        let fingerprint = set.hasher().fingerprint(key);
        let verdict = set.observe_one(Observation {
            tick,
            ..fingerprint.into()
        });
        let age = last.get(key).map(|last| tick - last);
        let window = set.filter().window();
        if window.is_none() || verdict.is_new() {
            last.insert(key.clone(), tick);
        }
        let Some(clock) = window else {
            return Some(age.is_none());
        };
        match age.map(u64::from) {
            Some(age) if age < clock.span() => Some(false),
            Some(age) if age < clock.span().next_multiple_of(clock.step()) + clock.step() => None,
            _ => Some(true),
        }
    };
    (0..).zip(keys).map(&mut is_new).collect()
}

#[test]
fn errors_are_those_that_a_simulation_counts() {
    let keys = keys();
    for spec in filters() {
        for memory_bits in [SMALL, 8192] {
            let mut simulation = Simulation::new(5, Truth::for_fingerprints());
            simulation.add_filter(&spec, memory_bits).expect("small");
            for key in &keys {
                simulation.push_key(key, &NoClock);
            }
            simulation.flush(&NoClock);
            let counted = simulation.runs()[0].scoreboard().now();
            let inside = watched(&spec, memory_bits, &keys);
            let found = (
                inside.position(),
                inside.distinct(),
                inside.dropped().count(),
                inside.missed().count(),
            );
            let expected = (
                counted.position,
                counted.distinct,
                counted.false_positives,
                counted.false_negatives,
            );
            assert_eq!(found, expected, "{spec}");
            let kept = |mistakes: &Mistakes| mistakes.latest().count() as u64;
            assert_eq!(kept(inside.dropped()), found.2.min(100), "{spec}");
            assert_eq!(kept(inside.missed()), found.3.min(100), "{spec}");
        }
    }
}

/// Checked against the cells of the key and the stream itself, without the code that found the
/// reason.
#[test]
fn the_reasons_for_errors_are_true() {
    let keys = keys();
    let mut kinds = std::collections::BTreeSet::new();
    for spec in filters() {
        let inside = watched(&spec, SMALL, &keys);
        let new_keys = new_keys(&spec, SMALL, &keys);
        let key_at = |position: u64| &keys[position as usize - 1];
        let mistakes = inside.dropped().latest().chain(inside.missed().latest());
        for Mistake {
            observed: arrived,
            reason,
        } in mistakes.step_by(5)
        {
            let (key, position) = (key_at(arrived.position), arrived.position);
            assert_eq!(*key, arrived.key);
            let earlier = &keys[..position as usize - 1];
            let last = earlier.iter().rposition(|other| other == key);
            let is_new = new_keys[position as usize - 1];
            assert_eq!(Some(arrived.is_first), is_new, "{spec}");
            let since = last.map(|at| position - 1 - at as u64);
            // The filter when the key arrived.
            let then = plain(&spec, SMALL, earlier);
            let evidence_then = evidence(&then, arrived.fingerprint);
            kinds.insert(format!("{:?}", std::mem::discriminant(reason)));
            match reason {
                Reason::SetByOthers { cells } => {
                    assert_eq!(evidence_then.verdict(), Verdict::Seen);
                    assert!(
                        *cells > 0
                            && evidence_then.cells().filter(|it| it.value > 0).count() >= *cells
                    );
                }
                Reason::SameValue { value, other, .. } => {
                    let other = other.as_ref().expect("known");
                    assert_eq!(*key_at(other.position), other.key);
                    assert!(other.key != arrived.key && other.position < position);
                    let alike = evidence(&then, other.fingerprint);
                    assert_eq!(
                        (alike.row, alike.required),
                        (evidence_then.row, evidence_then.required)
                    );
                    assert_eq!(alike.required.fingerprint(), Some(*value));
                    assert_eq!(alike.verdict(), Verdict::Seen, "{spec}");
                }
                Reason::Random => {
                    assert!(then.filter().verdict_is_random());
                    assert_eq!(evidence_then.verdict(), Verdict::New);
                }
                Reason::CellsLost { lacking, of, lines } => {
                    assert_eq!(Some(*lines), since);
                    assert!(*lacking > 0 && lacking <= of);
                    let right_after = plain(&spec, SMALL, &keys[..(position - lines) as usize]);
                    let held = evidence(&right_after, arrived.fingerprint);
                    assert_eq!(held.verdict(), Verdict::Seen, "{spec}");
                    assert!(!inside.cell_layout().loss.is_empty());
                }
                Reason::CellsOverwritten { lines } => {
                    assert_eq!(Some(*lines), since);
                    assert_eq!(evidence_then.closest().map(|(missing, _)| missing), Some(0));
                    assert_eq!(evidence_then.verdict(), Verdict::New, "{spec}");
                }
                Reason::ValueLost { lines } => {
                    assert_eq!(Some(*lines), since);
                    assert!(!inside.cell_layout().loss.is_empty());
                }
                Reason::NotKept { lines } => {
                    assert_eq!(Some(*lines), since);
                    let right_after = plain(&spec, SMALL, &keys[..(position - lines) as usize]);
                    let held = evidence(&right_after, arrived.fingerprint);
                    assert_eq!(held.verdict(), Verdict::New, "{spec}");
                }
                Reason::NeverStored { lines } => {
                    assert_eq!(Some(*lines), since);
                    assert!(then.filter().seen_leaves_state_unchanged(), "{spec}");
                }
            }
            let words = reason.in_words(inside.cell_layout());
            assert!(
                words.len() > 20 && !words.contains("  "),
                "{spec}: {words:?}"
            );
        }
    }
    assert_eq!(kinds.len(), 8, "every kind of reason occurred");
}

#[test]
fn a_cell_records_its_last_change_and_the_key_that_wrote_it() {
    for descriptor in registry() {
        let spec = FilterSpec::with_defaults(descriptor);
        let mut inside = Inside::new(&spec, 2048, 5).expect("small");
        for key in keys().iter().take(400) {
            let before: Vec<u64> = inside.cells().iter().map(|cell| cell.value).collect();
            inside.push_key(key);
            let after: Vec<u64> = inside.cells().iter().map(|cell| cell.value).collect();
            let sum = |values: &[u64]| values.iter().map(|&value| u128::from(value)).sum::<u128>();
            let lost = inside
                .cells()
                .iter()
                .filter(|cell| cell.lost_at == inside.position());
            if sum(&after) < sum(&before) {
                assert!(lost.clone().count() > 0, "{spec}");
            }
            if descriptor.errors == PossibleErrors::FalsePositives {
                assert_eq!(lost.count(), 0, "{spec}");
            }
            for (cell, before) in inside.cells().iter().zip(before) {
                let is_changed = cell.changed_at == inside.position();
                assert_eq!(is_changed, cell.value != before, "{spec}");
                assert_eq!(cell.written_by.is_some(), cell.value > 0, "{spec}");
                // The cell that a key wrote is part of its evidence.
                if let Some(left_by) = &cell.written_by {
                    let evidence = inside.evidence(left_by.fingerprint);
                    let is_looked_at = evidence.cells().any(|it| it.value == cell.value);
                    assert!(is_looked_at, "{spec}");
                }
            }
        }
        let in_use = inside.cells().iter().filter(|cell| cell.value > 0).count();
        assert_eq!(in_use as u64, inside.set().registers().occupied(), "{spec}");
    }
}

#[test]
fn reasons_are_complete_sentences() {
    let set = |spec: &str| Inside::new(&spec.parse().expect("a filter"), SMALL, 1).expect("small");
    let bits = *set("blocked").cell_layout();
    let lines = *set("recent").cell_layout();
    let slots = *set("slot").cell_layout();
    let other = Arc::new(ObservedKey {
        position: 7,
        key: b"/a".to_vec(),
        fingerprint: Fingerprint(1),
        verdict: Verdict::New,
        is_first: true,
    });
    let said = [
        Reason::SetByOthers { cells: 4 }.in_words(&bits),
        Reason::CellsLost {
            lacking: 2,
            of: 4,
            lines: 120,
        }
        .in_words(&bits),
        Reason::CellsLost {
            lacking: 4,
            of: 4,
            lines: 1,
        }
        .in_words(&bits),
        Reason::ValueLost { lines: 1_070_037 }.in_words(&lines),
        Reason::SameValue {
            value: 5,
            other: Some(other),
            position: 9,
        }
        .in_words(&slots),
    ];
    assert_eq!(
        said,
        [
            "its 4 bits had all been set by other keys",
            "2 of its 4 bits were cleared for newer keys since it occurred 120 lines earlier",
            "all of its 4 bits were cleared for newer keys since it occurred 1 line earlier",
            "it was pushed out of its cache line by newer keys since it occurred 1,070,037 lines earlier",
            "its fingerprint 5 equals that of a key in the same slot: /a, which occurred 2 lines earlier",
        ]
    );
}

#[test]
fn a_filter_with_too_many_cells_is_refused() {
    let spec = "bloom".parse().expect("a filter");
    let refused = Inside::new(&spec, (1 << 16) + 8, 1);
    assert!(matches!(
        refused,
        Err(InsideError::TooManyCells { cells: 65_544 })
    ));
}
