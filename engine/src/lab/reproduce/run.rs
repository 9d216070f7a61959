//! The run that measures a cell: one filter over one stream.

use super::Rate;
use super::distance_law::{DistanceLaw, DistanceStream, KnownMisses};
use super::keys::{FixedGap, Keys};
use super::sliced_filter::SliceContender;
use crate::filter::SpecError;
use crate::lab::stream::StreamSpec;
use crate::seen_set::CreateError;
use crate::sites::{SlicingError, TreeError};

/// A run at the size of the paper.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The filter.
    pub contender: Contender,
    /// The memory of the filter.
    pub memory_bits: u64,
    /// The kind of stream.
    pub source: Source,
    /// The number of keys.
    pub count: u64,
}

/// The filter of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Contender {
    /// A filter of the registry, in its text form.
    Filter(String),
    /// The stable Bloom filter with a random generator that does not reach all cells. It is not
    /// in the registry because it is of no use.
    FaultyStable,
    /// A filter of the registry in several horizontal slices. Keys come one per second.
    HorizontalSlices {
        /// The filter of a slice, in its text form.
        filter: String,
        /// The number of slices, which share the memory.
        slices: u64,
    },
    /// A Bloom filter on many sites.
    Slices(SliceContender),
    /// A tree of Bloom filters, in its text form. Each node has the memory of the run. Keys come
    /// from random leaves.
    Tree(String),
    /// A filter of the registry, compared with another one over the same stream.
    Compared {
        /// The filter, in its text form.
        filter: String,
        /// The other filter, in its text form.
        reference: String,
        /// The memory of the other filter.
        reference_bits: u64,
    },
    /// A growing filter with a window, in its text form, whose parts are counted.
    Growing(String),
    /// A filter of the registry and another one over the same stream. The other one misses repeats
    /// only, or only its misses count.
    Versus {
        /// The filter, in its text form.
        filter: String,
        /// The other filter, in its text form.
        reference: String,
        /// The memory of the other filter.
        reference_bits: u64,
    },
    /// The same filter and buffers in several memories: finds the largest advantage of the filter.
    LargestAdvantage {
        /// The filter, in its text form.
        filter: String,
        /// The memories of the filter, and those of the buffers.
        memories: Vec<(u64, u64)>,
    },
    /// A filter of the registry that sees only a hash of the keys with so many values.
    Colliding {
        /// The filter, in its text form.
        filter: String,
        /// The number of hash values; divided by the scale.
        values: u64,
    },
    /// A search for the least memory in which a filter keeps an error rate.
    LeastMemory {
        /// The filter, in its text form.
        filter: String,
        /// The rate.
        rate: Rate,
        /// The largest percentage allowed.
        at_most: f64,
        /// The memory that the paper counts per bit of the filter.
        paper_share: f64,
    },
    /// A search for the K that misses the fewest repeats, by the equations of Deng and Rafiei.
    BestK {
        /// The largest false positive rate allowed.
        max_fpr: f64,
        /// The largest value of a cell.
        max: u32,
    },
    /// Nothing: the data of the paper are not available. The note says so.
    NotMeasured,
}

/// A kind of stream, independent of its length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// See [`StreamSpec::Shuffle`].
    Shuffle {
        /// The percentage of first occurrences.
        distinct_percent: f64,
    },
    /// See [`StreamSpec::Uniform`].
    Uniform {
        /// The expected percentage of first occurrences.
        distinct_percent: f64,
    },
    /// See [`StreamSpec::Zipf`]; the number of keys is proportional to the length of the stream.
    Zipf {
        /// The exponent: larger values give more skew.
        exponent: f64,
        /// The number of keys divided by the length of the stream.
        keys_per_arrival: f64,
    },
    /// See [`StreamSpec::ImportanceDraws`].
    Importance {
        /// The expected percentage of first occurrences.
        distinct_percent: f64,
    },
    /// See [`StreamSpec::Burst`].
    Burst {
        /// The expected percentage of first occurrences.
        distinct_percent: f64,
        /// The number of keys per second before and after the burst.
        keys_per_second: f64,
        /// How many times that rate the burst has.
        factor: f64,
    },
    /// See [`StreamSpec::Poisson`].
    Poisson {
        /// The share of positions that are arrivals of frequent keys.
        rate: f64,
        /// The mean number of a frequent key.
        mean: u64,
    },
    /// See [`StreamSpec::Bmodel`].
    Bmodel {
        /// The share of the arrivals of a span that are in one of its halves.
        bias: f64,
        /// How many times spans are halved.
        levels: u32,
        /// The share of positions that are arrivals of frequent keys.
        volume: f64,
        /// The mean number of a frequent key.
        mean: u64,
    },
    /// Repeats that lie as far back as the known misses of buffers say.
    Fitted {
        /// The stream whose distances are fitted.
        known: &'static KnownMisses,
        /// The memory of the paper's row, which limits the scale.
        space_bits: u64,
    },
    /// Every key occurs twice, always at the same gap, which is not scaled.
    FixedGap {
        /// The gap.
        gap: u64,
    },
}

