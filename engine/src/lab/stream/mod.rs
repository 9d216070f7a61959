//! Synthetic streams of keys, given by a text form, a count and a seed.
//!
//! Each family has a file; `text_form.rs` has their text forms. All arithmetic uses the basic
//! operations of IEEE 754 and libm, so that a seed gives the same stream on every target.

mod arrivals;
mod burst;
mod drift;
mod importance;
mod shuffle;
mod text_form;

use std::fmt;

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub use importance::ImportanceLaw;
pub use text_form::{STREAM_FORMS, StreamError};

use self::arrivals::{Arrivals, Bursts};
use self::burst::Burst;
use self::drift::Drift;
use self::importance::Importance;
use self::shuffle::{Shuffle, uniform_universe};
use super::crawl::Crawl;
use super::truth::Truth;
use super::zipf::Zipf;
use crate::fingerprint::reduce;
use crate::lines::importance_of_depth;

/// The description of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamSpec {
    /// `shuffle:X`
    Shuffle {
        /// The percentage of first occurrences.
        distinct_percent: f64,
    },
    /// `uniform:X`
    Uniform {
        /// The expected percentage of first occurrences.
        distinct_percent: f64,
    },
    /// `zipf:A:U`
    Zipf {
        /// The exponent: larger values give more skew.
        exponent: f64,
        /// The number of keys.
        universe: u64,
    },
    /// `drift:X:W`
    Drift {
        /// The percentage of first occurrences.
        distinct_percent: f64,
        /// The number of newest keys that are repeated.
        window: u64,
    },
    /// `poisson:R:U`
    Poisson {
        /// The share of positions that are arrivals of frequent keys.
        rate: f64,
        /// The mean number of a frequent key.
        mean: u64,
    },
    /// `bmodel:B:L:V:U`
    Bmodel {
        /// The share of the arrivals of a span that are in one of its halves.
        bias: f64,
        /// How many times spans are halved.
        levels: u32,
        /// The share of positions that are arrivals of frequent keys.
        volume: f64,
        /// The mean number of a frequent key.
        mean: u64,
    },
    /// `burst:X:R:F`
    Burst {
        /// The expected percentage of first occurrences.
        distinct_percent: f64,
        /// The rate in the first and in the last third of the keys.
        keys_per_second: f64,
        /// By how much the rate is higher in the middle third.
        factor: f64,
    },
    /// `importance-linear:X`, `importance-exponential:X`
    Importance {
        /// The distribution of importance over keys.
        law: ImportanceLaw,
        /// The percentage of first occurrences.
        distinct_percent: f64,
    },
    /// `importance-draws:X`
    ImportanceDraws {
        /// The expected percentage of first occurrences.
        distinct_percent: f64,
    },
    /// `crawl:S:P`
    Crawl {
        /// The number of sites.
        sites: u64,
        /// The mean number of pages per site.
        pages: u64,
    },
}

impl StreamSpec {
    /// Returns whether the keys have an importance.
    pub fn has_importance(&self) -> bool {
        matches!(
            self,
            StreamSpec::Importance { .. }
                | StreamSpec::ImportanceDraws { .. }
                | StreamSpec::Crawl { .. }
        )
    }

