//! Where a paper is wrong: the printed algorithm, table or equation beside the right one.
//!
//! Each test fails if the paper is right after all. `docs/PAPERS.md` names them.

use std::collections::HashSet;

use dedupstore::lab::reproduce::{
    Agreement, Cell, Finding, Metric, Plan, STATEMENTS, Source, cells,
};
use dedupstore::lab::{NoClock, Simulation, StreamSpec};
use dedupstore::theory::information::min_bits;
use dedupstore::{Fingerprint, KeyHasher};

use crate::source_files::test_names;

/// The error rates of verdicts on a stream, in percent: false positives, false negatives.
fn rates(text: &str, count: u64, mut is_seen: impl FnMut(u64, Fingerprint) -> bool) -> (f64, f64) {
    let mut keys = text.parse::<StreamSpec>().expect(text).open(count, 1);
    let hasher = KeyHasher::new(1);
    let mut known = HashSet::new();
    let (mut dropped, mut missed) = (0.0, 0.0);
    while let Some((key, number)) = keys.next_key() {
        let seen = is_seen(number, hasher.fingerprint(key));
        match known.insert(number) {
            true => dropped += f64::from(u8::from(seen)),
            false => missed += f64::from(u8::from(!seen)),
        }
    }
    let distinct = known.len() as f64;
    (
        100.0 * dropped / distinct,
        100.0 * missed / (count as f64 - distinct),
    )
}

/// The error rates of a filter of the registry, in percent.
fn filter_rates(stream: &str, count: u64, filter: &str, memory_bits: u64) -> (f64, f64) {
    let mut keys = stream.parse::<StreamSpec>().expect(stream).open(count, 1);
    let mut simulation = Simulation::for_stream(&keys, 1);
    let filter = filter.parse().expect(filter);
    simulation.add_filter(&filter, memory_bits).expect("small");
    while let Some(arrival) = keys.next_arrival() {
        simulation.push_arrival(&arrival, &NoClock);
    }
    simulation.flush(&NoClock);
    let board = simulation.runs()[0].scoreboard();
    let percent = |rate: Option<f64>| 100.0 * rate.expect("new keys and repeats");
    (percent(board.fpr()), percent(board.fnr()))
}

/// A small generator for the algorithms of this file.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = (self.0)
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((u128::from(self.0) * u128::from(end)) >> 64) as u64
    }
}

/// The memory of 128 MB for a billion keys, for 100,000.
const CELLS: u64 = 107_374;

fn stable(flag_in_loop: bool) -> (f64, f64) {
    let (mut cells, mut draws) = (vec![false; CELLS as usize], Draws(1));
    rates("shuffle:60", 100_000, |_, key| {
        let mut probes = key.probes();
        let positions = [0, 1].map(|_| probes.next_below(CELLS) as usize);
        let mut seen = positions.iter().all(|&at| cells[at]);
        for _ in 0..4 {
            let at = draws.below(CELLS) as usize;
            // "if SBF[j] >= 1 then DuplicateFlag = Yes"
            seen |= flag_in_loop && cells[at];
            cells[at] = false;
        }
        positions.iter().for_each(|&at| cells[at] = true);
        seen
    })
}

/// Algorithm 1 of paper 004 sets the flag again in the loop that lowers cells. The rates of the right
/// algorithm were published in paper 000, Table 8: 5.64 and 65.25 %. The standard errors are 0.1 and
/// 0.25 points.
#[test]
fn the_stable_filter_as_printed_takes_new_keys_for_duplicates() {
    let (fpr, fnr) = stable(false);
    assert!((fpr - 5.6378).abs() < 0.4, "{fpr}");
    assert!((fnr - 65.2456).abs() < 1.0, "{fnr}");
    let (fpr, fnr) = stable(true);
    assert!(fpr > 50.0 && fnr < 25.0, "{fpr}, {fnr}");
}

fn bsbf(swapped: bool) -> (f64, f64) {
    const PART: u64 = CELLS / 2;
    let (mut bits, mut draws) = (vec![false; 2 * PART as usize], Draws(1));
    rates("shuffle:60", 100_000, |_, key| {
        let mut probes = key.probes();
        let positions = [0, 1].map(|part| (part * PART + probes.next_below(PART)) as usize);
        let all_set = positions.iter().all(|&at| bits[at]);
        // As printed, the result is DISTINCT if all bits are set, and only then is the key inserted.
        let is_duplicate = all_set != swapped;
        if !is_duplicate {
            for part in 0..2 {
                bits[(part * PART + draws.below(PART)) as usize] = false;
            }
            positions.iter().for_each(|&at| bits[at] = true);
        }
        is_duplicate
    })
}

