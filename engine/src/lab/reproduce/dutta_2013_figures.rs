//! Figures 3 to 5 and Tables 1 and 3 of Dutta, Narang, Bera, 2013.
//!
//! In each of them the column `SQF` uses the keys as their own fingerprints, as the paper does, and
//! `SQF hashed` hashes them, in the memory of the paper. The figures are pictures; the text names a
//! few of their values, and some are those of Table 2.
//!
//! Table 3 does not say how skewed its Zipf streams are. The larger the exponent, the lower the rates;
//! the exponents here are about the largest that have as many distinct keys at the default scale. They
//! are still far above the table. Table 1 is about click streams that are not available.

use super::bera_2012::MEGABYTE_BITS;
use super::{Cell, CellPosition, Contender, Metric, Quantity, Rate, Run, Source};

const ID: &str = "003";
const BILLION: u64 = 1_000_000_000;
/// The bits of a key of the billion: 150 million distinct ones.
const KEY_BITS: u64 = 28;

/// The filters of Figures 4 and 5 and of Table 3: column, filter, its memory divided by the paper's, and
/// which published value it is compared with. A bucket takes three bits here and two in the paper.
const FILTERS: [(&str, &str, f64, usize); 4] = [
    ("SBF", "stable:k=2,p=4,max=1", 1.0, 0),
    ("RSBF", "rsbf:k=2", 1.0, 1),
    ("SQF", "sqf:r=2,rr=1,k=4,fingerprint=identity", 1.5, 2),
    ("SQF hashed", "sqf:r=2,rr=1,k=4,fingerprint=hashed", 1.0, 2),
];

const SHAPE_NOTE: &str = "a comparison of shapes: the figure has no readable numbers";
const TEXT_NOTE: &str = "read from the text";
const TABLE_NOTE: &str =
    "the value of Table 2 for the same setting; the figure has no readable numbers";
const NO_MISS_NOTE: &str = "not reproduced: with r = 2, r' = 1 and k = 4 a row has a bucket for each signature, so that no \
     repeat is missed in any memory; the search ends at the smallest one";
const ABOVE_NOTE: &str = "read from the text, which says `more than`";
const ZIPF_NOTE: &str = "not reproduced: the skew of the stream is not printed, and about the largest exponent that has so \
     many distinct keys has far more misses";
const BOUND_NOTE: &str = "impossible: the memory has less than one bit per distinct key, and any filter with these rates \
     needs more than ten";
const CLICKS_NOTE: &str = "not measured: the click streams of KDD Cup 2000 are not available";

pub(super) fn cells() -> Vec<Cell> {
    [
        parameters(),
        lengths(),
        least_memories(),
        click_streams(),
        zipf_streams(),
    ]
    .concat()
}

fn position(table: &'static str, row: &str, column: &'static str) -> CellPosition {
    CellPosition {
        paper: ID,
        table,
        row: row.to_owned(),
        column,
    }
}

/// The parameters of an SQF with rows for all quotients of the keys.
struct Geometry {
    key_bits: u64,
    r: u64,
    kept: u64,
    k: u64,
}

impl Geometry {
    fn rows(&self) -> u64 {
        1 << (self.key_bits - self.r)
    }

    /// Returns the memory that the paper counts: k · 2^q · (r' + ⌈log2 r⌉).
    fn paper_bits(&self) -> u64 {
        let ones_bits = u64::from(self.r.next_power_of_two().ilog2());
        self.rows() * self.k * (self.kept + ones_bits)
    }

    /// Returns the memory here, where a bucket has a value for empty.
    fn memory_bits(&self) -> u64 {
        let signatures = (1 << self.kept) * (self.r - self.kept + 1);
        let bucket_bits = u64::from((signatures + 1u64).next_power_of_two().ilog2());
        self.rows() * self.k * bucket_bits
    }

    fn spec(&self, fingerprint: &str) -> String {
        let Geometry { r, kept, k, .. } = self;
        format!("sqf:r={r},rr={kept},k={k},fingerprint={fingerprint}")
    }

    /// Returns both columns with both rates.
    fn cells(&self, table: &'static str, row: &str, source: Source, count: u64) -> Vec<Cell> {
        let run = |fingerprint, memory_bits| Run {
            contender: Contender::Filter(self.spec(fingerprint)),
            memory_bits,
            source,
            count,
        };
        let identity = run("identity", self.memory_bits());
        let hashed = run("hashed", self.paper_bits());
        let mut cells = Vec::new();
        for (column, run) in [("SQF", identity), ("SQF hashed", hashed)] {
            let at = position(table, row, column);
            for metric in [Metric::Fpr, Metric::Fnr] {
                cells.push(at.cell(metric, None, &run, Some(SHAPE_NOTE)));
            }
        }
        cells
    }
}

