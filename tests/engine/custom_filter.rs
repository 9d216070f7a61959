//! A filter that is not in the registry, measured in the laboratory.

use dedupstore::filter::{
    BuildError, CellLayout, Citation, Descriptor, Drawing, Evidence, EvidenceCell, Filter, Needs,
    Origin, PossibleErrors, Requirement,
};
use dedupstore::fingerprint::reduce;
use dedupstore::lab::{StreamSpec, measure};
use dedupstore::rng::Generator;
use dedupstore::{
    FilterSpec, Fingerprint, Observation, Region, Registers, SeenSet, SpecError, Verdict,
};

/// A table of one byte per key: a Bloom filter with k = 1 whose bits are bytes.
#[derive(Clone)]
struct ByteTable {
    bytes: u64,
}

impl ByteTable {
    fn position(&self, fingerprint: Fingerprint) -> u64 {
        reduce(fingerprint.0, self.bytes)
    }
}

impl Filter for ByteTable {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "bytetable",
        title: "Table of bytes",
        summary: "Sets one byte per key.",
        promise: "Never misses a repeat.",
        choose_when: "In tests.",
        errors: PossibleErrors::FalsePositives,
        needs: Needs::NONE,
        origin: Origin::Ours,
        source: Citation {
            authors: "nobody",
            title: "none",
            year: 2026,
        },
        advised_because: "it is never advised",
        drawing: Drawing {
            before: &["...."],
            after: &[".#.."],
            caption: "One byte is set.",
        },
        parameters: &[],
    };

    fn build(_: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        Ok(ByteTable {
            bytes: memory_bits / 8,
        })
    }

    fn region_bytes(&self) -> u64 {
        self.bytes
    }

    fn cells(&self) -> u64 {
        self.bytes
    }

    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        registers.occupied() as f64 / self.bytes as f64
    }

    fn cache_lines_touched(&self) -> u32 {
        1
    }

    fn seen_leaves_state_unchanged(&self) -> bool {
        true
    }

    fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        _: Generator,
        observation: Observation,
    ) -> Verdict {
        let at = self.position(observation.fingerprint) as usize;
        if region.bytes()[at] != 0 {
            return Verdict::Seen;
        }
        region.bytes_mut(at..at + 1)[0] = 1;
        *registers.occupied_mut() += 1;
        Verdict::New
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        match region[self.position(fingerprint) as usize] {
            0 => Verdict::New,
            _ => Verdict::Seen,
        }
    }

    fn cell_layout(&self) -> CellLayout {
        CellLayout {
            cell: "byte",
            content: "byte",
            row: "table",
            row_cells: self.bytes,
            max_value: 1,
            loss: "",
        }
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        region[index as usize].into()
    }

    fn evidence(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Evidence {
        let index = self.position(fingerprint);
        let cell = EvidenceCell {
            index,
            offset_bits: 8 * index,
            width_bits: 8,
            meaning: "byte",
            value: self.cell(region, index),
        };
        Evidence {
            row: 0,
            required: Requirement::NonZero,
            equal: 1,
            links: Vec::new(),
            alternatives: vec![vec![cell]],
        }
    }

    fn prefetch(&self, _: &[u8], _: Generator, _: Fingerprint) {}
}

/// With k = 1, the n-th distinct key is a false positive with probability
/// 1 − (1 − 1/m)^(n − 1).
#[test]
fn a_filter_of_ones_own_is_measured_in_the_laboratory() {
    const CELLS: u64 = 20_000;
    let filter = ByteTable { bytes: CELLS };
    let stream: StreamSpec = "shuffle:50".parse().expect("a stream");
    let board = measure(&filter, stream.open(20_000, 1), 1).expect("small");
    let distinct = board.now().distinct;
    assert!((9000..11_000).contains(&distinct), "{distinct}");
    let miss = 1.0 - 1.0 / CELLS as f64;
    let expected = (0..distinct)
        .map(|n| 1.0 - miss.powi(n as i32))
        .sum::<f64>()
        / distinct as f64;
    let measured = board.fpr().expect("distinct keys");
    assert!(
        (measured - expected).abs() < 0.02,
        "{measured} instead of {expected}"
    );
    assert_eq!(board.fnr(), Some(0.0));
}

#[test]
fn a_set_is_built_only_from_filters_of_the_registry() {
    let error = SeenSet::builder(ByteTable::DESCRIPTOR.name).expect_err("not registered");
    assert!(matches!(error, SpecError::UnknownFilter { .. }), "{error}");
}