/// Algorithms 2 to 4 of paper 000 exchange DISTINCT and DUPLICATE. Table 8 has 11.95 and 34.75 %.
#[test]
fn bsbf_as_printed_never_stores_a_key() {
    let (fpr, fnr) = bsbf(false);
    assert!((fpr - 11.9472).abs() < 0.6, "{fpr}");
    assert!((fnr - 34.7514).abs() < 1.0, "{fnr}");
    assert_eq!(bsbf(true), (100.0, 0.0));
}

/// What an empty bucket of an SQF means.
#[derive(Clone, Copy, PartialEq)]
enum Empty {
    /// A value of its own.
    Own,
    /// The same as signature 0, which is found in it.
    FoundZero,
    /// The same as signature 0, which is never found.
    LostZero,
}

/// r = 2, r' = 1, k = 4 on keys that are their own fingerprints, as in paper 003.
fn sqf(empty: Empty) -> (f64, f64) {
    const KEYS: u64 = 15_000;
    let mut rows = vec![[None::<u64>; 4]; KEYS as usize / 4 + 1];
    rates("shuffle:15", 100_000, |number, _| {
        let (row, remainder) = (number / 4, number % 4);
        // The high bit and the number of ones: four remainders, four signatures.
        let signature = 2 * (remainder >> 1) + u64::from(remainder.count_ones());
        let row = &mut rows[row as usize];
        let is_found = |bucket: &Option<u64>| match (bucket, signature, empty) {
            (None, 0, Empty::FoundZero) => true,
            _ => *bucket == Some(signature),
        };
        let found = row.iter().any(is_found);
        // Signature 0 leaves an empty bucket empty.
        let is_lost = signature == 0 && empty == Empty::LostZero;
        if !found
            && !is_lost
            && let Some(free) = row.iter_mut().find(|it| it.is_none())
        {
            *free = Some(signature);
        }
        found
    })
}

/// Paper 003 initializes the table to "null or empty" and counts no value for it: a bucket of two
/// bits has four signatures. If empty is signature 0, a quarter of one kind of key is judged wrongly.
#[test]
fn an_sqf_without_a_value_for_empty_errs_on_a_quarter_of_the_keys() {
    assert_eq!(sqf(Empty::Own), (0.0, 0.0));
    let (fpr, fnr) = sqf(Empty::FoundZero);
    assert!((fpr - 25.0).abs() < 1.0 && fnr == 0.0, "{fpr}, {fnr}");
    let (fpr, fnr) = sqf(Empty::LostZero);
    assert!(fpr == 0.0 && (fnr - 25.0).abs() < 1.0, "{fpr}, {fnr}");
}

/// Table 2 of paper 003 has 0.0031 and 0.0042 % for a billion keys in 64 MB. Here both are a
/// thousandth. A key as its own fingerprint makes no error at all; a hashed one is a false positive
/// for a third of the new keys, where a Bloom filter errs for a sixteenth.
#[test]
fn an_sqf_errs_as_soon_as_keys_are_hashed() {
    let memory_bits = (64 << 23) / 1000;
    let of = |filter: &str, memory_bits| filter_rates("shuffle:15", 1_000_000, filter, memory_bits);
    let sqf = "sqf:r=2,rr=1,k=4,fingerprint=";
    assert_eq!(
        of(&format!("{sqf}identity"), memory_bits / 2 * 3),
        (0.0, 0.0)
    );
    let (hashed, _) = of(&format!("{sqf}hashed"), memory_bits);
    let (bloom, missed) = of("bloom:k=3", memory_bits);
    assert!(hashed > 30.0, "{hashed}");
    assert!(bloom < 7.0 && missed == 0.0, "{bloom}");
}

/// Eq. 10 of paper 003 has the factor ((U − 1)/U)^m, so that longer streams have fewer false
/// positives. A filter has more of them.
#[test]
fn the_false_positives_of_an_sqf_grow_with_the_stream() {
    let of = |count| filter_rates("shuffle:15", count, "sqf:r=2,rr=1,k=4", 500_000).0;
    let rates = [100_000, 300_000, 1_000_000].map(of);
    assert!(rates.is_sorted() && rates[2] > 2.0 * rates[0], "{rates:?}");
    let universe = 150_000.0f64;
    let factor = |m: i32| (1.0 - 1.0 / universe).powi(m);
    assert!(
        factor(1_000_000) < 0.01 * factor(100_000),
        "the equation falls"
    );
}

/// Table 3 of paper 003 has 0.008 % of both errors in 8 MB for 150 million distinct keys. Any filter
/// needs 13.6 bits per key for that.
#[test]
fn table_3_of_the_sqf_is_below_the_information_bound() {
    for (distinct, fpr, megabytes) in [(150e6, 8e-5, 8.0), (417e6, 8e-5, 8.0), (150e6, 9e-6, 16.0)]
    {
        let needed = min_bits(distinct, fpr) / f64::from(8 << 20);
        assert!(needed > 15.0 * megabytes, "{needed}");
    }
}