/// Why a run is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The text is not a filter.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The filter cannot be created, for example because memory is exhausted.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The filter cannot be divided in this way.
    #[error(transparent)]
    Slicing(#[from] SlicingError),
    /// The keys are not a stream of the laboratory.
    #[error("this kind of filter cannot run over keys that were made for one figure")]
    Source,
    /// The tree cannot be built.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

/// With fewer keys, random variation hides the rates of the filter.
const MIN_COUNT: u64 = 100_000;
/// The least scaled memory: every filter can be built in it. Some memories of the papers are
/// smaller at full size.
const MIN_MEMORY_BITS: u64 = 1024;
/// The largest scale of streams with frequent keys.
const MAX_ARRIVALS_SCALE: u64 = 16;

impl Run {
    /// Returns the scale that is used for `scale`: smaller if there would be too few keys.
    fn effective_scale(&self, scale: u64) -> u64 {
        let most = match self.source {
            Source::Fitted { space_bits, .. } => space_bits / MIN_MEMORY_BITS,
            // Their means are small numbers.
            Source::Poisson { .. } | Source::Bmodel { .. } => MAX_ARRIVALS_SCALE,
            Source::FixedGap { .. } => 1,
            _ => u64::MAX,
        };
        scale.min(most).min(self.count / MIN_COUNT).max(1)
    }

    /// Returns the number of keys at a scale.
    pub fn count_at(&self, scale: u64) -> u64 {
        self.count / self.effective_scale(scale)
    }

    /// Returns the memory at a scale.
    pub fn memory_bits_at(&self, scale: u64) -> u64 {
        let scaled = self.memory_bits / self.effective_scale(scale);
        scaled.max(MIN_MEMORY_BITS.min(self.memory_bits))
    }

    /// Returns a number of the paper at a scale.
    pub(super) fn scaled(&self, number: u64, scale: u64) -> u64 {
        number / self.effective_scale(scale)
    }

    /// Opens the keys at a scale.
    pub(super) fn keys_at(&self, scale: u64, seed: u64) -> Result<Keys, RunError> {
        let count = self.count_at(scale);
        Ok(match self.source {
            Source::Fitted { known, .. } => {
                let law = DistanceLaw::fit(known, self.effective_scale(scale));
                Keys::Distances(Box::new(DistanceStream::new(law, count, seed)), count)
            }
            Source::FixedGap { gap } => Keys::FixedGap(FixedGap {
                gap,
                position: 0,
                count,
            }),
            _ => {
                let stream = self.stream_at(scale)?.open(count, seed);
                Keys::Stream(Box::new(stream))
            }
        })
    }

    /// Returns the stream of the laboratory at a scale.
    pub(super) fn stream_at(&self, scale: u64) -> Result<StreamSpec, RunError> {
        Ok(match self.source {
            Source::Shuffle { distinct_percent } => StreamSpec::Shuffle { distinct_percent },
            Source::Uniform { distinct_percent } => StreamSpec::Uniform { distinct_percent },
            Source::Zipf {
                exponent,
                keys_per_arrival,
            } => StreamSpec::Zipf {
                exponent,
                universe: (self.count_at(scale) as f64 * keys_per_arrival) as u64,
            },
            Source::Importance { distinct_percent } => {
                StreamSpec::ImportanceDraws { distinct_percent }
            }
            Source::Burst {
                distinct_percent,
                keys_per_second,
                factor,
            } => StreamSpec::Burst {
                distinct_percent,
                keys_per_second,
                factor,
            },
            Source::Poisson { rate, mean } => StreamSpec::Poisson {
                rate,
                mean: self.scaled(mean, scale),
            },
            Source::Bmodel {
                bias,
                levels,
                volume,
                mean,
            } => StreamSpec::Bmodel {
                bias,
                levels,
                volume,
                mean: self.scaled(mean, scale),
            },
            Source::Fitted { .. } | Source::FixedGap { .. } => return Err(RunError::Source),
        })
    }
}