    /// Opens a stream of `count` keys with a seed.
    pub fn open(&self, count: u64, seed: u64) -> Stream {
        let (mut importance, mut burst) = (None, None);
        let source = match *self {
            StreamSpec::Shuffle { distinct_percent } => {
                Source::Shuffle(Shuffle::new(count, distinct_percent))
            }
            StreamSpec::Uniform { distinct_percent } => Source::Uniform {
                universe: uniform_universe(count, distinct_percent / 100.0),
            },
            StreamSpec::Zipf { exponent, universe } => Source::Zipf(Zipf::new(exponent, universe)),
            StreamSpec::Drift {
                distinct_percent,
                window,
            } => Source::Drift(Drift::new(count, distinct_percent, window)),
            StreamSpec::Poisson { rate, mean } => Source::Arrivals(Arrivals::poisson(rate, mean)),
            StreamSpec::Bmodel {
                bias,
                levels,
                volume,
                mean,
            } => {
                let bursts = Bursts::new(count, bias, levels, volume, seed);
                Source::Arrivals(Arrivals::bursts(bursts, mean))
            }
            StreamSpec::Burst {
                distinct_percent,
                keys_per_second,
                factor,
            } => {
                burst = Some(Burst::new(count, keys_per_second, factor));
                Source::Uniform {
                    universe: uniform_universe(count, distinct_percent / 100.0),
                }
            }
            StreamSpec::Importance {
                law,
                distinct_percent,
            } => {
                importance = Some(Importance::new(law, seed));
                Source::Shuffle(Shuffle::new(count, distinct_percent))
            }
            StreamSpec::ImportanceDraws { distinct_percent } => {
                importance = Some(Importance::new(ImportanceLaw::Linear, seed));
                Source::Uniform {
                    universe: uniform_universe(count, distinct_percent / 100.0),
                }
            }
            StreamSpec::Crawl { sites, pages } => {
                Source::Crawl(Box::new(Crawl::new(sites, pages, seed)))
            }
        };
        Stream {
            source,
            importance,
            burst,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            count,
            left: count,
            digits: itoa::Buffer::new(),
        }
    }
}

/// A generator of the keys of a stream.
pub struct Stream {
    source: Source,
    importance: Option<Importance>,
    burst: Option<Burst>,
    rng: Xoshiro256PlusPlus,
    count: u64,
    left: u64,
    digits: itoa::Buffer,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("source", &self.source)
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
enum Source {
    Shuffle(Shuffle),
    Uniform { universe: u64 },
    Zipf(Zipf),
    Drift(Drift),
    Arrivals(Arrivals),
    Crawl(Box<Crawl>),
}

/// A key of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival<'a> {
    /// The bytes of the key.
    pub key: &'a [u8],
    /// The number of the key: equal for equal keys only.
    pub number: u64,
    /// The importance of the key, if the stream has importance.
    pub importance: Option<u16>,
    /// The link depth of the key, in a crawl. Its importance follows from it.
    pub depth: Option<u32>,
    /// The time of the key in seconds from the start of the stream, if the stream has times. The
    /// keys of other streams come one per second.
    pub second: Option<u32>,
}

impl Stream {
    /// Returns the bytes and the number of the next key. None at the end of the stream.
    #[inline]
    pub fn next_key(&mut self) -> Option<(&[u8], u64)> {
        self.next_arrival().map(|it| (it.key, it.number))
    }

