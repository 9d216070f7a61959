//! Every cell of tables 1 to 9 of Bera, Dutta, Narang, Bhattacherjee, 2012.
//!
//! A megabyte is 2^20 bytes. The streams are uniform with a given share of distinct keys.

use super::{Cell, CellPosition, Contender, Run, Source};
use crate::filter::Citation;

pub(super) const SOURCE: Citation = Citation {
    authors: "S. K. Bera, S. Dutta, A. Narang, S. Bhattacherjee",
    title: "Advanced Bloom Filter Based Algorithms for Efficient Approximate Data De-Duplication \
            in Streams",
    year: 2012,
};

pub(super) const ID: &str = "000";
pub(super) const MEGABYTE_BITS: u64 = 8 << 20;

/// A table of one algorithm with k from 1 to 5, for a billion keys, 60 % distinct.
struct ByParts {
    table: &'static str,
    algorithm: &'static str,
    /// Megabytes, then the rates for each k.
    rows: [(u64, [f64; 5], [f64; 5]); 3],
}

/// A table of all algorithms with k = 2.
pub(super) struct ByAlgorithm {
    pub table: &'static str,
    pub count: u64,
    pub distinct_percent: f64,
    /// Megabytes, then the rates of each algorithm.
    pub rows: [(u64, [f64; 5], [f64; 5]); 4],
}

const PARTS: [&str; 5] = ["k=1", "k=2", "k=3", "k=4", "k=5"];
pub(super) const ALGORITHMS: [(&str, &str); 5] = [
    ("SBF", "stable:k=2,p=4,max=1"),
    ("RSBF", "rsbf:k=2"),
    ("BSBF", "bsbf:k=2"),
    ("BSBFSD", "bsbfsd:k=2"),
    ("RLBSBF", "rlbsbf:k=2"),
];

/// The column that explains the SBF values at 512 MB.
const FAULTY_COLUMN: &str = "SBF with rand()";
pub(super) const FAULTY_MEGABYTES: u64 = 512;
const WRONG_NOTE: &str = "wrong in the paper: 512 MB are 2^32 cells, and the 31 bits of C's rand() lowered only the \
     lower half of them; the column `SBF with rand()` has that bug and the paper's figure";
const FAULTY_NOTE: &str = "the paper's bug simulated: the cells to be lowered are drawn from the lower half only, as a \
     31-bit rand() does with 2^32 cells";

const BY_PARTS: [ByParts; 3] = [
    ByParts {
        table: "Table 1",
        algorithm: "bsbf",
        rows: [
            (
                8,
                [75.979, 35.4924, 15.2961, 6.95161, 3.28054],
                [9.20901, 59.0297, 82.0828, 91.5512, 95.7754],
            ),
            (
                128,
                [21.0883, 11.9472, 6.67181, 3.47978, 1.76989],
                [9.83893, 34.7514, 59.2496, 75.1262, 84.1857],
            ),
            (
                512,
                [6.46215, 1.82011, 0.777613, 0.386642, 0.205833],
                [3.34108, 13.5658, 27.7512, 43.4681, 56.9057],
            ),
        ],
    },
    ByParts {
        table: "Table 2",
        algorithm: "bsbfsd",
        rows: [
            (
                8,
                [75.9827, 78.6056, 81.2512, 83.3572, 85.0294],
                [9.2090, 7.8180, 6.4065, 5.3588, 4.5864],
            ),
            (
                128,
                [21.0876, 15.5928, 15.2615, 16.4467, 18.2903],
                [9.8405, 17.7438, 22.9224, 26.2752, 28.3608],
            ),
            (
                512,
                [6.4618, 1.9692, 1.0095, 0.6880, 0.5590],
                [3.3399, 6.8855, 9.9011, 12.6723, 15.1324],
            ),
        ],
    },
    ByParts {
        table: "Table 3",
        algorithm: "rlbsbf",
        rows: [
            (
                8,
                [81.4726, 52.9291, 30.2439, 17.3562, 10.1282],
                [5.3103, 40.466, 66.0585, 80.3262, 88.3195],
            ),
            (
                128,
                [22.8676, 16.3554, 12.3957, 8.56757, 5.5645],
                [2.4337, 15.0161, 35.6592, 55.2835, 69.3118],
            ),
            (
                512,
                [6.6563, 2.07884, 1.0555, 0.6773, 0.4828],
                [0.2553, 1.98971, 6.1959, 13.3911, 23.2844],
            ),
        ],
    },
];

