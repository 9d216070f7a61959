//! Compares the adviser's picks with everything that it could have picked.
//!
//! Seeds are fixed, so the numbers change only with the code. docs/TRADEOFFS.md has the same
//! comparison on longer streams and at more memory sizes.

use dedupstore::FilterSpec;
use dedupstore::KeyHasher;
use dedupstore::advise::{
    Confidence, DEFAULT_FILTER, Estimate, Preference, Question, RatesBy, Sample, advise,
    is_from_papers,
};
use dedupstore::filter::PossibleErrors;
use dedupstore::lab::{NoClock, Simulation, StreamSpec, Truth};
use dedupstore_tools::tradeoff::{Cell, Effort, Run, Tally, grid, window_grid};

/// Runs shorter versions of the streams of docs/TRADEOFFS.md at three memory sizes, with every
/// third configuration. At 16 bits per key there are only a few dozen errors, so a run counts
/// as better on both rates only by two standard errors; the document uses bare counts.
#[test]
fn picks_are_on_the_pareto_front_or_near_the_best() {
    const STREAMS: [&str; 5] = [
        "shuffle:15",
        "shuffle:60",
        "shuffle:90",
        "zipf:1.1:100000",
        "drift:15:300",
    ];
    let effort = Effort {
        count: 30_000,
        min_trials: 1,
        max_trials: 40,
        enough_errors: 400,
        seed: 1,
        threads: 2,
    };
    let filters: Vec<FilterSpec> = grid().into_iter().step_by(3).collect();
    let cells: Vec<Cell> = STREAMS
        .iter()
        .flat_map(|stream| effort.measure(stream, &filters, &[1.0, 4.0, 16.0]))
        .collect();
    let tally = Tally::of(cells.iter());
    let picks: Vec<String> = cells
        .iter()
        .map(|cell| {
            let describe = |run: &Run| {
                let relative = run.errors().total() as f64 / cell.least_errors() as f64;
                format!("{} {relative:.2} {}", run.filter, cell.is_good(run))
            };
            let [without_sample, with_sample] = cell.picks().map(describe);
            let (stream, bits) = (&cell.stream, cell.bits_per_key);
            format!("{stream} {bits}: {without_sample}, {with_sample}")
        })
        .collect();
    let [without_sample, with_sample] = tally.good.map(|good| tally.share(good));
    assert!(without_sample >= 0.80, "{tally:?} {picks:#?}");
    assert!(with_sample >= 0.95, "{tally:?} {picks:#?}");
    for dominated in tally.dominated_by_papers {
        assert!(tally.share(dominated) <= 0.05, "{tally:?} {picks:#?}");
    }
}

#[test]
fn the_default_filter_is_advised_for_an_unknown_stream() {
    let default: FilterSpec = DEFAULT_FILTER.parse().expect("a filter");
    for memory_bits in [8 << 20, 8 << 26] {
        let advice = advise(&Question::of_memory(memory_bits)).expect("a filter");
        assert_eq!(advice.choice.filter.to_string(), default.to_string());
        assert_eq!(advice.least_fpr, None);
    }
}

/// By the error at the planned number of keys, a table of fingerprints wins where it has room; by
/// the mean over the stream, Bloom filters are as good at 16 bits per key.
#[test]
fn a_table_of_fingerprints_is_advised_by_the_error_at_the_end() {
    for bits_per_key in [12, 16, 24, 32] {
        let question = |rates_by| Question {
            distinct: Some(1_000_000),
            rates_by,
            ..Question::of_memory(bits_per_key * 1_000_000)
        };
        let [mean, end] = [RatesBy::Mean, RatesBy::End]
            .map(|rates_by| advise(&question(rates_by)).expect("a filter").choice);
        let name = |it: &Estimate| it.filter.descriptor().name;
        println!("{bits_per_key}: {mean:?} {end:?}");
        assert_eq!(name(&end), "quotient", "{bits_per_key}: {end:?}");
        assert_eq!(Some(end.fpr), end.end_fpr);
        assert!(mean.end_fpr >= end.end_fpr, "{mean:?} {end:?}");
        assert_eq!(end.fnr, 0.0);
        if bits_per_key == 16 {
            assert_ne!(name(&mean), "quotient", "{mean:?}");
        }
    }
    // Without room for all keys it is not advised.
    for rates_by in [RatesBy::Mean, RatesBy::End] {
        let question = Question {
            distinct: Some(1_000_000),
            rates_by,
            ..Question::of_memory(2_000_000)
        };
        let choice = advise(&question).expect("a filter").choice;
        assert_ne!(choice.filter.descriptor().name, "quotient", "{choice:?}");
    }
}

