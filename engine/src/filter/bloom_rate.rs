//! The false positive rate of cells that a Bloom filter sets, and what follows from it: how many
//! keys and how many set cells a wanted rate allows.
//!
//! If all cells are one row, this is Bloom's formula. If a key's cells are in one row of many, the
//! number of keys per row is taken to be Poisson distributed.
//!
//! Only `build` and estimates use it. It goes through libm, so that the numbers are the same on
//! every target.

/// Steps of a bisection.
const HALVINGS: u32 = 40;
/// Rows with more keys than this all have nearly the same load.
const MANY_KEYS: f64 = 600.0;
/// The largest k that is chosen automatically.
const MAX_AUTOMATIC_K: u32 = 24;

/// Cells of which each key sets k in one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BloomCells {
    pub k: u32,
    pub cells: f64,
    pub row_cells: f64,
}

impl BloomCells {
    /// Returns the same cells with the k for which a rate allows the most keys.
    pub fn with_best_k(self, rate: f64) -> Self {
        // Rows of different load need fewer cells per key than one row does.
        let first = (-libm::log2(rate) * 0.4) as u32;
        let with = |k: u32| BloomCells { k, ..self };
        let mut best = with(first.clamp(1, MAX_AUTOMATIC_K));
        let mut most = best.keys_for(rate);
        while best.k < MAX_AUTOMATIC_K {
            let next = with(best.k + 1);
            let keys = next.keys_for(rate);
            if keys < most {
                break;
            }
            (best, most) = (next, keys);
        }
        best
    }

    /// Returns the probability that a key leaves a given cell of its row unchanged.
    fn kept(&self) -> f64 {
        libm::pow(1.0 - 1.0 / self.row_cells, f64::from(self.k))
    }

    /// Returns the false positive rate with so many keys.
    pub fn rate(&self, keys: f64) -> f64 {
        let (k, kept) = (self.k, self.kept());
        let mean = keys * self.row_cells / self.cells;
        if self.row_cells >= self.cells || mean > MANY_KEYS {
            return power(1.0 - libm::pow(kept, mean), k);
        }
        let most = (mean + 12.0 * libm::sqrt(mean) + 12.0) as u32;
        let (mut share, mut empty, mut rate) = (libm::exp(-mean), 1.0, 0.0);
        for keys in 0..=most {
            rate += share * power(1.0 - empty, k);
            share *= mean / f64::from(keys + 1);
            empty *= kept;
        }
        rate.clamp(0.0, 1.0)
    }

    /// Returns the number of keys with which the rate is reached. For one row this is the paper's
    /// n = −(m/k)·ln(1 − P^(1/k)).
    pub fn keys_for(&self, rate: f64) -> f64 {
        let k = f64::from(self.k);
        let one_row = -self.cells / k * libm::log1p(-libm::pow(rate, 1.0 / k));
        if self.row_cells >= self.cells {
            return one_row;
        }
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let share = (low + high) / 2.0;
            match self.rate(share * one_row) < rate {
                true => low = share,
                false => high = share,
            }
        }
        low * one_row
    }

    /// Returns the expected number of set cells with so many keys. With the keys of
    /// [`keys_for`](Self::keys_for) and one row, this is the paper's z = m·P^(1/k).
    pub fn set_cells(&self, keys: f64) -> f64 {
        -self.cells * libm::expm1(-keys * self.cells_per_key())
    }

    /// Returns the number of keys that set so many cells.
    pub fn keys_setting(&self, set_cells: f64) -> f64 {
        let share = (set_cells / self.cells).min(1.0 - 1e-9);
        -libm::log1p(-share) / self.cells_per_key()
    }

    /// Returns the share of the empty cells that a key sets.
    fn cells_per_key(&self) -> f64 {
        let of_row = 1.0 - self.kept();
        match self.row_cells >= self.cells {
            true => -libm::log1p(-of_row.min(1.0 - 1e-12)),
            false => of_row * self.row_cells / self.cells,
        }
    }
}

/// Raises to a whole power, by squaring: it is called for each number of keys of each bisection.
fn power(base: f64, exponent: u32) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, exponent);
    while left > 0 {
        if left % 2 == 1 {
            result *= square;
        }
        square *= square;
        left /= 2;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(k: u32, cells: f64, row_cells: f64) -> BloomCells {
        BloomCells {
            k,
            cells,
            row_cells,
        }
    }

    #[test]
    fn the_thresholds_of_one_row_are_those_of_the_paper() {
        let part = cells(4, 14_300.0, 14_300.0);
        let keys = part.keys_for(0.02);
        assert!((keys - 1686.3).abs() < 1.0, "{keys}");
        let set = part.set_cells(keys);
        assert!((set - 14_300.0 * 0.02f64.powf(0.25)).abs() < 1.0, "{set}");
    }

    #[test]
    fn thresholds_are_inverse_to_rates() {
        for part in [
            cells(6, 1e6, 1e6),
            cells(9, 51_200.0, 512.0),
            cells(3, 512.0, 512.0),
        ] {
            for rate in [0.2, 1e-2, 1e-4, 1e-6] {
                let keys = part.keys_for(rate);
                assert!(
                    (part.rate(keys) / rate - 1.0).abs() < 0.02,
                    "{part:?} {rate}"
                );
                let back = part.keys_setting(part.set_cells(keys));
                assert!((back / keys - 1.0).abs() < 1e-6, "{part:?} {rate}");
            }
        }
    }

    #[test]
    fn the_best_k_is_best() {
        for row_cells in [512.0, 1e6] {
            for rate in [0.02, 1e-3, 1e-5] {
                let best = cells(1, 1e6, row_cells).with_best_k(rate);
                for k in 1..=20 {
                    let other = cells(k, 1e6, row_cells);
                    assert!(other.keys_for(rate) <= best.keys_for(rate), "{k} {best:?}");
                }
            }
        }
        // Bits per key at a rate of one in a thousand: 14.4 anywhere, 15.5 in cache lines.
        let anywhere = cells(1, 1e6, 1e6).with_best_k(1e-3);
        let in_lines = cells(1, 1e6, 512.0).with_best_k(1e-3);
        assert!((1e6 / anywhere.keys_for(1e-3) - 14.38).abs() < 0.01);
        assert!((1e6 / in_lines.keys_for(1e-3) - 15.49).abs() < 0.02);
    }
}