/// Table 3 has an FNR of 4.19 % for SBF in 1 MB. A larger exponent has fewer misses, and an exponent
/// above 1.1 does not have 15 % distinct keys: 1 MB for a billion keys is 1,678 bits for 200,000.
#[test]
fn no_zipf_stream_has_the_misses_of_table_3() {
    for (exponent, keys) in [(0.8, 34_000), (1.0, 72_000), (1.1, 300_000)] {
        let stream = format!("zipf:{exponent}:{keys}");
        let mut drawn = stream
            .parse::<StreamSpec>()
            .expect("a stream")
            .open(200_000, 1);
        let mut distinct = HashSet::new();
        while let Some((_, number)) = drawn.next_key() {
            distinct.insert(number);
        }
        let share = distinct.len() as f64 / 200_000.0;
        assert!((0.12..0.2).contains(&share), "{exponent}: {share}");
        let (_, fnr) = filter_rates(&stream, 200_000, "stable:k=2,p=4,max=1", 1678);
        assert!(fnr > 20.0, "{exponent}: {fnr}");
    }
}

/// The FPR of a Bloom filter with the best k, averaged over the stream, in percent.
fn best_bloom(bits_per_key: f64) -> f64 {
    let of = |k: i32| {
        let steps = (0..1000).map(|step| {
            let keys = (f64::from(step) + 0.5) / 1000.0;
            (-(-f64::from(k) * keys / bits_per_key).exp_m1()).powi(k)
        });
        steps.sum::<f64>() / 10.0
    };
    (1..=20).map(of).fold(f64::MAX, f64::min)
}

/// Paper 000 compares with SBF only. A Bloom filter has no false negatives, and with the best k fewer
/// false positives than RLBSBF, the best filter of the paper, in most of its cells.
#[test]
fn a_bloom_filter_beats_rlbsbf_in_fifteen_of_twenty_four_cells() {
    let mut better = Vec::new();
    for table in ["4", "5", "6", "7", "8", "9"] {
        let cells = cells(Some("000"), Some(&format!("Table {table}"))).expect("a table");
        let published = cells
            .iter()
            .filter(|cell| cell.column == "RLBSBF" && matches!(cell.metric, Metric::Fpr));
        for cell in published {
            let Source::Shuffle { distinct_percent } = cell.run.source else {
                panic!("{:?}", cell.run.source);
            };
            let distinct = cell.run.count as f64 * distinct_percent / 100.0;
            let bloom = best_bloom(cell.run.memory_bits as f64 / distinct);
            better.push(bloom < cell.paper_value.expect("published"));
        }
    }
    assert_eq!(better.len(), 24);
    assert_eq!(better.iter().filter(|&&it| it).count(), 15);
}

/// Measures chosen cells of a table of paper 002, with a change; returns the deviations.
fn deviations(
    table: &str,
    is_chosen: impl Fn(&Cell) -> bool,
    change: impl Fn(&mut Cell),
) -> Vec<f64> {
    let mut cells = cells(Some("002"), Some(table)).expect("a table");
    cells.retain(is_chosen);
    cells.iter_mut().for_each(change);
    let mut plan = Plan::of(&cells, 1);
    plan.jobs.iter_mut().for_each(|job| job.rounds = 1);
    let outcomes: Vec<_> = plan
        .jobs
        .iter()
        .map(|job| job.execute().expect("small"))
        .collect();
    let found = cells.iter().zip(&plan.job_of);
    found
        .filter_map(|(cell, &job)| cell.with(&outcomes[job]).deviation)
        .collect()
}

/// The text of paper 002 says 70 % duplicates. With them the stable Bloom filter misses far more than
/// Table 4 says; with 44.53 % it misses as much.
#[test]
fn the_tables_of_the_importance_paper_have_fewer_duplicates_than_its_text() {
    let is_chosen = |cell: &Cell| cell.column == "SBF" && cell.note.is_none();
    let as_measured = deviations("Table 4", is_chosen, |_| {});
    assert!(as_measured.len() >= 4);
    assert!(
        as_measured.iter().all(|it| it.abs() < 0.06),
        "{as_measured:?}"
    );
    let as_the_text_says = deviations("Table 4", is_chosen, |cell| {
        cell.run.source = Source::Importance {
            distinct_percent: 30.0,
        };
    });
    let far = as_the_text_says.iter().filter(|it| it.abs() > 0.2);
    assert!(
        2 * far.count() > as_the_text_says.len(),
        "{as_the_text_says:?}"
    );
}

