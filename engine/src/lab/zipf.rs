//! Draws from a Zipf distribution.
//!
//! Rejection-inversion after Hörmann and Derflinger, "Rejection-inversion to generate variates from
//! monotone discrete distributions", 1996: constant time, no table. All arithmetic uses libm, whose
//! results are the same on every target, so a seed gives the same stream in the browser.

use rand::Rng;

/// A Zipf distribution: ranks 1 to `universe`, rank r with weight r^(−exponent).
#[derive(Clone, Debug)]
pub struct Zipf {
    exponent: f64,
    universe: u64,
    area_from: f64,
    area_to: f64,
    /// A draw at most this far below a rank is accepted without a test.
    shortcut: f64,
}

impl Zipf {
    pub fn new(exponent: f64, universe: u64) -> Self {
        let mut zipf = Zipf {
            exponent,
            universe,
            area_from: 0.0,
            area_to: 0.0,
            shortcut: 0.0,
        };
        zipf.area_from = zipf.area(1.5) - 1.0;
        zipf.area_to = zipf.area(universe as f64 + 0.5);
        zipf.shortcut = 2.0 - zipf.area_inverse(zipf.area(2.5) - zipf.weight(2.0));
        zipf
    }

    pub fn universe(&self) -> u64 {
        self.universe
    }

    /// Draws a rank, from 1.
    pub fn sample(&self, rng: &mut impl Rng) -> u64 {
        loop {
            let uniform = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            let area = self.area_to + uniform * (self.area_from - self.area_to);
            let x = self.area_inverse(area);
            let rank = libm::floor(x + 0.5).clamp(1.0, self.universe as f64);
            if rank - x <= self.shortcut || area >= self.area(rank + 0.5) - self.weight(rank) {
                return rank as u64;
            }
        }
    }

    fn weight(&self, x: f64) -> f64 {
        libm::exp(-self.exponent * libm::log(x))
    }

    /// The integral of the weight from 1 to x: (x^(1−a) − 1)/(1 − a), or ln x at a = 1.
    fn area(&self, x: f64) -> f64 {
        let log_x = libm::log(x);
        log_x * expm1_over((1.0 - self.exponent) * log_x)
    }

    fn area_inverse(&self, area: f64) -> f64 {
        let scaled = (area * (1.0 - self.exponent)).max(-1.0);
        libm::exp(area * log1p_over(scaled))
    }
}

/// (e^x − 1)/x, which is 1 at 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        libm::expm1(x) / x
    } else {
        1.0 + x / 2.0
    }
}

/// ln(1 + x)/x, which is 1 at 0.
fn log1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        libm::log1p(x) / x
    } else {
        1.0 - x / 2.0
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// Chi-square test over 50 ranks: 49 degrees of freedom, mean 49, standard deviation 9.9.
    #[test]
    fn frequencies_follow_the_distribution() {
        for exponent in [0.5, 1.0, 1.3, 3.0] {
            let zipf = Zipf::new(exponent, 50);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
            let samples = 200_000;
            let mut counts = [0u32; 50];
            for _ in 0..samples {
                counts[zipf.sample(&mut rng) as usize - 1] += 1;
            }
            let weights: Vec<f64> = (1..=50).map(|r| f64::from(r).powf(-exponent)).collect();
            let total: f64 = weights.iter().sum();
            let chi_square: f64 = counts
                .iter()
                .zip(&weights)
                .map(|(&count, weight)| {
                    let expected = f64::from(samples) * weight / total;
                    (f64::from(count) - expected).powi(2) / expected
                })
                .sum();
            assert!(chi_square < 49.0 + 4.0 * 9.9, "{exponent}: {chi_square}");
        }
    }

    #[test]
    fn a_universe_of_one_has_one_rank() {
        let zipf = Zipf::new(1.0, 1);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        assert!((0..100).all(|_| zipf.sample(&mut rng) == 1));
    }
}