/// Figure 3: the parameters of an SQF, on a billion keys of which 15 % are distinct.
fn parameters() -> Vec<Cell> {
    const TABLE: &str = "Figure 3";
    let source = Source::Shuffle {
        distinct_percent: 15.0,
    };
    let mut cells = Vec::new();
    let mut add = |row: String, r, kept, k| {
        let geometry = Geometry {
            key_bits: KEY_BITS,
            r,
            kept,
            k,
        };
        cells.extend(geometry.cells(TABLE, &row, source, BILLION));
    };
    for k in 1..=5 {
        add(format!("(a) r = 2, k = {k}"), 2, 1, k);
    }
    // Memory is sufficient if a row has a bucket for each of its signatures.
    for (r, kept, k) in [(2, 1, 4), (3, 1, 6), (4, 2, 12), (5, 2, 16)] {
        add(format!("(b) r = {r}"), r, kept, k);
    }
    // 64 MB are 256 bits per row. More buckets than signatures are of no use, and more than 32 not
    // possible here.
    for kept in 1..=6 {
        let signatures = (8 - kept) << kept;
        let k = (256 / (kept + 3)).min(signatures).min(32);
        add(format!("(c) r = 7, r' = {kept}"), 7, kept, k);
    }
    for cell in &mut cells {
        // The text: the false negatives approach 0 at k = 4.
        if cell.row == "(a) r = 2, k = 4" && cell.metric == Metric::Fnr {
            cell.paper_value = Some(0.0);
            cell.note = Some(TEXT_NOTE);
        }
    }
    cells
}

/// Figure 4: the length of the stream. A memory is 256 MB for false positives, with 60 % distinct
/// keys, and 64 MB for false negatives, with 15 %.
fn lengths() -> Vec<Cell> {
    let mut cells = Vec::new();
    let parts = [
        (
            "(a)",
            256,
            60.0,
            695_000_000,
            Metric::Fpr,
            [2.09, 2.77, 0.001],
        ),
        (
            "(b)",
            64,
            15.0,
            BILLION,
            Metric::Fnr,
            [60.89, 43.17, 0.0042],
        ),
    ];
    for (part, megabytes, distinct_percent, longest, metric, published) in parts {
        for count in [100_000_000, 300_000_000, 500_000_000, longest] {
            let row = format!("{part} {megabytes} MB, {} million keys", count / 1_000_000);
            let memory_bits = megabytes * MEGABYTE_BITS;
            for (column, spec, share, index) in FILTERS {
                let run = Run {
                    contender: Contender::Filter(spec.to_owned()),
                    memory_bits: (memory_bits as f64 * share) as u64,
                    source: Source::Shuffle { distinct_percent },
                    count,
                };
                let (value, note) = match count == longest {
                    true => (Some(published[index]), TABLE_NOTE),
                    false => (None, SHAPE_NOTE),
                };
                let at = position("Figure 4", &row, column);
                cells.push(at.cell(metric, value, &run, Some(note)));
            }
        }
    }
    cells
}

/// Figure 5: the least memory for an FPR of 2 % and for an FNR of 10 %, on 695 million keys.
fn least_memories() -> Vec<Cell> {
    /// SBF, RSBF, SQF; None if the text names no value.
    type Published = [Option<f64>; 3];
    let parts: [(&str, Rate, f64, f64, Published); 4] = [
        (
            "(a) FPR 2 %, 30 % distinct",
            Rate::Fpr,
            2.0,
            30.0,
            [Some(100.0), Some(100.0), Some(50.0)],
        ),
        (
            "(a) FPR 2 %, 90 % distinct",
            Rate::Fpr,
            2.0,
            90.0,
            [Some(450.0), Some(450.0), Some(250.0)],
        ),
        (
            "(b) FNR 10 %, 30 % distinct",
            Rate::Fnr,
            10.0,
            30.0,
            [Some(400.0), Some(400.0), Some(75.0)],
        ),
        (
            "(b) FNR 10 %, 90 % distinct",
            Rate::Fnr,
            10.0,
            90.0,
            [None, None, None],
        ),
    ];
    let mut cells = Vec::new();
    for (row, rate, at_most, distinct_percent, published) in parts {
        for (column, filter, share, index) in FILTERS {
            let run = Run {
                contender: Contender::LeastMemory {
                    filter: filter.to_owned(),
                    rate,
                    at_most,
                    paper_share: 1.0 / share,
                },
                memory_bits: MEGABYTE_BITS,
                source: Source::Shuffle { distinct_percent },
                count: 695_000_000,
            };
            let value = published[index];
            let note = match value {
                None => SHAPE_NOTE,
                Some(_) if rate == Rate::Fnr && index == 2 => NO_MISS_NOTE,
                Some(100.0 | 400.0) => ABOVE_NOTE,
                Some(_) => TEXT_NOTE,
            };
            let metric = Metric::LowestFound(Quantity::Megabytes);
            cells.push(position("Figure 5", row, column).cell(metric, value, &run, Some(note)));
        }
    }
    cells
}