pub(super) const BY_ALGORITHM: [ByAlgorithm; 6] = [
    ByAlgorithm {
        table: "Table 4",
        count: 695_000_000,
        distinct_percent: 15.0,
        rows: [
            (
                64,
                [1.9319, 2.6276, 3.2560, 3.5475, 3.7064],
                [53.2681, 35.9014, 8.7547, 3.3299, 1.3453],
            ),
            (
                128,
                [0.7414, 0.8903, 1.0128, 1.0530, 1.0821],
                [37.7853, 23.126, 3.888, 1.7048, 0.3773],
            ),
            (
                256,
                [0.2384, 0.2637, 0.2822, 0.2881, 0.2924],
                [23.8930, 13.5047, 1.8199, 0.8551, 0.1010],
            ),
            (
                512,
                [0.0688, 0.0719, 0.0747, 0.0753, 0.0759],
                [12.9392, 7.3674, 0.8794, 0.4267, 0.0262],
            ),
        ],
    },
    ByAlgorithm {
        table: "Table 5",
        count: 695_000_000,
        distinct_percent: 60.0,
        rows: [
            (
                64,
                [6.7672, 12.2408, 16.0723, 22.4491, 22.7214],
                [70.832, 52.8855, 39.9809, 19.9394, 20.2164],
            ),
            (
                128,
                [4.3075, 6.7265, 8.0154, 9.7951, 10.4734],
                [57.9713, 39.2682, 28.6708, 14.7555, 9.8051],
            ),
            (
                256,
                [2.0861, 2.7654, 3.0816, 3.4335, 3.6588],
                [42.0788, 25.7648, 17.7509, 9.0574, 3.4843],
            ),
            (
                512,
                [0.8151, 0.9189, 0.9779, 1.0331, 1.0775],
                [24.2902, 15.2035, 9.8819, 4.9892, 1.0236],
            ),
        ],
    },
    ByAlgorithm {
        table: "Table 6",
        count: 695_000_000,
        distinct_percent: 90.0,
        rows: [
            (
                64,
                [8.5028, 16.3502, 20.6486, 31.104, 30.1024],
                [73.134, 55.0285, 45.7102, 24.1625, 26.8786],
            ),
            (
                128,
                [6.3252, 10.6716, 11.9222, 15.7484, 16.6894],
                [61.1759, 41.9224, 36.5123, 20.3118, 16.4363],
            ),
            (
                256,
                [3.5908, 5.0678, 5.3168, 6.3016, 6.8635],
                [45.4987, 28.179, 25.3195, 13.8078, 7.0784],
            ),
            (
                512,
                [1.6058, 1.8497, 1.8911, 2.0783, 2.2248],
                [26.6313, 16.9302, 15.3766, 8.1061, 2.3059],
            ),
        ],
    },
    ByAlgorithm {
        table: "Table 7",
        count: 1_000_000_000,
        distinct_percent: 15.0,
        rows: [
            (
                64,
                [2.9156, 4.2891, 5.5775, 6.3441, 6.6755],
                [60.8981, 43.1705, 13.7096, 4.6175, 2.5795],
            ),
            (
                128,
                [1.2608, 1.6079, 1.9023, 2.0181, 2.0930],
                [45.9566, 29.5540, 5.9096, 2.4357, 0.7400],
            ),
            (
                256,
                [0.4413, 0.5059, 0.5572, 0.5727, 0.5849],
                [30.8269, 18.1142, 2.6956, 1.2296, 0.2026],
            ),
            (
                512,
                [0.1341, 0.1431, 0.1506, 0.1526, 0.1543],
                [17.1336, 10.2015, 1.2846, 0.6139, 0.0535],
            ),
        ],
    },
    ByAlgorithm {
        table: "Table 8",
        count: 1_000_000_000,
        distinct_percent: 60.0,
        rows: [
            (
                64,
                [7.8507, 15.0561, 20.7283, 31.3858, 30.044],
                [75.7271, 58.6734, 44.9042, 21.0835, 25.7526],
            ),
            (
                128,
                [5.6378, 9.5676, 11.9472, 15.5928, 16.3554],
                [65.2456, 46.6885, 34.7514, 17.7438, 15.0161],
            ),
            (
                256,
                [3.1629, 4.5557, 5.2369, 6.0937, 6.5378],
                [50.5726, 32.6139, 23.2001, 11.9067, 6.2079],
            ),
            (
                512,
                [1.4504, 1.6747, 1.82011, 1.9692, 2.0788],
                [30.2739, 20.2770, 13.5658, 6.8855, 1.9897],
            ),
        ],
    },
    ByAlgorithm {
        table: "Table 9",
        count: 1_000_000_000,
        distinct_percent: 90.0,
        rows: [
            (
                64,
                [9.2617, 18.6342, 25.0083, 40.5501, 36.7959],
                [77.5273, 60.3738, 49.2073, 23.8819, 31.0134],
            ),
            (
                128,
                [7.5909, 13.8357, 16.4207, 23.192, 23.5977],
                [68.0553, 49.2204, 41.7178, 22.89, 22.2474],
            ),
            (
                256,
                [5.0231, 7.7876, 8.3846, 10.4808, 11.3415],
                [54.0293, 35.2653, 31.2527, 17.2991, 11.5338],
            ),
            (
                512,
                [2.7427, 3.2263, 3.33317, 3.7953, 4.1133],
                [32.8335, 22.3998, 20.2695, 10.8729, 4.2852],
            ),
        ],
    },
];

