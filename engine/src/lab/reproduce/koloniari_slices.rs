//! Figures 1, 5 and 7 of Koloniari, Ntarmos, Pitoura, Souravlias, 2011: slices and failures.
//!
//! **Figure 1** plots the paper's Eq. 5 and 6 for a full filter. We fill a filter, let sites fail and
//! test other keys.
//!
//! **Figures 5 and 7** are experiments without numbers. The text says what they show: the false
//! positive rate of horizontal slices grows with their number, that of vertical ones does not;
//! vertical slices share a skewed load more evenly; of 8 bits, 3 or 4 must be live and set;
//! pipelining saves messages, most of them if there are few duplicates.

use super::koloniari_2011::{DATASETS, Dataset, ID, MEAN_NOTE, SIZED_FOR, SLICES, WEB_LOG_PERCENT};
use super::sliced_filter::{SiteMetric, SliceContender, SliceExperiment};
use super::{Cell, CellPosition, Contender, Metric, Run, Source};
use crate::sites::{
    FailureRule, Slicing, Testing, horizontal_fault_tolerance, vertical_fault_tolerance,
};

const COUNT: u64 = 100_000;
/// Bits per key, except in Figure 5d.
const K: u32 = 4;
/// The keys and the bits of the web log at P = 2 %.
const FULL_KEYS: u64 = 16_850;
const FULL_BITS: u64 = 143_000;
const FULL_FPR: f64 = 0.02;

const EQUATION_NOTE: &str = "the figure plots Eq. 5 and 6, which are the value on the left; measured: a filter with \
     16,850 keys in 143,000 bits, k = 4, 40 sites, of which some fail, tested with other keys";
const TOLERANCE_NOTE: &str = "the smallest number of slices for which the false positive rate of our runs is at most \
     P_max; the value on the left solves Eq. 5 or 6, so the measured value is the next whole number, or the one before it where Eq. 5 or 6 \
     exceeds P_max by no more than our standard error of 0.1 %; \
     the text says less than 20 vertical and more than 30 horizontal slices for f = 4, P_max = 15 %";
const SLICES_NOTE: &str = "a comparison of shapes: the paper says that the rate of horizontal slices deviates the more, \
     the more slices there are; keys are spread unevenly over small slices";
const LOAD_NOTE: &str = "a comparison of shapes: the paper's web log is not available; this is a Zipf stream with the \
     same number of distinct keys; the load of a site is the number of its tests";
const RULE_NOTE: &str = "a comparison of shapes: the paper says that \"a threshold value of 3 or 4 is the best, since it \
     almost minimizes both the false positive and false negative rate\"; the rule as printed, at \
     least x live bits are set, drops a third of the new keys or more at x = 3; the text fits only \
     the rule that all live bits are set and at least x are live; the formulas printed for both \
     rates lack the binomial coefficients";
const MESSAGES_NOTE: &str = "a comparison of shapes: the paper says that pipelining saves most \"when there are few \
     duplicates\"; it counts only tests; a new key also pays for its sets";

pub(super) fn cells() -> Vec<Cell> {
    let mut cells = failures_of_a_full_filter();
    cells.extend(fault_tolerance());
    cells.extend(DATASETS.iter().flat_map(false_positives));
    cells.extend(vertical_is_flat());
    cells.extend(load());
    cells.extend(rules());
    cells.extend(messages());
    cells
}

fn contender(slicing: Slicing) -> SliceContender {
    SliceContender {
        slicing,
        k: K,
        failed: 0,
        rule: FailureRule::Seen,
        testing: Testing::Parallel,
        experiment: SliceExperiment::Stream,
    }
}

fn run(contender: SliceContender, memory_bits: u64, source: Source) -> Run {
    Run {
        contender: Contender::Slices(contender),
        memory_bits,
        source,
        count: COUNT,
    }
}

/// A run that fills the web log's filter with distinct keys.
fn full(contender: SliceContender) -> Run {
    let distinct_percent = 100.0;
    Run {
        count: FULL_KEYS,
        ..run(contender, FULL_BITS, Source::Shuffle { distinct_percent })
    }
}