const COLUMNS: [&str; 3] = ["SBF", "RSBF", "SQF"];

/// Table 1: memory in bytes; FPR of SBF, RSBF, SQF; FNR of the same.
fn click_streams() -> Vec<Cell> {
    const ROWS: [(&str, [f64; 3], [f64; 3]); 7] = [
        ("R1, 64 B", [6.88, 8.75, 12.72], [61.36, 47.06, 60.54]),
        ("R1, 256 B", [2.11, 3.56, 8.22], [40.16, 30.36, 40.70]),
        ("R1, 512 B", [1.03, 1.69, 0.0001], [29.76, 21.16, 0.0005]),
        ("R1, 1024 B", [0.22, 0.38, 0.00006], [19.01, 13.82, 0.0001]),
        ("R2, 64 KB", [1.23, 2.01, 4.19], [13.25, 8.86, 12.71]),
        ("R2, 128 KB", [0.41, 1.15, 0.0001], [7.92, 4.73, 0.0001]),
        ("R2, 256 KB", [0.02, 0.32, 0.00004], [3.37, 1.46, 0.00005]),
    ];
    let run = Run {
        contender: Contender::NotMeasured,
        memory_bits: 0,
        source: Source::Shuffle {
            distinct_percent: 100.0,
        },
        count: 0,
    };
    let mut cells = Vec::new();
    for (row, fpr, fnr) in ROWS {
        for (index, column) in COLUMNS.into_iter().enumerate() {
            let at = position("Table 1", row, column);
            cells.extend(at.rates(fpr[index], fnr[index], run.clone(), Some(CLICKS_NOTE)));
        }
    }
    cells
}

/// A Zipf stream of Table 3.
struct ZipfStream {
    name: &'static str,
    count: u64,
    exponent: f64,
    keys_per_arrival: f64,
    /// Kilobytes; FPR of SBF, RSBF, SQF; FNR of the same.
    rows: [(u64, [f64; 3], [f64; 3]); 5],
}

const ZIPF_STREAMS: [ZipfStream; 2] = [
    ZipfStream {
        name: "1 billion (15 %)",
        count: BILLION,
        exponent: 1.1,
        keys_per_arrival: 8.1457,
        rows: [
            (1024, [2.38, 3.72, 1.02], [4.19, 1.45, 1.03]),
            (2048, [1.98, 3.00, 0.83], [3.75, 1.05, 0.92]),
            (4096, [1.29, 2.42, 0.09], [2.56, 0.71, 0.05]),
            (8192, [0.91, 1.29, 0.008], [1.41, 0.14, 0.008]),
            (16_384, [0.38, 0.92, 0.0009], [0.85, 0.05, 0.001]),
        ],
    },
    ZipfStream {
        name: "695 million (60 %)",
        count: 695_000_000,
        exponent: 0.9,
        keys_per_arrival: 68.387,
        rows: [
            (512, [4.13, 6.72, 4.29], [37.41, 25.07, 23.61]),
            (1024, [3.75, 5.24, 3.16], [32.81, 21.76, 19.41]),
            (2048, [2.99, 4.19, 0.24], [27.31, 18.48, 0.89]),
            (4096, [2.18, 3.74, 0.05], [21.56, 15.63, 0.08]),
            (8192, [1.03, 2.16, 0.008], [17.08, 10.52, 0.004]),
        ],
    },
];

/// Table 3.
fn zipf_streams() -> Vec<Cell> {
    let mut cells = Vec::new();
    for stream in &ZIPF_STREAMS {
        for (kilobytes, fpr, fnr) in &stream.rows {
            let row = match kilobytes / 1024 {
                0 => format!("{}, {kilobytes} KB", stream.name),
                megabytes => format!("{}, {megabytes} MB", stream.name),
            };
            let memory_bits = kilobytes * MEGABYTE_BITS / 1024;
            for (column, spec, share, of) in FILTERS {
                let run = Run {
                    contender: Contender::Filter(spec.to_owned()),
                    memory_bits: (memory_bits as f64 * share) as u64,
                    source: Source::Zipf {
                        exponent: stream.exponent,
                        keys_per_arrival: stream.keys_per_arrival,
                    },
                    count: stream.count,
                };
                let at = position("Table 3", &row, column);
                let note = match of == 2 && fpr[of] < 0.1 {
                    true => BOUND_NOTE,
                    false => ZIPF_NOTE,
                };
                cells.extend(at.rates(fpr[of], fnr[of], run, Some(note)));
            }
        }
    }
    cells
}