    /// Returns the next key with its number, importance and time. None at the end of the stream.
    #[inline]
    pub fn next_arrival(&mut self) -> Option<Arrival<'_>> {
        if self.left == 0 {
            return None;
        }
        let left = self.left;
        let second = (self.burst.as_ref()).map(|burst| burst.second_of(self.count - left));
        self.left -= 1;
        let rng = &mut self.rng;
        let number = match &mut self.source {
            Source::Shuffle(shuffle) => shuffle.next(left, rng),
            Source::Uniform { universe } => reduce(rng.next_u64(), *universe),
            Source::Zipf(zipf) => zipf.sample(rng) - 1,
            Source::Drift(drift) => drift.next(left, rng),
            Source::Arrivals(arrivals) => arrivals.next(rng),
            Source::Crawl(crawl) => {
                let link = crawl.next_link(rng);
                return Some(Arrival {
                    key: link.address,
                    number: link.page,
                    importance: Some(importance_of_depth(link.depth.into())),
                    depth: Some(link.depth.into()),
                    second,
                });
            }
        };
        Some(Arrival {
            key: self.digits.format(number).as_bytes(),
            number,
            importance: self.importance.map(|importance| importance.of(number)),
            depth: None,
            second,
        })
    }

    /// The time of the next key in seconds from the start of the stream. If the stream has no
    /// times, keys come one per second.
    pub fn next_second(&self) -> u32 {
        let position = self.position();
        match &self.burst {
            Some(burst) => burst.second_of(position),
            None => u32::try_from(position).unwrap_or(u32::MAX),
        }
    }

    /// The number of keys generated so far.
    pub fn position(&self) -> u64 {
        self.count - self.left
    }

    /// An exclusive upper bound on the key numbers.
    pub fn universe(&self) -> u64 {
        match &self.source {
            Source::Shuffle(shuffle) => shuffle.distinct(),
            Source::Uniform { universe } => *universe,
            Source::Zipf(zipf) => zipf.universe(),
            Source::Drift(drift) => drift.distinct(),
            Source::Arrivals(arrivals) => arrivals.universe(self.count),
            Source::Crawl(crawl) => crawl.pages(),
        }
    }

    /// Returns an empty exact set for the key numbers of this stream.
    pub fn truth(&self) -> Truth {
        Truth::for_numbers(self.universe(), self.count)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub fn numbers(text: &str, count: u64, seed: u64) -> Vec<u64> {
        let mut stream = text.parse::<StreamSpec>().expect(text).open(count, seed);
        let mut numbers = Vec::new();
        while let Some((_, number)) = stream.next_key() {
            numbers.push(number);
        }
        numbers
    }

    pub fn distinct(numbers: &[u64]) -> u64 {
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        sorted.len() as u64
    }

    #[test]
    fn keys_are_the_numbers_in_decimal() {
        let mut stream = "shuffle:60"
            .parse::<StreamSpec>()
            .expect("a stream")
            .open(50, 1);
        while let Some((key, number)) = stream.next_key() {
            assert_eq!(key, number.to_string().as_bytes());
        }
    }

    #[test]
    fn the_exact_set_accepts_every_key() {
        for text in [
            "shuffle:60",
            "uniform:60",
            "zipf:1.1:100",
            "drift:20:10",
            "poisson:0.5:20",
            "bmodel:0.7:3:0.3:20",
            "burst:30:1:5",
            "importance-linear:40",
            "importance-draws:40",
            "crawl:3:20",
        ] {
            let stream = text.parse::<StreamSpec>().expect(text);
            let mut keys = stream.open(5000, 4);
            let mut truth = keys.truth();
            let mut plain = std::collections::BTreeSet::new();
            while let Some((key, number)) = keys.next_key() {
                assert_eq!(truth.is_first(number), plain.insert(key.to_vec()), "{text}");
            }
        }
    }

    /// Golden values: documents name streams, so a stream must never change.
    #[test]
    fn a_seed_determines_the_stream() {
        for (text, golden) in [
            (
                "shuffle:60",
                [591, 592, 521, 593, 594, 595, 596, 597, 598, 599],
            ),
            (
                "uniform:60",
                [458, 619, 875, 157, 2, 820, 873, 809, 97, 509],
            ),
            (
                "importance-draws:60",
                [458, 619, 875, 157, 2, 820, 873, 809, 97, 509],
            ),
            (
                "burst:60:1:5",
                [458, 619, 875, 157, 2, 820, 873, 809, 97, 509],
            ),
            ("zipf:1.1:1000", [10, 2, 0, 163, 963, 0, 0, 0, 315, 6]),
            ("crawl:3:20", [46, 47, 47, 49, 45, 48, 47, 46, 0, 1]),
            (
                "drift:30:50",
                [297, 298, 277, 254, 291, 264, 285, 297, 299, 254],
            ),
            ("poisson:0.7:10", [685, 686, 687, 3, 15, 2, 7, 7, 12, 4]),
            (
                "bmodel:0.7:3:0.3:10",
                [1067, 1068, 1069, 4, 7, 0, 43, 6, 1, 1070],
            ),
        ] {
            assert_eq!(numbers(text, 1000, 1)[990..], golden, "{text}");
        }
    }
}