#[test]
fn a_preference_is_respected_at_every_load() {
    for distinct in [None, Some(1_000), Some(1_000_000), Some(100_000_000)] {
        let question = |preference| Question {
            distinct,
            preference,
            ..Question::of_memory(1 << 23)
        };
        let no_drops = advise(&question(Preference::NoDrops))
            .expect("a filter")
            .choice;
        assert_eq!(
            no_drops.filter.descriptor().errors,
            PossibleErrors::FalseNegatives
        );
        assert_eq!(no_drops.fpr, 0.0);
        let no_repeats = advise(&question(Preference::NoRepeats))
            .expect("a filter")
            .choice;
        assert!(no_repeats.fnr < 1e-9, "{no_repeats:?}");
    }
}

#[test]
fn bounds_are_met_if_possible_and_otherwise_the_reason_says_so() {
    let question = Question {
        distinct: Some(1_000_000),
        max_fpr: Some(0.05),
        ..Question::of_memory(1_000_000)
    };
    let advice = advise(&question).expect("a filter");
    assert!(
        advice.keeps_bounds && advice.choice.fpr <= 0.05,
        "{advice:?}"
    );
    let both = Question {
        max_fnr: Some(0.05),
        ..question
    };
    let advice = advise(&both).expect("a filter");
    assert!(
        !advice.keeps_bounds,
        "one bit per key cannot meet both bounds: {advice:?}"
    );
    assert!(advice.reason.contains("no filter"), "{}", advice.reason);
}

#[test]
fn costs_shift_the_choice_towards_the_cheaper_error() {
    let rates = |cost_fp, cost_fn| {
        let question = Question {
            distinct: Some(1_000_000),
            cost_fp,
            cost_fn,
            ..Question::of_memory(2_000_000)
        };
        let choice = advise(&question).expect("a filter").choice;
        (choice.fpr, choice.fnr)
    };
    let (expensive_drops, expensive_repeats) = (rates(100.0, 1.0), rates(1.0, 100.0));
    assert!(
        expensive_drops.0 < expensive_repeats.0 / 4.0,
        "{expensive_drops:?} {expensive_repeats:?}"
    );
    assert!(
        expensive_repeats.1 < expensive_drops.1 / 4.0,
        "{expensive_drops:?} {expensive_repeats:?}"
    );
}

#[test]
fn filters_of_the_papers_are_not_picked_if_a_bloom_filter_is_better_on_both_rates() {
    for bits in [4u64, 8, 16] {
        let question = Question {
            distinct: Some(1_000_000),
            ..Question::of_memory(bits * 1_000_000)
        };
        let advice = advise(&question).expect("a filter");
        assert!(!is_from_papers(&advice.choice.filter));
        let sentence = advice.papers.expect("a sentence about them");
        assert!(sentence.contains("better on both rates"), "{sentence}");
    }
}

#[test]
fn a_sample_is_used_only_if_it_is_large_enough() {
    let sample_of = |count| {
        let spec: StreamSpec = "drift:15:500".parse().expect("a stream");
        let (mut keys, hasher) = (spec.open(count, 5), KeyHasher::new(0));
        let mut sample = Sample::default();
        while let Some((key, _)) = keys.next_key() {
            sample.record(hasher.fingerprint(key));
        }
        sample
    };
    let sureness = |sample: &Sample| {
        let question = Question {
            sample: Some(sample),
            ..Question::of_memory(40_000)
        };
        advise(&question).expect("a filter").confidence
    };
    assert!(matches!(
        sureness(&sample_of(300)),
        Confidence::Assumed { .. }
    ));
    let measured = sureness(&sample_of(30_000));
    let Confidence::Measured {
        observations,
        ahead,
        standard_error,
    } = measured
    else {
        panic!("{measured:?}");
    };
    assert_eq!(observations, 30_000);
    assert!(ahead >= 0.0 && standard_error > 0.0, "{measured:?}");
}

