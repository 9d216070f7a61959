//! The false positive rate of the age-partitioned Bloom filter.

use std::ops::Range;

use super::apbf::{Apbf, MAX_SLICES};
use super::window_registers::WindowRegisters;
use super::{Filter, Registers};

/// The most keys for each delivered one that are distinguished from infinitely many.
const MOST_OFFERED: f64 = 1e6;
/// Steps of a bisection.
const HALVINGS: u32 = 40;

impl Apbf {
    /// Returns the false positive rate of the present state.
    pub(super) fn present_rate(&self, registers: &Registers) -> f64 {
        let left = self.left_at(registers, self.clock.now(registers));
        let dropped_too = self.keys_offered_per_delivery(registers);
        self.rate_of(left, |ages| dropped_too * self.delivered(registers, ages))
    }

    /// Returns the false positive rate, given how many keys were inserted so many steps ago:
    /// the probability that k bits of consecutive ages are set.
    fn rate_of(&self, left: u64, inserted: impl Fn(Range<u64>) -> f64) -> f64 {
        let kept = libm::log1p(-1.0 / self.slice_bits() as f64);
        let k = self.k as usize;
        // The probability that the last bits read are a run of so many set ones.
        let mut runs = [0.0; MAX_SLICES as usize + 1];
        runs[0] = 1.0;
        let mut found = 0.0;
        for age in 0..left {
            // A slice receives keys while it is among the k youngest.
            let keys = inserted((age + 1).saturating_sub(self.k)..age + 1);
            let set = -libm::expm1(kept * keys);
            let all: f64 = runs[..k].iter().sum();
            found += runs[k - 1] * set;
            for length in (1..k).rev() {
                runs[length] = runs[length - 1] * set;
            }
            runs[0] = all * (1.0 - set);
        }
        found.clamp(0.0, 1.0)
    }

    /// Returns the number of keys per step if so many are in the window.
    fn keys_per_step(&self, keys: f64) -> f64 {
        keys * self.clock.step() as f64 / self.clock.mean_lifetime()
    }

    /// Returns the false positive rate if so many keys are in the window, evenly spread over its
    /// steps, half way through a step.
    pub(crate) fn rate_of_window(&self, keys: f64) -> f64 {
        let per_step = self.keys_per_step(keys);
        self.rate_of(self.used(), |ages| per_step * half_of_first(ages))
    }

    /// Returns the share of bits that are then set.
    pub(crate) fn load_of_window(&self, keys: f64) -> f64 {
        let per_step = self.keys_per_step(keys) / self.slice_bits() as f64;
        let set = |age: u64| {
            let ages = (age + 1).saturating_sub(self.k)..age + 1;
            -libm::expm1(-per_step * half_of_first(ages))
        };
        (0..self.used()).map(set).sum::<f64>() / self.slices as f64
    }

    /// Returns how many keys were delivered so many steps before the base.
    fn delivered(&self, registers: &Registers, ages: Range<u64>) -> f64 {
        let base = WindowRegisters::base(registers);
        let oldest = base.saturating_sub(ages.end - 1);
        base.checked_sub(ages.start).map_or(0.0, |newest| {
            WindowRegisters::in_steps(registers, self.counted_age_limit(), oldest..=newest)
        })
    }

    /// Returns how many keys would have set as many bits as one that was delivered. A key is
    /// dropped if its bits are set, so in a full filter a delivered one sets more bits than an
    /// average key. The factor is the one that explains the number of bits that are set.
    fn keys_offered_per_delivery(&self, registers: &Registers) -> f64 {
        let kept = libm::log1p(-1.0 / self.slice_bits() as f64);
        let mut delivered = [0.0; MAX_SLICES as usize];
        for age in 0..self.used() {
            // A slice receives keys while it is among the k youngest.
            let ages = (age + 1).saturating_sub(self.k)..age + 1;
            delivered[age as usize] = self.delivered(registers, ages);
        }
        // What is left of the retired slice, which held about as much as the oldest one.
        let (next, end) = WindowRegisters::sweep(registers);
        let retired = (end - next) as f64 / self.slice_bytes as f64;
        let weight = |age: u64| 1.0 + f64::from(u8::from(age + 1 == self.used())) * retired;
        let expected = |factor: f64| -> f64 {
            let set = |age: u64| -libm::expm1(kept * factor * delivered[age as usize]);
            let share: f64 = (0..self.used()).map(|age| weight(age) * set(age)).sum();
            share * self.slice_bits() as f64
        };
        let found = registers.occupied() as f64;
        let (mut low, mut high) = (1.0, MOST_OFFERED);
        for _ in 0..HALVINGS {
            let factor = libm::sqrt(low * high);
            match expected(factor) < found {
                true => low = factor,
                false => high = factor,
            }
        }
        low
    }
}

/// Returns the number of steps of these ages, of which the present one is half over.
fn half_of_first(ages: Range<u64>) -> f64 {
    let present = if ages.start == 0 { 0.5 } else { 0.0 };
    (ages.end - ages.start) as f64 - present
}
