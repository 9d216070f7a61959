//! Table 2 of Dutta, Narang, Bera, 2013: the error rates on uniform streams.
//!
//! The SQF of the paper uses the keys, numbers from 0 to D − 1, as fingerprints of ⌈log2 D⌉ bits.
//! The column `SQF` does the same, with the same number of rows. If r, r' and k are not printed,
//! values are used that fill the memory and fit the results. The paper has no value for an empty
//! bucket; this implementation has one, so its rows take up to 50 % more memory. The column
//! `SQF hashed` hashes its keys and uses the memory of the paper.
//!
//! Not reproduced: Table 1 (its data are not available); Table 3 (the parameters of its Zipf streams
//! are not printed, and no stable Bloom filter of 1 MB has an FPR of 2.4 % on a billion keys of
//! which 15 % are new: its own theory says 9 %); and the query times.

use super::bera_2012::{FAULTY_MEGABYTES, MEGABYTE_BITS, wrong_and_faulty};
use super::{Cell, CellPosition, Contender, Run, Source};
use crate::filter::Citation;

pub(super) const SOURCE: Citation = Citation {
    authors: "S. Dutta, A. Narang, S. K. Bera",
    title: "Streaming Quotient Filter: A Near Optimal Approximate Duplicate Detection Approach \
            for Data Streams",
    year: 2013,
};

/// The parameters of an SQF that fills a memory.
struct Geometry {
    r: u64,
    kept: u64,
    k: u64,
    /// The size of a bucket in the paper: r' + ⌈log2 r⌉ bits.
    paper_bucket_bits: u64,
    /// The size of a bucket with a value for empty.
    bucket_bits: u64,
}

const EXACT: Geometry = Geometry {
    r: 2,
    kept: 1,
    k: 4,
    paper_bucket_bits: 2,
    bucket_bits: 3,
};
const HALF: Geometry = Geometry {
    r: 4,
    kept: 2,
    k: 4,
    paper_bucket_bits: 4,
    bucket_bits: 4,
};
const QUARTER: Geometry = Geometry {
    r: 5,
    kept: 2,
    k: 3,
    paper_bucket_bits: 5,
    bucket_bits: 5,
};
const SMALL: Geometry = Geometry {
    r: 8,
    kept: 4,
    k: 9,
    paper_bucket_bits: 7,
    bucket_bits: 7,
};

const EXACT_NOTE: &str = "an artefact: the keys are their own fingerprints, and a row has space for \
                          all four keys that can map to it, so nothing is lost";
const FITTED_NOTE: &str = "the keys are their own fingerprints; r, r' and k are not printed; these \
                           values fill the memory and fit the results";
const HASHED_NOTE: &str = "the same r, r' and k in the same memory on hashed keys, with a value for \
                           an empty bucket, compared with the paper's value";
const UNEXPLAINED_NOTE: &str = "not explained: the other rows of these columns are reproduced; \
                                these rows, the largest memories for the shortest stream, are not";