/// Returns the value of a parameter of a filter.
fn value(filter: &FilterSpec, name: &str) -> String {
    let mut values = filter.values();
    let found = values.find(|(parameter, _)| parameter.name == name);
    found
        .map(|(_, value)| value.to_string())
        .unwrap_or_default()
}

#[test]
fn a_question_with_a_window_is_answered_by_filters_with_that_window() {
    for preference in [
        Preference::Balanced,
        Preference::NoRepeats,
        Preference::NoDrops,
    ] {
        let question = Question {
            window: Some(604_800),
            distinct: Some(100_000),
            preference,
            ..Question::of_memory(4_000_000)
        };
        let advice = advise(&question).expect("a filter");
        for it in std::iter::once(&advice.choice).chain(&advice.runners_up) {
            assert_eq!(value(&it.filter, "span"), "604800", "{}", it.filter);
            assert_eq!(value(&it.filter, "clock"), "seconds", "{}", it.filter);
        }
        let choice = &advice.choice;
        match preference {
            Preference::NoRepeats => assert_eq!(choice.fnr, 0.0),
            Preference::NoDrops => assert!(choice.fpr < 1e-6),
            Preference::Balanced => assert!(choice.fpr < 0.001 && choice.fnr < 0.001),
        }
        assert!(advice.papers.is_none());
        assert!(
            advice.reason.contains("40.0 bits per key in the window"),
            "{}",
            advice.reason
        );
    }
}

/// The picks are those of docs/WINDOWS.md, on shorter streams: at most a third more errors than the
/// best of the grid.
#[test]
fn a_window_is_advised_from_a_sample_with_times() {
    const SPAN: u64 = 12_000;
    for (text, bits) in [
        ("shuffle:20", 16),
        ("zipf:0.9:50000", 32),
        ("drift:50:3000", 8),
    ] {
        let stream: StreamSpec = text.parse().expect("a stream");
        let sample = |seed: u64| {
            let hasher = KeyHasher::new(seed);
            let (mut keys, mut sample) = (stream.open(100_000, seed), Sample::default());
            // Two keys per second.
            for position in 0.. {
                let Some((key, _)) = keys.next_key() else {
                    break;
                };
                sample.record_at(hasher.fingerprint(key), position / 2);
            }
            sample
        };
        let in_window = sample(1).stream_keys_within(SPAN / 2);
        let memory_bits = bits * in_window;
        let sampled = sample(7);
        let question = Question {
            window: Some(SPAN / 2),
            sample: Some(&sampled),
            ..Question::of_memory(memory_bits)
        };
        let advice = advise(&question).expect("a filter");
        assert!(matches!(advice.confidence, Confidence::Measured { .. }));
        let errors = |filter: &FilterSpec| {
            let mut simulation = Simulation::new(1, Truth::for_fingerprints());
            simulation
                .add_filter(filter, memory_bits)
                .expect("enough memory");
            for it in sample(1).observations() {
                simulation.push_fingerprint_at(it.fingerprint, it.tick, &NoClock);
            }
            simulation.flush(&NoClock);
            let end = *simulation.runs()[0].scoreboard().now();
            end.false_positives + end.false_negatives
        };
        let best = window_grid(SPAN / 2)
            .iter()
            .map(errors)
            .min()
            .expect("a grid");
        let picked = errors(&advice.choice.filter);
        assert!(
            picked <= best + best / 3,
            "{text}: {} errs {picked} times, the best {best} times",
            advice.choice.filter
        );
    }
}
