//! Prepares the keys of a stream for a simulation, batch by batch.
//!
//! Generating and hashing keys and looking up the truth takes about as long as a fast filter. One
//! thread can prepare batches while another runs the filters.

use super::simulation::BATCH;
use super::stream::Stream;
use super::truth::Truth;
use crate::filter::Observation;
use crate::fingerprint::KeyHasher;

/// The next keys of a stream.
#[derive(Debug, Default)]
pub struct StreamBatch {
    pub(super) observations: Vec<Observation>,
    /// Numbers by which equal keys are recognized.
    pub(super) identities: Vec<u64>,
    /// Whether each observation is a first occurrence.
    pub(super) first: Vec<bool>,
    /// Whether a key has an importance.
    pub(super) is_weighted: bool,
    /// The first and the last of the times, if the stream has times.
    pub(super) ticks: Option<(u32, u32)>,
}

/// A stream whose keys are prepared in batches.
#[derive(Debug)]
pub struct BatchedStream {
    stream: Stream,
    hasher: KeyHasher,
    truth: Truth,
}

impl BatchedStream {
    /// Prepares a stream for a simulation with a seed.
    pub fn new(stream: Stream, seed: u64) -> Self {
        BatchedStream {
            truth: stream.truth(),
            hasher: KeyHasher::new(seed),
            stream,
        }
    }

    /// Replaces a batch by the next keys. Returns false at the end of the stream.
    pub fn fill(&mut self, batch: &mut StreamBatch) -> bool {
        let StreamBatch {
            observations,
            identities,
            first,
            is_weighted,
            ticks,
        } = batch;
        observations.clear();
        identities.clear();
        first.clear();
        (*is_weighted, *ticks) = (false, None);
        while observations.len() < BATCH {
            let position = self.stream.position();
            let Some(arrival) = self.stream.next_arrival() else {
                break;
            };
            if let Some(second) = arrival.second {
                let (earliest, latest) = ticks.unwrap_or((second, second));
                *ticks = Some((earliest.min(second), latest.max(second)));
            }
            *is_weighted |= arrival.importance.is_some();
            let position = u32::try_from(position).unwrap_or(u32::MAX);
            observations.push(Observation {
                importance: arrival.importance.unwrap_or(0),
                tick: arrival.second.unwrap_or(position),
                ..self.hasher.fingerprint(arrival.key).into()
            });
            identities.push(arrival.number);
        }
        self.truth.are_first(identities, first);
        !observations.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream::StreamSpec;
    use super::*;
    use crate::lab::{NoClock, Simulation};

    #[test]
    fn prepared_keys_give_the_results_of_single_keys() {
        for text in [
            "shuffle:30",
            "importance-linear:30",
            "bmodel:0.7:6:0.1:1000",
            "crawl:5:100",
        ] {
            let spec: StreamSpec = text.parse().expect("a stream");
            let open = || spec.open(5000, 3);
            let simulation = || {
                let mut simulation = Simulation::for_stream(&open(), 3);
                for filter in [
                    "rlbsbf",
                    "window:span=500,step=50",
                    "sqf:fingerprint=identity",
                ] {
                    let filter = filter.parse().expect("a filter");
                    simulation.add_filter(&filter, 20_000).expect("small");
                }
                simulation
            };
            let (mut single, mut batched) = (simulation(), simulation());
            let mut stream = open();
            while let Some(arrival) = stream.next_arrival() {
                single.push_arrival(&arrival, &NoClock);
            }
            single.flush(&NoClock);
            let (mut stream, mut batch) = (BatchedStream::new(open(), 3), StreamBatch::default());
            while stream.fill(&mut batch) {
                batched.push_batch(&mut batch, &NoClock);
            }
            assert_eq!(batched.count(), 5000, "{text}");
            assert_eq!(batched.distinct(), single.distinct(), "{text}");
            assert_eq!(
                batched.summaries("test"),
                single.summaries("test"),
                "{text}"
            );
        }
    }
}
