//! Bloom filters, and the partitioned ones that clear random bits: BSBF, BSBFSD, RLBSBF.
//!
//! The load of a Bloom filter after n keys is 1 − (1 − 1/m)^(kn), and the false positive rate is
//! load^k. At position t, n is d(t): a key that is a false positive would have set no bit. The
//! others have k partitions of s bits that decay (`cell_decay.rs`): an insertion clears a given
//! bit with probability 1/s (BSBF), 1/(ks) (BSBFSD), or load/s (RLBSBF).
//!
//! Bera et al., 2012, have recurrences for X, the probability that all bits of a key are set
//! (their Eq. 4.3, 4.5 and 5.2). They treat every observation as New with probability 1 − X, and
//! its bits as set or not independently of that. From X → 1 they conclude that no repeat is
//! missed: FNR = (1 − Y)(1 − X), as if the key of a repeat had never been inserted. Neither agrees
//! with their tables.

use super::cell_decay::{self, CellDecay};
use super::power::power;
use super::prediction::{Formula, Prediction, Trust};
use super::workload::Workload;

const FEW_CELLS: &str = "few cells, or a stream that changes";

/// Predicts a Bloom filter of `cells` bits in total.
pub(super) fn bloom(workload: &Workload, k: f64, cells: f64, partitioned: bool) -> Prediction {
    let formula = Formula {
        by: match partitioned {
            true => "Bloom 1970, partitioned: (1 − (1 − k/m)^n)^k over the stream",
            false => "Bloom 1970: (1 − (1 − 1/m)^(kn))^k over the stream",
        },
        trust: Trust::Exact,
        loose: FEW_CELLS,
    };
    let kept = match partitioned {
        true => libm::log1p(-(k / cells).min(1.0 - 1e-12)),
        false => k * libm::log1p(-(1.0 / cells).min(1.0 - 1e-12)),
    };
    let load = |t: f64| -libm::expm1(kept * workload.distinct_within(t));
    Prediction::of_state(workload, formula, |t| (power(load(t), k), load(t)), |_| 0.0)
}

pub(super) fn bsbf(workload: &Workload, k: f64, cells: f64) -> Prediction {
    let by = "Bera et al. 2012, Algorithm 2: bits that decay (not Eq. 3.4 and 4.3)";
    Partition::new(k, cells, k / cells).predict(workload, by)
}

pub(super) fn bsbfsd(workload: &Workload, k: f64, cells: f64) -> Prediction {
    let by = "Bera et al. 2012, Algorithm 3: bits that decay (not Eq. 3.4 and 4.5)";
    Partition::new(k, cells, 1.0 / cells).predict(workload, by)
}

pub(super) fn rlbsbf(workload: &Workload, k: f64, cells: f64) -> Prediction {
    let by = "Bera et al. 2012, Algorithm 4: bits that decay (not Eq. 3.4 and 5.2)";
    let partition = Partition {
        by_load: true,
        ..Partition::new(k, cells, k / cells)
    };
    partition.predict(workload, by)
}

/// A partition of bits. An insertion sets one of them and clears at most one at random.
#[derive(Clone, Copy, Debug)]
struct Partition {
    k: f64,
    bits: f64,
    /// The probability that an insertion clears a given bit.
    clear: f64,
    /// Whether that probability is multiplied by the load.
    by_load: bool,
}

impl Partition {
    fn new(k: f64, cells: f64, clear: f64) -> Self {
        Partition {
            k,
            bits: cells / k,
            clear,
            by_load: false,
        }
    }

    fn predict(&self, workload: &Workload, by: &'static str) -> Prediction {
        let formula = Formula {
            by,
            trust: Trust::Approximation,
            loose: FEW_CELLS,
        };
        cell_decay::solve(workload, formula, self)
    }
}

impl CellDecay for Partition {
    fn kinds(&self) -> Vec<(f64, f64)> {
        vec![(1.0, 1.0 / self.bits)]
    }

    fn emptied_by_insertion(&self, _: &Workload, _: f64, load: f64) -> f64 {
        match self.by_load {
            true => self.clear * load,
            false => self.clear,
        }
    }

    fn all(&self, one: f64) -> f64 {
        power(one.clamp(0.0, 1.0), self.k)
    }

    fn load(&self, full: &[f64]) -> f64 {
        full.iter().sum()
    }
}
