//! Bloom filters, and those of its kin that clear random bits as they insert: BSBF,
//! BSBFSD, RLBSBF.
//!
//! A Bloom filter's load after n keys is 1 − (1 − 1/m)^(kn), and a new key is dropped with
//! the chance load^k; n is d(t) at place t, as keys that are dropped would have set
//! nothing. The others are k parts of s bits that fade (`fading.rs`): an insertion clears a
//! given bit with the chance 1/s (BSBF), 1/(ks) (BSBFSD), load/s (RLBSBF).
//!
//! Bera et al., 2012, have recurrences for X, the chance that all of a key's bits are set
//! (their Eq. 4.3, 4.5 and 5.2). They take every arrival for one that is New with the
//! chance 1 − X and whose bits are set or not independently of that, and from X → 1 they
//! conclude that no repeat will be missed: FNR = (1 − Y)(1 − X), as if a repeat's key had
//! never been inserted. Neither agrees with their tables.

use super::fading::{self, Fading};
use super::power::power;
use super::prediction::{Formula, Prediction, Trust};
use super::workload::Workload;

const MANY_CELLS: &str = "few cells, or habits that change along the stream";

/// A Bloom filter of `cells` bits in all.
pub(super) fn bloom(workload: &Workload, k: f64, cells: f64, partitioned: bool) -> Prediction {
    let formula = Formula {
        by: match partitioned {
            true => "Bloom 1970, in parts: (1 − (1 − k/m)^n)^k over the stream",
            false => "Bloom 1970: (1 − (1 − 1/m)^(kn))^k over the stream",
        },
        trust: Trust::Exact,
        loose: MANY_CELLS,
    };
    let kept = match partitioned {
        true => libm::log1p(-(k / cells).min(1.0 - 1e-12)),
        false => k * libm::log1p(-(1.0 / cells).min(1.0 - 1e-12)),
    };
    let load = |t: f64| -libm::expm1(kept * workload.distinct_within(t));
    Prediction::of_state(workload, formula, |t| (power(load(t), k), load(t)), |_| 0.0)
}

pub(super) fn bsbf(workload: &Workload, k: f64, cells: f64) -> Prediction {
    let by = "Bera et al. 2012, Algorithm 2: bits that fade (not Eq. 3.4 and 4.3)";
    Part::new(k, cells, k / cells).predict(workload, by)
}

pub(super) fn bsbfsd(workload: &Workload, k: f64, cells: f64) -> Prediction {
    let by = "Bera et al. 2012, Algorithm 3: bits that fade (not Eq. 3.4 and 4.5)";
    Part::new(k, cells, 1.0 / cells).predict(workload, by)
}

pub(super) fn rlbsbf(workload: &Workload, k: f64, cells: f64) -> Prediction {
    let by = "Bera et al. 2012, Algorithm 4: bits that fade (not Eq. 3.4 and 5.2)";
    let part = Part {
        by_load: true,
        ..Part::new(k, cells, k / cells)
    };
    part.predict(workload, by)
}

/// A part of bits, of which an insertion sets one and clears one or none at random.
#[derive(Clone, Copy, Debug)]
struct Part {
    k: f64,
    span: f64,
    /// The chance that an insertion clears a given bit.
    clear: f64,
    /// Whether that chance is multiplied by the load.
    by_load: bool,
}

impl Part {
    fn new(k: f64, cells: f64, clear: f64) -> Self {
        Part {
            k,
            span: cells / k,
            clear,
            by_load: false,
        }
    }

    fn predict(&self, workload: &Workload, by: &'static str) -> Prediction {
        let formula = Formula {
            by,
            trust: Trust::Approximation,
            loose: MANY_CELLS,
        };
        fading::solve(workload, formula, self)
    }
}

impl Fading for Part {
    fn kinds(&self) -> Vec<(f64, f64)> {
        vec![(1.0, 1.0 / self.span)]
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
