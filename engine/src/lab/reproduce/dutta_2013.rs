//! Table 2 of Dutta, Narang, Bera, 2013: the error rates on uniform streams.
//!
//! The paper's SQF took the keys, numbers from 0 to D − 1, for fingerprints of ⌈log2 D⌉
//! bits; the column `SQF` does so too, in as many rows. Where r, r' and k are not printed,
//! they are those that fill the memory and fit the figures. The paper has no value for an
//! empty bucket; ours has, so its rows may take half as much memory again. The column
//! `SQF hashed` hashes its keys and keeps to the paper's memory.
//!
//! Left out: Table 1 (its data are not to be had), Table 3 (the law of its Zipf streams is
//! not printed, and no stable Bloom filter of 1 MB has 2.4 % FPR on a billion keys of which
//! 15 % are new: its own theory says 9 %), and the query times.

use super::bera_2012::{FAULTY_MEGABYTES, MEGABYTE_BITS, wrong_and_faulty};
use super::{Cell, Contender, Place, Run, Source};
use crate::filter::Citation;

pub(super) const SOURCE: Citation = Citation {
    authors: "S. Dutta, A. Narang, S. K. Bera",
    title: "Streaming Quotient Filter: A Near Optimal Approximate Duplicate Detection Approach \
            for Data Streams",
    year: 2013,
};

/// The geometry of an SQF that fills a memory.
struct Geometry {
    r: u64,
    kept: u64,
    k: u64,
    /// What a bucket takes in the paper: r' + ⌈log2 r⌉ bits.
    paper_bucket_bits: u64,
    /// What it takes with a value for empty.
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

const EXACT_NOTE: &str = "an artefact: the keys are their own fingerprints, and a row has room \
                          for all four keys that can ever come to it, so nothing is lost";
const FITTED_NOTE: &str = "the keys are their own fingerprints; r, r' and k are not printed, \
                           these fill the memory and fit";
const HASHED_NOTE: &str = "what the same r, r' and k do in the same memory on hashed keys, with a \
                           value for an empty bucket; beside the paper's figure";
const UNEXPLAINED_NOTE: &str = "not explained: the other rows of these columns reproduce; these, \
                                of the largest memories for the shortest stream, do not";

/// Megabytes; FPR of SBF, RSBF, SQF; FNR of the same; how the SQF was laid out.
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
    /// Rows are a power of two in the paper, so the memory may not be filled.
    fn memory_bits(&self, megabytes: u64) -> u64 {
        let paper_row_bits = self.k * self.paper_bucket_bits;
        let most_rows = megabytes * MEGABYTE_BITS / paper_row_bits;
        let rows = 1 << most_rows.ilog2();
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
    let place = |column| Place {
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
        true => wrong_and_faulty(place("SBF"), fpr[0], fnr[0], stable),
        false => place("SBF").rates(fpr[0], fnr[0], stable, note).to_vec(),
    };
    let reservoir = run("rsbf:k=2".to_owned(), memory_bits);
    cells.extend(place("RSBF").rates(fpr[1], fnr[1], reservoir, note));
    let identity = run(geometry.spec("identity"), geometry.memory_bits(*megabytes));
    cells.extend(place("SQF").rates(fpr[2], fnr[2], identity, Some(geometry.note())));
    let hashed = run(geometry.spec("hashed"), megabytes * MEGABYTE_BITS);
    cells.extend(place("SQF hashed").rates(fpr[2], fnr[2], hashed, Some(HASHED_NOTE)));
    cells
}
