//! One execution of a target, and what it may cost.

use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::allocation::peak_of;
use crate::target::Target;

/// An execution that takes longer is measured again.
const SUSPICIOUS: Duration = Duration::from_millis(10);
/// The processor time that an execution may take besides that of its bytes. Inspecting a store
/// computes predictions, which takes up to 60 ms in a release build.
const TIME_CONSTANT: Duration = Duration::from_millis(500);
/// The processor time that an execution may take per byte of its input.
const TIME_PER_BYTE: Duration = Duration::from_micros(10);

/// What an execution took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// The most memory that it held at once.
    pub peak_bytes: usize,
}

/// Why an execution is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It panicked: a bug, or a disagreement with the second implementation.
    Panic {
        /// The file and the line.
        place: String,
        /// What it says.
        message: String,
    },
    /// It held too much memory.
    Memory {
        /// How much.
        peak_bytes: usize,
        /// The limit for this input.
        limit: usize,
    },
    /// It took too much processor time.
    Time {
        /// How much.
        taken: Duration,
        /// The limit for this input.
        limit: Duration,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Panic { place, message } => write!(f, "panicked at {place}: {message}"),
            Failure::Memory { peak_bytes, limit } => {
                write!(f, "held {peak_bytes} bytes; the limit is {limit}")
            }
            Failure::Time { taken, limit } => {
                write!(f, "took {taken:?}; the limit is {limit:?}")
            }
        }
    }
}

impl Failure {
    /// Whether both have the same cause, as far as that can be told.
    pub fn is_same_kind(&self, other: &Failure) -> bool {
        match (self, other) {
            (Failure::Panic { place: a, .. }, Failure::Panic { place: b, .. }) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

thread_local! {
    /// Where this thread panicked last.
    static PANIC_PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Records where threads panic, and prints nothing: failures are reported with their input.
pub fn record_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        PANIC_PLACE.set(place.unwrap_or_default());
    }));
}

/// Runs a target on an input.
pub fn execute(target: &Target, input: &[u8]) -> Result<Measured, Failure> {
    let started = Instant::now();
    let run = || catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let (result, peak_bytes) = peak_of(run);
    let completed = result.is_ok();
    if let Err(panic) = result {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()));
        let (place, message) = (PANIC_PLACE.take(), text.unwrap_or_default());
        let is_overflow = message.starts_with("attempt to") && message.ends_with("overflow");
        if !(target.may_overflow && is_overflow) {
            return Err(Failure::Panic { place, message });
        }
    }
    let limit = target.memory_limit(input.len());
    if peak_bytes > limit {
        return Err(Failure::Memory { peak_bytes, limit });
    }
    if started.elapsed() > SUSPICIOUS && completed {
        let limit = TIME_CONSTANT + TIME_PER_BYTE * input.len() as u32;
        // The first execution also waits for the processor and warms caches.
        // Others may disturb one execution, but not each of three.
        let taken = (0..3).map(|_| processor_time(target, input));
        let taken = taken.min().unwrap_or_default();
        if taken > limit {
            return Err(Failure::Time { taken, limit });
        }
    }
    Ok(Measured { peak_bytes })
}

/// Returns the processor time of an execution that does not panic.
fn processor_time(target: &Target, input: &[u8]) -> Duration {
    let before = thread_time();
    (target.run)(input);
    thread_time().saturating_sub(before)
}

/// Returns the processor time of this thread.
#[cfg(unix)]
fn thread_time() -> Duration {
    time_of(rustix::time::ClockId::ThreadCPUTime)
}

/// Returns the processor time of this process.
#[cfg(unix)]
pub(crate) fn process_time() -> Duration {
    time_of(rustix::time::ClockId::ProcessCPUTime)
}

#[cfg(unix)]
fn time_of(clock: rustix::time::ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Elsewhere, time is not limited.
#[cfg(not(unix))]
fn thread_time() -> Duration {
    Duration::ZERO
}

/// Elsewhere, an execution that does not end is not noticed.
#[cfg(not(unix))]
pub(crate) fn process_time() -> Duration {
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    fn target(run: fn(&[u8])) -> Target {
        Target {
            name: "planted",
            run,
            seeds: Vec::new,
            dictionary: &[],
            max_bytes: 4096,
            may_overflow: false,
            memory_bytes: 1000,
        }
    }

    /// The limit is proportional to the input, so that a parser may copy it.
    #[test]
    fn memory_in_proportion_to_the_input_is_allowed_and_more_is_a_failure() {
        let run = |input: &[u8]| {
            // The input says how much is allocated, as the length field of a forged file does.
            let claimed = input.len() * usize::from(input[0]);
            black_box(Vec::<u8>::with_capacity(claimed));
        };
        assert!(execute(&target(run), &[60; 4096]).is_ok());
        let failure = execute(&target(run), &[70; 4096]).expect_err("too much");
        assert!(
            matches!(failure, Failure::Memory { peak_bytes, .. } if peak_bytes == 70 * 4096),
            "{failure}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn time_that_grows_with_the_square_of_the_input_is_a_failure() {
        let run = |input: &[u8]| {
            let pairs = input.iter().flat_map(|a| input.iter().map(move |b| a ^ b));
            black_box(pairs.fold(0u64, |sum, it| black_box(sum + u64::from(it))));
        };
        assert!(execute(&target(run), &[1; 1000]).is_ok());
        let failure = execute(&target(run), &[1; 64 << 10]).expect_err("too long");
        assert!(matches!(failure, Failure::Time { .. }), "{failure}");
    }

    #[test]
    fn a_panic_is_a_failure_unless_it_is_an_overflow_that_is_accepted() {
        let panics = Target {
            // Where panics are printed, that takes memory.
            memory_bytes: 1 << 24,
            ..target(|_| panic!("attempt to add with overflow"))
        };
        assert!(execute(&panics, b"").is_err());
        let accepted = Target {
            may_overflow: true,
            ..panics
        };
        assert!(execute(&accepted, b"").is_ok());
        let other = Target {
            may_overflow: true,
            ..target(|_| panic!("index out of bounds"))
        };
        assert!(execute(&other, b"").is_err());
    }
}