/// Megabytes; FPR of SBF, RSBF, SQF; FNR of the same; parameters of the SQF.
type Row = (u64, [f64; 3], [f64; 3], &'static Geometry);

struct Dataset {
    name: &'static str,
    count: u64,
    distinct_percent: f64,
    rows: [Row; 5],
}

const DATASETS: [Dataset; 3] = [
    Dataset {
        name: "1 billion (15 %)",
        count: 1_000_000_000,
        distinct_percent: 15.0,
        rows: [
            (8, [9.06, 18.69, 11.74], [84.38, 69.76, 84.45], &SMALL),
            (32, [5.22, 8.93, 11.96], [72.63, 55.81, 61.08], &HALF),
            (64, [2.92, 4.29, 0.0031], [60.89, 43.17, 0.0042], &EXACT),
            (128, [1.26, 1.61, 0.0006], [45.96, 29.55, 0.001], &EXACT),
            (512, [0.13, 0.14, 0.0001], [17.13, 10.20, 0.0003], &EXACT),
        ],
    },
    Dataset {
        name: "695 million (60 %)",
        count: 695_000_000,
        distinct_percent: 60.0,
        rows: [
            (32, [8.64, 17.26, 13.91], [79.16, 62.82, 72.70], &QUARTER),
            (64, [6.77, 12.24, 12.00], [70.83, 52.89, 53.53], &HALF),
            (128, [4.31, 6.73, 0.004], [57.97, 39.27, 0.003], &EXACT),
            (256, [2.09, 2.77, 0.001], [42.08, 25.76, 0.001], &EXACT),
            (512, [0.82, 0.92, 0.0003], [24.29, 15.20, 0.0004], &EXACT),
        ],
    },
    Dataset {
        name: "100 million (90 %)",
        count: 100_000_000,
        distinct_percent: 90.0,
        rows: [
            (8, [8.83, 17.30, 13.92], [75.02, 57.25, 70.70], &QUARTER),
            (16, [6.83, 11.92, 12.05], [64.03, 44.82, 49.76], &HALF),
            (32, [4.13, 6.04, 0.003], [48.88, 30.29, 0.0032], &EXACT),
            (64, [2.05, 3.17, 0.0006], [29.61, 20.38, 0.0007], &EXACT),
            (128, [0.64, 1.12, 0.0001], [16.20, 11.45, 0.0001], &EXACT),
        ],
    },
];

impl Geometry {
    /// Returns the memory used. The number of rows is a power of two, so it may be less than given.
    fn memory_bits(&self, megabytes: u64) -> u64 {
        let paper_row_bits = self.k * self.paper_bucket_bits;
        let max_rows = megabytes * MEGABYTE_BITS / paper_row_bits;
        let rows = 1 << max_rows.ilog2();
        rows * self.k * self.bucket_bits
    }

    fn spec(&self, fingerprint: &str) -> String {
        let Geometry { r, kept, k, .. } = self;
        format!("sqf:r={r},rr={kept},k={k},fingerprint={fingerprint}")
    }

    fn note(&self) -> &'static str {
        match self.r {
            2 => EXACT_NOTE,
            _ => FITTED_NOTE,
        }
    }
}

pub(super) fn cells() -> Vec<Cell> {
    let rows = DATASETS
        .iter()
        .flat_map(|dataset| dataset.rows.iter().map(move |row| (dataset, row)));
    rows.flat_map(|(dataset, row)| cells_of_row(dataset, row))
        .collect()
}

fn cells_of_row(dataset: &Dataset, (megabytes, fpr, fnr, geometry): &Row) -> Vec<Cell> {
    let position = |column| CellPosition {
        paper: "003",
        table: "Table 2",
        row: format!("{}, {megabytes} MB", dataset.name),
        column,
    };
    let run = |spec: String, memory_bits| Run {
        contender: Contender::Filter(spec),
        memory_bits,
        source: Source::Shuffle {
            distinct_percent: dataset.distinct_percent,
        },
        count: dataset.count,
    };
    let unexplained = dataset.count == 100_000_000 && *megabytes >= 64;
    let note = unexplained.then_some(UNEXPLAINED_NOTE);
    let memory_bits = megabytes * MEGABYTE_BITS;
    let stable = run("stable:k=2,p=4,max=1".to_owned(), memory_bits);
    let mut cells = match *megabytes == FAULTY_MEGABYTES {
        true => wrong_and_faulty(position("SBF"), fpr[0], fnr[0], stable),
        false => position("SBF").rates(fpr[0], fnr[0], stable, note).to_vec(),
    };
    let reservoir = run("rsbf:k=2".to_owned(), memory_bits);
    cells.extend(position("RSBF").rates(fpr[1], fnr[1], reservoir, note));
    let identity = run(geometry.spec("identity"), geometry.memory_bits(*megabytes));
    cells.extend(position("SQF").rates(fpr[2], fnr[2], identity, Some(geometry.note())));
    let hashed = run(geometry.spec("hashed"), megabytes * MEGABYTE_BITS);
    cells.extend(position("SQF hashed").rates(fpr[2], fnr[2], hashed, Some(HASHED_NOTE)));
    cells
}
