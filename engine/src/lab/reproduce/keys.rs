//! The keys of a run: a stream of the laboratory, or one that only a paper's figure needs.

use super::distance_law::DistanceStream;
use crate::lab::clock::NoClock;
use crate::lab::gap_meter::GapMeter;
use crate::lab::simulation::Simulation;
use crate::lab::stream::Stream;
use crate::lab::truth::Truth;

/// The keys of a run, in order.
pub(super) enum Keys {
    Stream(Box<Stream>),
    /// Repeats at fitted distances, and the number of keys in total.
    Distances(Box<DistanceStream>, u64),
    FixedGap(FixedGap),
}

/// Every key occurs twice, and always at the same gap: blocks of as many new keys as the gap, each
/// followed by the same keys again.
#[derive(Clone, Copy, Debug)]
pub(super) struct FixedGap {
    pub gap: u64,
    pub position: u64,
    pub count: u64,
}

impl FixedGap {
    fn next_number(&mut self) -> Option<u64> {
        let position = self.position;
        self.position += 1;
        let block = position / (2 * self.gap);
        (position < self.count).then(|| block * self.gap + position % self.gap)
    }
}

impl Keys {
    /// Returns the number of the next key. None at the end of the stream.
    fn next_number(&mut self) -> Option<u64> {
        match self {
            Keys::Stream(stream) => stream.next_key().map(|(_, number)| number),
            Keys::Distances(stream, _) => stream.next_number(),
            Keys::FixedGap(gaps) => gaps.next_number(),
        }
    }

    /// Returns a simulation of these keys, without filters.
    pub fn simulation(&self, seed: u64) -> Simulation {
        let simulation = match self {
            Keys::Stream(stream) => Simulation::for_stream(stream, seed),
            Keys::Distances(_, count) => Simulation::new(seed, Truth::for_numbers(*count, *count)),
            Keys::FixedGap(gaps) => {
                Simulation::new(seed, Truth::for_numbers(gaps.count, gaps.count))
            }
        };
        // No table needs gaps, so the meter gets the least memory.
        simulation.with_gap_meter(GapMeter::bounded(1))
    }

    /// Runs a simulation over all keys.
    pub fn run(mut self, simulation: &mut Simulation) {
        if let Keys::Stream(stream) = &mut self {
            while let Some(arrival) = stream.next_arrival() {
                simulation.push_arrival(&arrival, &NoClock);
            }
        } else {
            let mut digits = itoa::Buffer::new();
            while let Some(number) = self.next_number() {
                let key = digits.format(number).as_bytes();
                simulation.push_numbered(key, number, &NoClock);
            }
        }
        simulation.flush(&NoClock);
    }

    /// Runs a simulation over all keys, of which the filters only see a hash with so many values.
    pub fn run_with_hashes(mut self, simulation: &mut Simulation, values: u64) {
        let hasher = simulation.hasher();
        let mut digits = itoa::Buffer::new();
        while let Some(number) = self.next_number() {
            let hash = hasher.fingerprint(digits.format(number).as_bytes()).0 % values.max(1);
            let key = digits.format(hash).as_bytes();
            simulation.push_numbered(key, number, &NoClock);
        }
        simulation.flush(&NoClock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_repeat_has_the_same_gap() {
        let mut keys = FixedGap {
            gap: 3,
            position: 0,
            count: 14,
        };
        let mut found = Vec::new();
        while let Some(number) = keys.next_number() {
            found.push(number);
        }
        assert_eq!(found, [0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7]);
    }
}
