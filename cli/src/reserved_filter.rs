//! The filters of stores that clients of `serve` create.

use dedupstore::store::CreateOptions;
use dedupstore_server::Reserve;

use crate::error::Failure;
use crate::filter_choice::{self, WindowQuestion};
use crate::growing_filter;

/// The false positive rate of a reservation that names none, as in RedisBloom.
const DEFAULT_RATE: f64 = 0.01;
/// The number of keys of a reservation that names none. RedisBloom's is 100, which a store on disk
/// does not get smaller for.
const DEFAULT_CAPACITY: u64 = 100_000;
/// A filter that scales has room for so many times its capacity.
const ROOM: u64 = 16;
/// The least memory of a filter that scales.
const LEAST_RESERVE_BITS: u64 = 8 << 20;

/// Returns the options of a store for a reservation.
pub fn options(reserve: Reserve) -> Result<CreateOptions, Failure> {
    let rate = reserve.error_rate.unwrap_or(DEFAULT_RATE);
    let capacity = reserve.capacity.unwrap_or(DEFAULT_CAPACITY);
    let mut options = CreateOptions::default();
    let chosen = match reserve.window_seconds {
        Some(seconds) => {
            let question = WindowQuestion {
                distinct: Some(capacity),
                ..WindowQuestion::of(seconds)
            };
            options = options.window(seconds);
            question.choose_for(rate)?
        }
        None => {
            let fixed = filter_choice::for_fpr(capacity, rate)?;
            match reserve.scaling {
                // Above its rate, it is full.
                false => {
                    options = options.max_fpr(rate);
                    fixed
                }
                true => {
                    let bits = fixed.memory_bits.saturating_mul(ROOM);
                    let bits = bits.max(LEAST_RESERVE_BITS).next_power_of_two();
                    options = options.max_fpr(rate);
                    growing_filter::up_to(bits, rate)?
                }
            }
        }
    };
    Ok(options
        .filter(chosen.filter)
        .memory_bits(chosen.memory_bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(reserve: Reserve) -> String {
        let options = options(reserve).expect("possible");
        options.layout().expect("possible");
        options.spec().expect("chosen").to_string()
    }

    #[test]
    fn reservations_become_filters() {
        let reserve = Reserve {
            error_rate: Some(0.001),
            capacity: Some(1_000_000),
            scaling: true,
            window_seconds: None,
        };
        assert!(spec(reserve).starts_with("quotient:"), "{}", spec(reserve));
        let fixed = Reserve {
            scaling: false,
            ..reserve
        };
        assert!(!spec(fixed).starts_with("quotient:"), "{}", spec(fixed));
        let window = Reserve {
            window_seconds: Some(86_400),
            ..reserve
        };
        assert!(spec(window).contains("span=86400"), "{}", spec(window));
    }
}
