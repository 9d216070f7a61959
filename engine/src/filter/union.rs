//! The union of two states, for filters whose cells are bits.

use super::{Filter, Registers};

/// Takes the union of the bits, so that every key of either filter is reported as Seen. A key that
/// both filters reported as New is counted twice.
pub(super) fn unite_bits<F: Filter>(
    filter: &F,
    region: &mut [u8],
    registers: &mut Registers,
    other: &[u8],
    other_registers: &Registers,
) {
    for (byte, other) in region.iter_mut().zip(other) {
        *byte |= other;
    }
    *registers.occupied_mut() = filter.recount(region);
    registers.count_others(other_registers);
}

/// Returns the values of two lists in turns, the first ones first, each value once.
pub(super) fn in_turns<T: Copy, K: Ord>(
    one: &[T],
    other: &[T],
    key: impl Fn(T) -> K,
    into: &mut Vec<T>,
) {
    let mut known = std::collections::BTreeSet::new();
    into.clear();
    for at in 0..one.len().max(other.len()) {
        let values = [one.get(at), other.get(at)];
        let values = values.into_iter().flatten().copied();
        into.extend(values.filter(|&value| known.insert(key(value))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_united_in_turns() {
        let mut united = vec![9];
        in_turns(&[1, 2, 3, 4], &[5, 2, 1], |value| value, &mut united);
        assert_eq!(united, [1, 5, 2, 3, 4]);
        in_turns(&[], &[7], |value| value, &mut united);
        assert_eq!(united, [7]);
    }
}
