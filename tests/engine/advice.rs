//! Compares the adviser's picks with everything that it could have picked.
//!
//! Seeds are fixed, so the numbers change only with the code. docs/TRADEOFFS.md has the same
//! comparison on longer streams and at more memory sizes.

use dedupstore::FilterSpec;
use dedupstore::advise::{
    Confidence, DEFAULT_FILTER, Preference, Question, Sample, advise, is_from_papers,
};
use dedupstore::filter::PossibleErrors;
use dedupstore::{KeyHasher, lab::StreamSpec};
use dedupstore_tools::tradeoff::{Cell, Effort, Run, Tally, grid};

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