fn position(table: &'static str, row: String, column: &'static str) -> CellPosition {
    CellPosition {
        paper: ID,
        table,
        row,
        column,
    }
}

/// Both ways of dividing a filter into so many slices, with their names.
fn both(slices: u64) -> [(&'static str, Slicing); 2] {
    [
        ("vertical", Slicing::Vertical { slices }),
        ("horizontal", Slicing::Horizontal { slices }),
    ]
}

/// Figure 1(a).
fn failures_of_a_full_filter() -> Vec<Cell> {
    let bit = libm::pow(FULL_FPR, 1.0 / f64::from(K));
    let of = |failed: u64| {
        let share = failed as f64 / SLICES as f64;
        let eq_6 = libm::pow(share + (1.0 - share) * bit, K.into());
        let eq_5 = share + (1.0 - share) * FULL_FPR;
        both(SLICES).map(|(name, slicing)| {
            let value = if name == "vertical" { eq_6 } else { eq_5 };
            let run = full(SliceContender {
                failed,
                experiment: SliceExperiment::Full,
                ..contender(slicing)
            });
            let row = format!("(a) {} % of the sites failed", 100 * failed / SLICES);
            let percent = rounded(100.0 * value);
            position("Figure 1", row, name).cell(
                Metric::Fpr,
                Some(percent),
                &run,
                Some(EQUATION_NOTE),
            )
        })
    };
    [4, 8, 12, 16, 20].into_iter().flat_map(of).collect()
}

/// Figure 1(b).
fn fault_tolerance() -> Vec<Cell> {
    let of = |(failed, most_percent): (u64, f64)| {
        both(SLICES).into_iter().filter_map(move |(name, slicing)| {
            let (f, most) = (failed as f64, most_percent / 100.0);
            let value = match name {
                "vertical" => vertical_fault_tolerance(f, K, FULL_FPR, most),
                _ => horizontal_fault_tolerance(f, FULL_FPR, most),
            }?;
            let run = full(SliceContender {
                failed,
                experiment: SliceExperiment::Smallest { most_percent },
                ..contender(slicing)
            });
            let row = format!("(b) f = {failed}, P_max = {most_percent} %");
            let metric = Metric::Sites(SiteMetric::Slices);
            let value = Some(rounded(value));
            Some(position("Figure 1", row, name).cell(metric, value, &run, Some(TOLERANCE_NOTE)))
        })
    };
    let settings = [(1, 15.0), (2, 15.0), (4, 15.0), (8, 15.0), (4, 10.0)];
    settings.into_iter().flat_map(of).collect()
}

/// Returns a value with four significant digits, as values of papers have.
fn rounded(value: f64) -> f64 {
    let digits = 3.0 - libm::floor(libm::log10(value));
    let factor = libm::pow(10.0, digits);
    libm::round(value * factor) / factor
}

/// Figures 5(a), 7(a) and 7(b), horizontal slices.
fn false_positives(dataset: &'static Dataset) -> impl Iterator<Item = Cell> {
    let sizes = SIZED_FOR.into_iter().zip(dataset.memory_bits);
    sizes.flat_map(move |((sized_for, _), memory_bits)| {
        [10, 40, 100, 1000].map(|slices| {
            let run = run(
                contender(Slicing::Horizontal { slices }),
                memory_bits,
                Source::Shuffle {
                    distinct_percent: dataset.distinct_percent,
                },
            );
            let row = format!("{}, P = {sized_for} %, S = {slices}", dataset.name);
            position(dataset.figure, row, "horizontal").cell(
                Metric::Fpr,
                None,
                &run,
                Some(SLICES_NOTE),
            )
        })
    })
}

/// Figure 5(a), vertical slices. A test compares their verdicts with those of one filter, so one
/// number of slices is enough.
fn vertical_is_flat() -> Option<Cell> {
    let (web_log, (sized_for, mean)) = (DATASETS.first()?, SIZED_FOR.last()?);
    let distinct_percent = WEB_LOG_PERCENT;
    let run = run(
        contender(Slicing::Vertical { slices: 1000 }),
        *web_log.memory_bits.last()?,
        Source::Shuffle { distinct_percent },
    );
    let row = format!("web log, P = {sized_for} %, S = 1000");
    let position = position("Figure 5", row, "vertical");
    Some(position.cell(Metric::Fpr, Some(*mean), &run, Some(MEAN_NOTE)))
}

/// Figures 5(b) and 5(c).
fn load() -> Vec<Cell> {
    let zipf = Source::Zipf {
        exponent: 1.0,
        keys_per_arrival: 0.333_46,
    };
    let of = |slices: u64| {
        both(slices).into_iter().flat_map(move |(name, slicing)| {
            let run = run(contender(slicing), FULL_BITS, zipf);
            let row = format!("(b, c) Zipf, S = {slices}");
            let position = position("Figure 5", row, name);
            [SiteMetric::Fairness, SiteMetric::Hottest].map(|metric| {
                let metric = Metric::Sites(metric);
                position.cell(metric, None, &run, Some(LOAD_NOTE))
            })
        })
    };
    [10, 40, 100, 1000].into_iter().flat_map(of).collect()
}

/// Figure 5(d).
fn rules() -> Vec<Cell> {
    let of = |x: u32| {
        let columns = [
            ("vertical", FailureRule::XOfK { x }),
            ("live-zero rule", FailureRule::LiveZero { x }),
        ];
        columns.into_iter().flat_map(move |(name, rule)| {
            let contender = SliceContender {
                k: 8,
                failed: 8,
                rule,
                ..contender(Slicing::Vertical { slices: SLICES })
            };
            let distinct_percent = WEB_LOG_PERCENT;
            let run = run(contender, FULL_BITS, Source::Shuffle { distinct_percent });
            let position = position("Figure 5", format!("(d) k = 8, x = {x}"), name);
            [Metric::Fpr, Metric::Fnr]
                .map(|metric| position.cell(metric, None, &run, Some(RULE_NOTE)))
        })
    };
    (1..=7).flat_map(of).collect()
}

/// Figure 7(c). The filters are sized for 2 %.
fn messages() -> Vec<Cell> {
    let of = |distinct_percent: u32| {
        let memory_bits = 8485 * u64::from(distinct_percent);
        let columns = [
            ("parallel", Testing::Parallel),
            ("pipelined", Testing::Pipelined),
        ];
        columns.into_iter().flat_map(move |(name, testing)| {
            let contender = SliceContender {
                testing,
                ..contender(Slicing::Vertical { slices: SLICES })
            };
            let source = Source::Shuffle {
                distinct_percent: distinct_percent.into(),
            };
            let run = run(contender, memory_bits, source);
            let row = format!("(c) {distinct_percent} % distinct");
            let position = position("Figure 7", row, name);
            [SiteMetric::TestMessages, SiteMetric::SetMessages]
                .map(|metric| position.cell(Metric::Sites(metric), None, &run, Some(MESSAGES_NOTE)))
        })
    };
    [20, 50, 80].into_iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_on_the_left_are_those_of_the_equations() {
        let cells = cells();
        let value = |table: &str, row: &str, column: &str| {
            let found = cells
                .iter()
                .find(|cell| (cell.table, &cell.row[..], cell.column) == (table, row, column));
            found.and_then(|cell| cell.paper_value).expect(row)
        };
        let row = "(b) f = 4, P_max = 15 %";
        assert!((value("Figure 1", row, "vertical") - 10.1).abs() < 0.05);
        assert!((value("Figure 1", row, "horizontal") - 30.15).abs() < 0.01);
        let row = "(a) 20 % of the sites failed";
        assert!((value("Figure 1", row, "horizontal") - 21.6).abs() < 1e-9);
        assert!((value("Figure 1", row, "vertical") - 6.295).abs() < 0.01);
        assert_eq!(rounded(10.1234), 10.12);
        assert_eq!(rounded(0.123_456), 0.1235);
    }
}