pub(super) fn cells() -> Vec<Cell> {
    let by_parts = BY_PARTS.iter().flat_map(cells_by_parts);
    let by_algorithm = BY_ALGORITHM.iter().flat_map(cells_by_algorithm);
    by_parts.chain(by_algorithm).collect()
}

fn cells_by_parts(table: &ByParts) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (megabytes, fpr, fnr) in &table.rows {
        for (i, column) in PARTS.into_iter().enumerate() {
            let position = CellPosition {
                paper: ID,
                table: table.table,
                row: format!("{megabytes} MB"),
                column,
            };
            let run = Run {
                contender: Contender::Filter(format!("{}:{column}", table.algorithm)),
                memory_bits: megabytes * MEGABYTE_BITS,
                source: Source::Shuffle {
                    distinct_percent: 60.0,
                },
                count: 1_000_000_000,
            };
            cells.extend(position.rates(fpr[i], fnr[i], run, None));
        }
    }
    cells
}

fn cells_by_algorithm(table: &ByAlgorithm) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (megabytes, fpr, fnr) in &table.rows {
        for (i, (column, spec)) in ALGORITHMS.into_iter().enumerate() {
            let position = CellPosition {
                paper: ID,
                table: table.table,
                row: format!("{megabytes} MB"),
                column,
            };
            let run = Run {
                contender: Contender::Filter(spec.to_owned()),
                memory_bits: megabytes * MEGABYTE_BITS,
                source: Source::Shuffle {
                    distinct_percent: table.distinct_percent,
                },
                count: table.count,
            };
            if column == "SBF" && *megabytes == FAULTY_MEGABYTES {
                cells.extend(wrong_and_faulty(position, fpr[i], fnr[i], run));
            } else {
                cells.extend(position.rates(fpr[i], fnr[i], run, None));
            }
        }
    }
    cells
}

/// Returns the cells of the stable Bloom filter where the paper's values are wrong, and the cells
/// of the filter with the paper's bug.
pub(super) fn wrong_and_faulty(position: CellPosition, fpr: f64, fnr: f64, run: Run) -> Vec<Cell> {
    let faulty_position = CellPosition {
        column: FAULTY_COLUMN,
        ..position.clone()
    };
    let faulty_run = Run {
        contender: Contender::FaultyStable,
        ..run.clone()
    };
    let right = position.rates(fpr, fnr, run, Some(WRONG_NOTE));
    let faulty = faulty_position.rates(fpr, fnr, faulty_run, Some(FAULTY_NOTE));
    right.into_iter().chain(faulty).collect()
}