/// Values in the wrong row deviate by more than the filters do; in their places they do not.
#[test]
fn two_columns_of_the_importance_paper_are_misprinted() {
    for table in ["Table 3", "Table 4"] {
        let is = |start: &'static str| {
            move |cell: &Cell| {
                let simple = cell.column.starts_with("BF") || cell.column.starts_with("SBF");
                simple && cell.note.is_some_and(|note| note.starts_with(start))
            }
        };
        let printed = deviations(table, is("a misprint"), |_| {});
        let corrected = deviations(table, is("printed in another row"), |_| {});
        assert!(!printed.is_empty() && !corrected.is_empty(), "{table}");
        assert!(
            printed.iter().all(|it| it.abs() > 0.2),
            "{table}: {printed:?}"
        );
        assert!(
            corrected.iter().all(|it| it.abs() < 0.06),
            "{table}: {corrected:?}"
        );
    }
}

/// Figure 4 of paper 004: the stream is fitted to the column `Buffering` and the share of distinct
/// keys. One run at a ten-thousandth of the size, without the row that needs 43 million keys. The
/// smallest scaled memories have some thousand bits, so single cells vary by a few percent.
#[test]
fn a_stream_fitted_to_one_column_predicts_the_others() {
    let mut cells = cells(Some("004"), Some("Figure 4")).expect("a figure");
    cells.retain(|cell| {
        let is_predicted = cell.note.is_some_and(|note| note.starts_with("predicted"));
        let is_small = cell.paper_value.is_some_and(|value| value <= 1.0);
        let is_long = cell.row == "15 % distinct, 695M, 16384 bits";
        is_predicted && cell.column != "BF best K" && !is_small && !is_long
    });
    let mut plan = Plan::of(&cells, 10_000);
    plan.jobs.iter_mut().for_each(|job| job.rounds = 1);
    let outcomes: Vec<_> = plan
        .jobs
        .iter()
        .map(|job| job.execute().expect("small"))
        .collect();
    let measured = cells.iter().zip(&plan.job_of);
    let measured: Vec<_> = measured
        .map(|(cell, &job)| cell.with(&outcomes[job]))
        .collect();
    let far: Vec<_> = measured
        .iter()
        .filter(|cell| cell.agreement() == Agreement::Far)
        .collect();
    assert!(measured.len() > 40, "{}", measured.len());
    assert!(10 * far.len() <= measured.len(), "{far:#?}");
    // Independent Zipf draws with the same share of distinct keys missed half as many again.
    let misses = measured.iter().filter(|cell| cell.metric == Metric::Fnr);
    let deviations = misses.filter_map(|cell| cell.deviation);
    assert!(deviations.clone().count() > 20);
    assert!(
        deviations.clone().all(|it| it.abs() < 0.2),
        "{:?}",
        deviations.collect::<Vec<_>>()
    );
}

/// Every statement that a paper is wrong names a test, and every named test exists.
#[test]
fn every_error_of_a_paper_has_a_test() {
    let tests = test_names("");
    let mut wrong = 0;
    for statement in STATEMENTS {
        let is_wrong = statement.finding == Finding::Wrong;
        wrong += usize::from(is_wrong);
        assert!(!is_wrong || statement.test.is_some(), "{}", statement.claim);
        if let Some(test) = statement.test {
            assert!(tests.contains(test), "there is no test {test}");
        }
    }
    assert!(wrong > 8);
}

/// The words of a command; those in quotes are one.
fn words(command: &str) -> Vec<String> {
    let parts = command.split('\'').enumerate();
    let words = parts.flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

/// The words that follow a name.
fn words_after<'a>(words: &'a [String], name: &str) -> Vec<&'a str> {
    let pairs = words.windows(2).filter(|pair| pair[0] == name);
    pairs.map(|pair| pair[1].as_str()).collect()
}

/// Every command of a statement names a paper, a table, a row and filters that exist.
#[test]
fn the_commands_of_statements_are_possible() {
    for statement in STATEMENTS {
        let words = words(statement.command);
        let after = |name: &str| words_after(&words, name);
        assert_eq!(words[0], "dedupstore");
        match words[1].as_str() {
            "reproduce" => {
                let table = words.get(3).map(String::as_str);
                let found = cells(Some(&words[2]), table).expect(statement.command);
                for row in after("--row") {
                    assert!(found.iter().any(|cell| cell.row == row), "{row}");
                }
                for column in after("--column") {
                    assert!(found.iter().any(|cell| cell.column == column), "{column}");
                }
            }
            "simulate" => {
                assert!(!after("--filter").is_empty());
                for filter in after("--filter") {
                    filter.parse::<dedupstore::FilterSpec>().expect(filter);
                }
                for stream in after("--stream") {
                    stream.parse::<StreamSpec>().expect(stream);
                }
            }
            other => panic!("{other}"),
        }
    }
}
