//! The Bloom filter: each key sets k bits, and no bit is ever cleared.
//!
//! **Guarantee.** No false negatives: a repeat is always reported as Seen. The false positive
//! rate starts at 0 and grows with every key: it is about (1 − e^(−k·n/m))^k after n distinct
//! keys in m bits. The filter never forgets; with far too many keys nearly every new key is
//! reported as Seen.
//!
//! **When to use it.** The number of distinct keys is known, and there are at least four bits
//! for each.
//!
//! **How it works.** With m = 16 and k = 2, key `a` has the positions 3 and 9, key `b` has 9 and
//! 14. `a` arrives: bits 3 and 9 are clear, so it is New, and both are set. `b` arrives: 9 is set
//! but 14 is clear, so it is New, and 14 is set. `a` again: both bits are set, Seen. A key with
//! the positions 3 and 14 would be reported as Seen although it never occurred.
//!
//! **Paper.** B. H. Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970.
//! With `layout=partitioned` each of the k positions has m/k bits of its own, as in the filters
//! of Bera et al. Its false positive rate is slightly higher.

use super::bit_partitions::BitPartitions;
use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::parameter::Parameter;
use super::union::unite_bits;
use super::{
    BuildError, CellLayout, Evidence, Filter, FilterSpec, Observation, Registers, Verdict,
    delegate_reads,
};
use crate::bytes::set_bit;
use crate::fingerprint::Fingerprint;
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of a Bloom filter.
#[derive(Clone, Debug)]
pub struct Bloom {
    partitions: BitPartitions,
}

impl Bloom {
    /// Returns the number of bits per key.
    pub(crate) fn k(&self) -> u32 {
        self.partitions.count()
    }

    /// Whether each position has a partition of its own.
    pub(crate) fn is_partitioned(&self) -> bool {
        self.partitions.is_partitioned()
    }
}

impl Filter for Bloom {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "bloom",
        title: "Bloom filter",
        summary: "Sets k bits for each key and never clears a bit.",
        promise: "A repeat is always reported as Seen; the false positive rate grows as the \
                  filter fills.",
        choose_when: "The number of distinct keys is known, and there are at least four bits for \
                      each.",
        errors: PossibleErrors::FalsePositives,
        needs: Needs::NONE,
        origin: Origin::Literature,
        source: Citation {
            authors: "B. H. Bloom",
            title: "Space/time trade-offs in hash coding with allowable errors",
            year: 1970,
        },
        advised_because: "a plain Bloom filter misses no repeat and is expected to make the \
                          fewest errors in this memory",
        drawing: Drawing {
            before: &["#..#....#...#..."],
            after: &["#.##...##...#..."],
            caption: "The new key sets its 3 bits; one of them was already set. No bit is ever \
                      cleared.",
        },
        parameters: &[
            Parameter::integer("k", "bits set for each key", 1..=32, 4),
            Parameter::choice(
                "layout",
                "whether the k positions share all bits or have one partition each",
                &["shared", "partitioned"],
            ),
        ],
    };

    const MERGES: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let k = spec.integer("k");
        let partitions = match spec.is_choice("layout", "partitioned") {
            true => BitPartitions::partitioned(k, memory_bits),
            false => BitPartitions::shared(k, memory_bits),
        };
        Ok(Bloom { partitions })
    }

    #[inline(always)]
    fn usual(&self) -> [Option<Self>; 2] {
        let known = |partitions| Bloom { partitions };
        [self.partitions.with_constant_count(4).map(known), None]
    }

    delegate_reads!(partitions);

    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        self.partitions.false_positive_rate(registers.occupied())
    }

    fn comfortable_load(&self) -> Option<f64> {
        Some(0.5)
    }

    fn cache_lines_touched(&self) -> u32 {
        self.partitions.count()
    }

    fn observe_reads_only_evidence(&self) -> bool {
        true
    }

    fn seen_leaves_state_unchanged(&self) -> bool {
        true
    }

    #[inline(always)]
    fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        _: Generator,
        observation: Observation,
    ) -> Verdict {
        let fingerprint = observation.fingerprint;
        if self.partitions.contains(region.bytes(), fingerprint) == Verdict::Seen {
            return Verdict::Seen;
        }
        for position in self.partitions.positions(fingerprint) {
            *registers.occupied_mut() += u64::from(set_bit(region, position));
        }
        Verdict::New
    }

    fn cell_layout(&self) -> CellLayout {
        self.partitions.cell_layout("")
    }

    /// Takes the union of the bits. A key that both filters reported as New is counted twice.
    fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        unite_bits(self, region, registers, other, other_registers);
        Ok(())
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        self.partitions.prefetch(region, fingerprint);
    }
}

#[cfg(test)]
mod tests {
    use crate::{FilterSpec, SeenSet, SeenSetBuilder};

    fn set(spec: &str, keys: std::ops::Range<u32>) -> SeenSet {
        let spec: FilterSpec = spec.parse().expect("a filter");
        let mut set = SeenSetBuilder::new(&spec)
            .memory_bits(4099)
            .seed(7)
            .build()
            .expect("small");
        for key in keys {
            set.observe(key.to_le_bytes());
        }
        set
    }

    #[test]
    fn a_merged_filter_equals_one_that_observed_both_streams() {
        for spec in ["bloom:k=3", "bloom:layout=partitioned"] {
            let (one, other, both) = (set(spec, 0..300), set(spec, 200..500), set(spec, 0..500));
            let (mut region, mut registers) = (one.region().to_vec(), one.registers().clone());
            one.filter()
                .merge(
                    &mut region,
                    &mut registers,
                    other.region(),
                    other.registers(),
                )
                .expect("a merged state");
            assert!(region == both.region());
            assert_eq!(registers.occupied(), both.registers().occupied());
            assert_eq!(registers.observations(), 600);
        }
    }

    #[test]
    fn a_filter_that_forgets_refuses_to_merge_and_stays_unchanged() {
        let forgets = set("dsqf", 0..10);
        let (mut region, mut registers) = (forgets.region().to_vec(), forgets.registers().clone());
        let refused = forgets.filter().merge(
            &mut region,
            &mut registers,
            forgets.region(),
            forgets.registers(),
        );
        assert!(refused.is_err_and(|reason| reason.contains("forgets")));
        assert!(region == forgets.region() && registers == *forgets.registers());
    }
}
