//! Figure 4 of Deng, Rafiei, 2006, on synthetic data.
//!
//! The figure compares methods on three lengths of one web crawl, which is not available. Here keys
//! are drawn independently from a Zipf distribution of exponent 0.8, from as many keys as give the
//! same share of distinct keys. The rates cannot agree with the paper's: a crawl finds the same
//! links again soon, independent draws do not. What can be compared is the order of the methods,
//! and that FPBuffering misses 1 − q of what buffering misses.
//!
//! The q of FPBuffering is the FPR of SBF in the paper. The paper counts 64 bits per key for buffers
//! and does not count the index. The buffers here hold the same number of keys.

use super::{Cell, CellPosition, Contender, Metric, Run, Source};
use crate::filter::Citation;

pub(super) const SOURCE: Citation = Citation {
    authors: "F. Deng, D. Rafiei",
    title: "Approximately Detecting Duplicates for Streaming Data using Stable Bloom Filters",
    year: 2006,
};

/// Space in bits, then in percent: FNR of FPBuffering, FNR of SBF, FPR of both, FNR of
/// buffering, FPR of BF.
type Row = (u64, f64, f64, f64, f64, f64);

struct Dataset {
    name: &'static str,
    count: u64,
    distinct_percent: f64,
    /// Keys of the synthetic data per arrival, chosen to give the same share of distinct keys.
    keys_per_arrival: f64,
    rows: &'static [Row],
}

const EXPONENT: f64 = 0.8;
const PAPER_KEY_BITS: u64 = 64;
/// The memory per key of `buffer:policy=lru`, with index and order.
const KEY_BITS: u64 = 192;

const NOTE: &str = "on synthetic data: the paper's web crawl is not available, and independent \
                    Zipf draws with the same share of distinct keys have longer gaps between repeats";

const DATASETS: [Dataset; 3] = [
    Dataset {
        name: "76 % distinct, 100K",
        count: 100_000,
        distinct_percent: 75.66,
        keys_per_arrival: 32.37,
        rows: &[
            (16_384, 46.0, 35.0, 8.4, 50.0, 83.8),
            (65_536, 35.0, 23.0, 6.7, 37.0, 43.4),
            (262_144, 24.0, 11.0, 3.0, 25.0, 7.2),
            (1_048_576, 9.0, 4.0, 0.4, 9.0, 0.6),
            (4_194_304, 0.1, 1.0, 0.1, 0.1, 0.1),
        ],
    },
    Dataset {
        name: "49 % distinct, 10M",
        count: 10_000_000,
        distinct_percent: 48.51,
        keys_per_arrival: 1.874,
        rows: &[
            (16_384, 60.0, 54.0, 8.1, 65.7, 99.7),
            (262_144, 48.0, 40.0, 6.6, 51.5, 95.9),
            (4_194_304, 30.0, 23.0, 4.5, 31.7, 43.5),
            (67_108_864, 11.0, 5.0, 0.5, 11.0, 0.7),
            (1_073_741_824, 0.0, 0.4, 0.1, 0.0, 0.1),
        ],
    },
    Dataset {
        name: "15 % distinct, 695M",
        count: 694_984_445,
        distinct_percent: 14.75,
        keys_per_arrival: 0.168,
        rows: &[
            (16_384, 71.0, 68.0, 8.2, 78.0, 99.99),
            (262_144, 65.0, 60.0, 7.0, 70.0, 99.81),
            (4_194_304, 55.0, 50.0, 5.7, 58.0, 96.93),
            (67_108_864, 43.0, 36.0, 3.5, 45.0, 54.08),
            (1_073_741_824, 17.0, 13.0, 1.6, 17.0, 2.65),
            (4_294_967_296, 2.0, 5.0, 1.6, 2.0, 1.87),
        ],
    },
];

pub(super) fn cells() -> Vec<Cell> {
    let rows = DATASETS
        .iter()
        .flat_map(|dataset| dataset.rows.iter().map(move |row| (dataset, row)));
    rows.flat_map(|(dataset, row)| cells_of_row(dataset, row))
        .collect()
}

fn cells_of_row(dataset: &Dataset, row: &Row) -> Vec<Cell> {
    let &(space_bits, drawn_fnr, stable_fnr, stable_fpr, buffer_fnr, bloom_fpr) = row;
    let cell = |column, metric, paper_value, spec: String, memory_bits| {
        let position = CellPosition {
            paper: "004",
            table: "Figure 4",
            row: format!("{}, {space_bits} bits", dataset.name),
            column,
        };
        let run = Run {
            contender: Contender::Filter(spec),
            memory_bits,
            source: Source::Zipf {
                exponent: EXPONENT,
                keys_per_arrival: dataset.keys_per_arrival,
            },
            count: dataset.count,
        };
        position.cell(metric, Some(paper_value), &run, Some(NOTE))
    };
    let stable = "stable:k=2,p=4,max=1".to_owned();
    let drawn = format!("fpbuffer:q={:.4}", stable_fpr / 100.0);
    let bloom = format!("bloom:k={}", best_k(dataset, space_bits));
    let buffer_bits = space_bits / PAPER_KEY_BITS * KEY_BITS;
    vec![
        cell("FPBuffering", Metric::Fnr, drawn_fnr, drawn, buffer_bits),
        cell("SBF", Metric::Fnr, stable_fnr, stable.clone(), space_bits),
        cell("SBF", Metric::Fpr, stable_fpr, stable, space_bits),
        cell(
            "Buffering",
            Metric::Fnr,
            buffer_fnr,
            "buffer".to_owned(),
            buffer_bits,
        ),
        cell("BF", Metric::Fpr, bloom_fpr, bloom, space_bits),
    ]
}

/// Returns the best k for the number of distinct keys, as the paper does: ln 2 · m / n.
fn best_k(dataset: &Dataset, space_bits: u64) -> u64 {
    let distinct = dataset.count as f64 * dataset.distinct_percent / 100.0;
    let best = std::f64::consts::LN_2 * space_bits as f64 / distinct;
    (best.round() as u64).clamp(1, 32)
}
