//! The Poisson distribution: how many keys belong to one of many cache lines.

/// Returns Pr(count < limit) for a Poisson count with this mean.
pub(super) fn below(mean: f64, limit: f64) -> f64 {
    if limit <= 0.0 {
        return 0.0;
    }
    if mean > 700.0 {
        // e^−mean underflows; the normal distribution is accurate to a thousandth here.
        let z = (limit - 0.5 - mean) / libm::sqrt(mean);
        return 0.5 * libm::erfc(-z * core::f64::consts::FRAC_1_SQRT_2);
    }
    let mut share = libm::exp(-mean);
    let (mut sum, mut count) = (0.0, 0.0);
    while count < limit {
        sum += share;
        count += 1.0;
        share *= mean / count;
    }
    sum.min(1.0)
}

/// Returns E[min(count, most)] for a Poisson count with this mean: Σ Pr(count > j) over j < most.
pub(super) fn mean_up_to(mean: f64, most: f64) -> f64 {
    // E[min(X, c)] = mean·Pr(X < c) + c·Pr(X > c), as j·Pr(j) = mean·Pr(j − 1).
    mean * below(mean, most) + most * (1.0 - below(mean, most + 1.0))
}

/// Returns at most about `points` counts with their probabilities, for sums over a count.
pub(super) fn discretized(mean: f64, points: usize) -> Vec<(f64, f64)> {
    let reach = 6.0 * libm::sqrt(mean) + 6.0;
    let (from, to) = (
        libm::floor((mean - reach).max(0.0)),
        libm::ceil(mean + reach),
    );
    let stride = libm::ceil((to - from) / points as f64).max(1.0);
    let mut counts = Vec::new();
    let mut at = from;
    let mut before = below(mean, from);
    while at <= to {
        let until = below(mean, at + stride);
        counts.push((at + (stride - 1.0) / 2.0, (until - before).max(0.0)));
        before = until;
        at += stride;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_add_up_to_one() {
        for mean in [0.0, 0.3, 5.0, 80.0, 650.0, 5000.0] {
            let counts = discretized(mean, 24);
            let total: f64 = counts.iter().map(|(_, probability)| probability).sum();
            let average: f64 = counts
                .iter()
                .map(|(count, probability)| count * probability)
                .sum();
            assert!((total - 1.0).abs() < 1e-3, "{mean}: {total}");
            assert!(
                (average - mean).abs() < 0.05 * libm::sqrt(mean) + 1e-3,
                "{mean}: {average}"
            );
            assert!(counts.len() < 40);
        }
        assert!((below(2.0, 2.0) - 3.0 * libm::exp(-2.0)).abs() < 1e-12);
    }

    #[test]
    fn a_truncated_mean_is_the_sum_of_tails() {
        for (mean, most) in [(3.0, 4.0), (10.0, 2.0), (0.5, 8.0)] {
            let tails: f64 = (0..most as u32)
                .map(|j| 1.0 - below(mean, f64::from(j) + 1.0))
                .sum();
            assert!((mean_up_to(mean, most) - tails).abs() < 1e-9);
        }
    }
}
