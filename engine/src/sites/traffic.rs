//! Counts of messages.

use super::Operation;

/// The messages that a site, or a level of a tree, has received.
///
/// A message is one request about one key to one site, as in the paper; a network may put many of
/// them into one packet. A message to a site that does not answer counts as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages that test: *test* and *test-and-set*.
    pub tests: u64,
    /// Messages that only set.
    pub sets: u64,
    /// Messages that claim a key or release it.
    pub claims: u64,
    /// The size of all tests and sets: ⌈log2 n⌉ bits for each position, if the site has n bits.
    /// Answers, headers and claims are not included.
    pub bits: u64,
    /// Messages without an answer, which are included in the other counts.
    pub unanswered: u64,
}

impl Traffic {
    /// Counts one message with this many positions to a site.
    pub fn count(
        &mut self,
        operation: Operation,
        positions: usize,
        site_bits: u64,
        answered: bool,
    ) {
        match operation {
            Operation::Test | Operation::TestAndSet => self.tests += 1,
            Operation::Set => self.sets += 1,
        }
        self.bits += positions as u64 * u64::from(position_bits(site_bits));
        self.unanswered += u64::from(!answered);
    }

    /// Counts one message that claims or releases a key.
    pub fn count_claim(&mut self, answered: bool) {
        self.claims += 1;
        self.unanswered += u64::from(!answered);
    }

    /// Returns the number of all messages.
    pub fn messages(&self) -> u64 {
        self.tests + self.sets + self.claims
    }

    /// Adds the messages of others.
    pub fn add(&mut self, other: &Traffic) {
        self.tests += other.tests;
        self.sets += other.sets;
        self.claims += other.claims;
        self.bits += other.bits;
        self.unanswered += other.unanswered;
    }
}

/// Returns the bits of a number below `range`.
pub(super) fn position_bits(range: u64) -> u32 {
    u64::BITS - range.saturating_sub(1).leading_zeros()
}

/// Returns Jain's fairness of loads: (Σx)² ÷ (n·Σx²). It is 1 if all loads are equal and 1/n if one
/// site has all of it. None if there is no load.
///
/// R. Jain, D. Chiu, W. Hawe, "A quantitative measure of fairness and discrimination for resource
/// allocation in shared computer systems", 1984.
pub fn fairness(loads: &[u64]) -> Option<f64> {
    let sum: f64 = loads.iter().map(|&load| load as f64).sum();
    let squares: f64 = loads.iter().map(|&load| load as f64 * load as f64).sum();
    (sum > 0.0).then(|| sum * sum / (loads.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_takes_as_many_bits_as_its_site_needs() {
        for (range, bits) in [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (4243, 13)] {
            assert_eq!(position_bits(range), bits, "{range}");
        }
        let mut traffic = Traffic::default();
        traffic.count(Operation::TestAndSet, 3, 4243, true);
        traffic.count(Operation::Set, 1, 4243, false);
        traffic.count_claim(true);
        let expected = Traffic {
            tests: 1,
            sets: 1,
            claims: 1,
            bits: 52,
            unanswered: 1,
        };
        assert_eq!(traffic, expected);
        traffic.add(&expected);
        assert_eq!(traffic.messages(), 6);
    }

    #[test]
    fn fairness_is_one_for_equal_loads_and_one_nth_for_a_single_one() {
        assert_eq!(fairness(&[7, 7, 7]), Some(1.0));
        assert_eq!(fairness(&[0, 9, 0, 0]), Some(0.25));
        assert_eq!(fairness(&[0, 0]), None);
    }
}
