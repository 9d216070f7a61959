//! FPBuffering: a buffer that reports an unknown key as Seen with probability q.
//!
//! **Guarantee.** The false positive rate is q, by a random draw. The false negative rate is
//! 1 − q times that of the buffer alone.
//!
//! **When to use it.** Never in production: its false positives are chosen blindly. It is a
//! baseline. If another filter has the same false positive rate and fewer false negatives, it
//! owes the difference to what it stores.
//!
//! **How it works.** As [`Buffer`](super::Buffer). A key that is not in the buffer is added, and
//! reported as Seen with probability q and as New otherwise. `contains` looks only into the
//! buffer.
//!
//! **Paper.** Deng, Rafiei, "Approximately Detecting Duplicates for Streaming Data using Stable
//! Bloom Filters", 2006, section 5.2. As in `buffer`, we count index and order.

use super::buffer::Buffer;
use super::buffer_table::POLICY;
use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::parameter::Parameter;
use super::{
    BuildError, CellLayout, Evidence, Filter, FilterSpec, Observation, Registers, Verdict,
    delegate_reads,
};
use crate::fingerprint::{Fingerprint, reduce};
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of a buffer with false positives.
#[derive(Clone, Debug)]
pub struct FpBuffer {
    buffer: Buffer,
    q_millionths: u64,
}

const MILLION: u64 = 1_000_000;

impl FpBuffer {
    /// Returns the probability that an unknown key is reported as Seen.
    pub(crate) fn q(&self) -> f64 {
        self.q_millionths as f64 / MILLION as f64
    }

    /// Whether the eviction policy is Clock.
    pub(crate) fn is_clock(&self) -> bool {
        self.buffer.is_clock()
    }
}

impl Filter for FpBuffer {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "fpbuffer",
        title: "Buffer with false positives (FPBuffering)",
        summary: "A buffer that reports a key it does not hold as Seen with probability q.",
        promise: "The false positive rate is q; the false negative rate is 1 - q times that of \
                  the buffer alone.",
        choose_when: "Only as a baseline for filters with the same false positive rate.",
        errors: PossibleErrors::Both,
        needs: Needs::NONE,
        origin: Origin::Literature,
        source: Citation::DENG_2006,
        advised_because: Descriptor::FEWEST_ERRORS,
        drawing: Drawing {
            before: &["abcdef"],
            after: &["abxdef"],
            caption: "As in a buffer. A key that it does not hold is added, and at random it is \
                      reported as Seen anyway.",
        },
        parameters: &[
            Parameter::probability(
                "q",
                "the probability that a key not in the buffer is reported as Seen",
                50_000,
            ),
            POLICY,
        ],
    };

    const FORGETS: bool = true;
    const MERGES: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        Ok(FpBuffer {
            buffer: Buffer::build(spec, memory_bits)?,
            q_millionths: spec.millionths("q"),
        })
    }

    delegate_reads!(buffer.table);

    fn false_positive_rate(&self, _: &Registers) -> f64 {
        self.q()
    }

    fn cache_lines_touched(&self) -> u32 {
        self.buffer.cache_lines_touched()
    }

    fn draws(&self) -> u64 {
        1
    }

    fn seen_leaves_state_unchanged(&self) -> bool {
        false
    }

    fn verdict_is_random(&self) -> bool {
        self.q_millionths > 0
    }

    #[inline(always)]
    fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        generator: Generator,
        observation: Observation,
    ) -> Verdict {
        let found = self
            .buffer
            .observe(region, registers, generator, observation);
        match reduce(generator.draw(0), MILLION) < self.q_millionths {
            true => Verdict::Seen,
            false => found,
        }
    }

    fn cell_layout(&self) -> CellLayout {
        self.buffer.cell_layout()
    }

    fn forget<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        self.buffer.table.forget(region, registers, fingerprint)
    }

    fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        self.buffer
            .table
            .merge(region, registers, other, other_registers);
        Ok(())
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], generator: Generator, fingerprint: Fingerprint) {
        self.buffer.prefetch(region, generator, fingerprint);
    }

    #[inline(always)]
    fn prefetch_dependent(
        &self,
        region: &[u8],
        registers: &Registers,
        generator: Generator,
        fingerprint: Fingerprint,
    ) {
        self.buffer
            .prefetch_dependent(region, registers, generator, fingerprint);
    }
}
