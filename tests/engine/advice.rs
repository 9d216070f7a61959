//! What the adviser picks, against everything it could have picked.
//!
//! Seeds are fixed: these numbers change only with the code. The document
//! docs/TRADEOFFS.md has the same on longer streams and at more memories.

use dedupstore::FilterSpec;
use dedupstore::advise::{
    DEFAULT_FILTER, Preference, Question, Sample, Sureness, advise, is_from_papers,
};
use dedupstore::filter::Errs;
use dedupstore::{KeyHasher, lab::StreamSpec};
use dedupstore_tests::tradeoff::{Cell, Effort, Run, Tally, grid};

/// The streams of docs/TRADEOFFS.md in small, at three memories, against every third
/// configuration. At 16 bits a key a few dozen errors are all there are, so that what is
/// better on both rates must be so by two standard errors; the document goes by bare counts.
#[test]
fn picks_are_on_the_front_or_near_the_least_error() {
    const STREAMS: [&str; 5] = [
        "shuffle:15",
        "shuffle:60",
        "shuffle:90",
        "zipf:1.1:100000",
        "drift:15:300",
    ];
    let effort = Effort {
        count: 30_000,
        least_tracks: 1,
        most_tracks: 40,
        enough_errors: 400,
        seed: 1,
        threads: 2,
    };
    let filters: Vec<FilterSpec> = grid().into_iter().step_by(3).collect();
    let cells: Vec<Cell> = STREAMS
        .iter()
        .flat_map(|stream| effort.cells(stream, &filters, &[1.0, 4.0, 16.0]))
        .collect();
    let tally = Tally::of(cells.iter());
    let picks: Vec<String> = cells
        .iter()
        .map(|cell| {
            let told = |run: &Run| {
                let times = run.errors().total() as f64 / cell.least_errors() as f64;
                format!("{} {times:.2} {}", run.filter, cell.is_good(run))
            };
            let (untold, told) = (told(&cell.untold), told(&cell.told));
            format!("{} {}: {untold}, {told}", cell.stream, cell.bits_a_key)
        })
        .collect();
    let [untold, told] = tally.good.map(|good| tally.share(good));
    assert!(untold >= 0.80, "{tally:?} {picks:#?}");
    assert!(told >= 0.95, "{tally:?} {picks:#?}");
    for beaten in tally.beaten_by_papers {
        assert!(tally.share(beaten) <= 0.05, "{tally:?} {picks:#?}");
    }
}

/// Whoever names no filter gets what the adviser says of a stream it knows nothing about.
#[test]
fn the_default_is_what_is_advised_for_an_unknown_stream() {
    let default: FilterSpec = DEFAULT_FILTER.parse().expect("a filter");
    for memory_bits in [8 << 20, 8 << 26] {
        let advice = advise(&Question::of_memory(memory_bits)).expect("a filter");
        assert_eq!(advice.choice.filter.to_string(), default.to_string());
        assert_eq!(advice.least_fpr, None);
    }
}

#[test]
fn a_preference_is_kept_whatever_the_memory() {
    for distinct in [None, Some(1_000), Some(1_000_000), Some(100_000_000)] {
        let question = |preference| Question {
            distinct,
            preference,
            ..Question::of_memory(1 << 23)
        };
        let no_drops = advise(&question(Preference::NoDrops))
            .expect("a filter")
            .choice;
        assert_eq!(no_drops.filter.descriptor().errs, Errs::MissesRepeats);
        assert_eq!(no_drops.fpr, 0.0);
        let no_repeats = advise(&question(Preference::NoRepeats))
            .expect("a filter")
            .choice;
        assert!(no_repeats.fnr < 1e-9, "{no_repeats:?}");
    }
}

#[test]
fn bounds_are_kept_where_they_can_be_and_else_it_says_so() {
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
        "one bit a key cannot do that: {advice:?}"
    );
    assert!(advice.reason.contains("no filter"), "{}", advice.reason);
}

#[test]
fn costs_move_the_choice_to_the_cheaper_error() {
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
    let (drops_dear, repeats_dear) = (rates(100.0, 1.0), rates(1.0, 100.0));
    assert!(
        drops_dear.0 < repeats_dear.0 / 4.0,
        "{drops_dear:?} {repeats_dear:?}"
    );
    assert!(
        repeats_dear.1 < drops_dear.1 / 4.0,
        "{drops_dear:?} {repeats_dear:?}"
    );
}

#[test]
fn the_papers_filters_are_not_picked_where_a_bloom_filter_is_better_on_both() {
    for bits in [4u64, 8, 16] {
        let question = Question {
            distinct: Some(1_000_000),
            ..Question::of_memory(bits * 1_000_000)
        };
        let advice = advise(&question).expect("a filter");
        assert!(!is_from_papers(&advice.choice.filter));
        let said = advice.papers.expect("something is said of them");
        assert!(said.contains("better on both rates"), "{said}");
    }
}

/// A sample too small to go by is not gone by; one that is large enough is, and says how sure
/// it is.
#[test]
fn a_sample_is_used_only_if_it_says_something() {
    let sampled = |count| {
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
        advise(&question).expect("a filter").sureness
    };
    assert!(matches!(sureness(&sampled(300)), Sureness::Assumed { .. }));
    let found = sureness(&sampled(30_000));
    let Sureness::Measured {
        observations,
        ahead,
        standard_error,
    } = found
    else {
        panic!("{found:?}");
    };
    assert_eq!(observations, 30_000);
    assert!(ahead >= 0.0 && standard_error > 0.0, "{found:?}");
}
