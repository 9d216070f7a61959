//! Streams of keys, made from a text form, a count and a seed.
//!
//! `shuffle:X` is the stream of the papers by Bera and Dutta: D = X % of N keys, each at
//! least once; the other N − D places are uniform picks of those D keys; all places are
//! shuffled. It is made here without a table of N places: walking the shuffled places
//! one by one, the next is a first-time slot with a chance of (those left) ÷ (places
//! left), and else a uniform pick. As the picks are uniform the names of the keys do
//! not matter, so first-time slots may take them in any fixed order. The law of the
//! stream is exactly that of the shuffled table.

use std::fmt;
use std::str::FromStr;

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::crawl::Crawl;
use super::truth::Truth;
use super::zipf::Zipf;
use crate::fingerprint::reduce;

/// The forms a stream can have, with what they mean.
pub const STREAM_FORMS: &[(&str, &str)] = &[
    (
        "shuffle:X",
        "X % of the keys are first occurrences; every place is a uniform pick, shuffled",
    ),
    (
        "uniform:X",
        "independent uniform picks from as many keys as make X % of them first occurrences",
    ),
    (
        "zipf:A:U",
        "independent picks of U keys, the r-th most popular with a weight of 1/r^A",
    ),
    (
        "crawl:S:P",
        "the links met by a breadth-first crawl of S synthetic sites of about P pages each",
    ),
];

/// Most sites, and most pages a site, of a synthetic crawl.
const MAX_CRAWL_SIDE: u64 = 1 << 20;

/// A stream, before it is made.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamSpec {
    /// `shuffle:X`
    Shuffle {
        /// First occurrences in a hundred.
        distinct_percent: f64,
    },
    /// `uniform:X`
    Uniform {
        /// First occurrences in a hundred, expected.
        distinct_percent: f64,
    },
    /// `zipf:A:U`
    Zipf {
        /// How much more popular the popular ones are.
        exponent: f64,
        /// How many keys there are.
        universe: u64,
    },
    /// `crawl:S:P`
    Crawl {
        /// Sites.
        sites: u64,
        /// Pages a site, on average.
        pages: u64,
    },
}

/// A text that is not a stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// No stream has this name.
    #[error("there is no stream `{found}`; there are: {}", forms())]
    UnknownStream {
        /// The text given.
        found: String,
    },
    /// A part that does not fit.
    #[error("stream `{stream}`: {expected}; found `{found}`")]
    BadPart {
        /// The whole text.
        stream: String,
        /// What should stand there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
}

fn forms() -> String {
    let forms: Vec<&str> = STREAM_FORMS.iter().map(|(form, _)| *form).collect();
    forms.join(", ")
}

impl FromStr for StreamSpec {
    type Err = StreamError;

    fn from_str(text: &str) -> Result<Self, StreamError> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or("");
        let bad = |expected, found: &str| StreamError::BadPart {
            stream: text.to_owned(),
            expected,
            found: found.to_owned(),
        };
        let percent = |part: Option<&str>| {
            let part = part.unwrap_or("");
            let number = part.parse::<f64>().ok();
            number.filter(|x| *x > 0.0 && *x <= 100.0).ok_or_else(|| {
                bad(
                    "the share of distinct keys is above 0 and at most 100",
                    part,
                )
            })
        };
        let side = |part: Option<&str>, expected, default: u64, max: u64| match part {
            None => Ok(default),
            Some(part) => part
                .parse::<u64>()
                .ok()
                .filter(|n| (1..=max).contains(n))
                .ok_or_else(|| bad(expected, part)),
        };
        let spec = match name {
            "shuffle" => StreamSpec::Shuffle {
                distinct_percent: percent(parts.next())?,
            },
            "uniform" => StreamSpec::Uniform {
                distinct_percent: percent(parts.next())?,
            },
            "zipf" => {
                let part = parts.next().unwrap_or("");
                let exponent = part.parse::<f64>().ok();
                StreamSpec::Zipf {
                    exponent: exponent
                        .filter(|a| *a > 0.0 && *a <= 10.0)
                        .ok_or_else(|| bad("the exponent is above 0 and at most 10", part))?,
                    universe: side(
                        Some(parts.next().unwrap_or("")),
                        "the number of keys is a whole number from 1 to 2^40",
                        1,
                        1 << 40,
                    )?,
                }
            }
            "crawl" => {
                let expected = "sites and pages are whole numbers from 1 to 1048576";
                StreamSpec::Crawl {
                    sites: side(parts.next(), expected, 20, MAX_CRAWL_SIDE)?,
                    pages: side(parts.next(), expected, 400, MAX_CRAWL_SIDE)?,
                }
            }
            _ => {
                return Err(StreamError::UnknownStream {
                    found: text.to_owned(),
                });
            }
        };
        match parts.next() {
            Some(extra) => Err(bad("nothing more is expected", extra)),
            None => Ok(spec),
        }
    }
}

impl fmt::Display for StreamSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamSpec::Shuffle { distinct_percent } => write!(f, "shuffle:{distinct_percent}"),
            StreamSpec::Uniform { distinct_percent } => write!(f, "uniform:{distinct_percent}"),
            StreamSpec::Zipf { exponent, universe } => write!(f, "zipf:{exponent}:{universe}"),
            StreamSpec::Crawl { sites, pages } => write!(f, "crawl:{sites}:{pages}"),
        }
    }
}

impl StreamSpec {
    /// The stream's first `count` keys under a seed.
    pub fn open(&self, count: u64, seed: u64) -> Stream {
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let source = match *self {
            StreamSpec::Shuffle { distinct_percent } => {
                let distinct = (count as f64 * distinct_percent / 100.0).round() as u64;
                let distinct = distinct.clamp(count.min(1), count);
                Source::Shuffle {
                    distinct,
                    firsts_left: distinct,
                }
            }
            StreamSpec::Uniform { distinct_percent } => Source::Uniform {
                universe: uniform_universe(count, distinct_percent / 100.0),
            },
            StreamSpec::Zipf { exponent, universe } => Source::Zipf(Zipf::new(exponent, universe)),
            StreamSpec::Crawl { sites, pages } => {
                Source::Crawl(Box::new(Crawl::new(sites, pages, seed)))
            }
        };
        Stream {
            source,
            rng,
            count,
            left: count,
            digits: itoa::Buffer::new(),
        }
    }
}

/// How many keys `count` uniform picks must choose among for `share` of them to be first
/// occurrences: the u·count with u·(1 − e^(−1/u)) = share.
fn uniform_universe(count: u64, share: f64) -> u64 {
    const MAX_UNIVERSE: f64 = (1u64 << 40) as f64;
    let distinct_share = |u: f64| u * -libm::expm1(-1.0 / u);
    let (mut low, mut high) = (0.0f64, MAX_UNIVERSE);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if distinct_share(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    (high * count as f64).round().clamp(1.0, MAX_UNIVERSE) as u64
}

/// A stream of keys under way.
pub struct Stream {
    source: Source,
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
    Shuffle { distinct: u64, firsts_left: u64 },
    Uniform { universe: u64 },
    Zipf(Zipf),
    Crawl(Box<Crawl>),
}

impl Stream {
    /// The next key as it is printed, and the number that tells it from all others.
    #[inline]
    pub fn next_key(&mut self) -> Option<(&[u8], u64)> {
        if self.left == 0 {
            return None;
        }
        let rng = &mut self.rng;
        let number = match &mut self.source {
            Source::Shuffle {
                distinct,
                firsts_left,
            } => {
                if reduce(rng.next_u64(), self.left) < *firsts_left {
                    *firsts_left -= 1;
                    *distinct - 1 - *firsts_left
                } else {
                    reduce(rng.next_u64(), *distinct)
                }
            }
            Source::Uniform { universe } => reduce(rng.next_u64(), *universe),
            Source::Zipf(zipf) => zipf.sample(rng) - 1,
            Source::Crawl(crawl) => {
                self.left -= 1;
                return Some(crawl.next_link(rng));
            }
        };
        self.left -= 1;
        Some((self.digits.format(number).as_bytes(), number))
    }

    /// All keys' numbers are below this.
    pub fn universe(&self) -> u64 {
        match &self.source {
            Source::Shuffle { distinct, .. } => *distinct,
            Source::Uniform { universe } => *universe,
            Source::Zipf(zipf) => zipf.universe(),
            Source::Crawl(crawl) => crawl.pages(),
        }
    }

    /// What is needed to know this stream's first occurrences.
    pub fn truth(&self) -> Truth {
        Truth::for_numbers(self.universe(), self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str, count: u64, seed: u64) -> Vec<u64> {
        let mut stream = text.parse::<StreamSpec>().expect(text).open(count, seed);
        let mut numbers = Vec::new();
        while let Some((_, number)) = stream.next_key() {
            numbers.push(number);
        }
        numbers
    }

    fn distinct(numbers: &[u64]) -> u64 {
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        sorted.len() as u64
    }

    #[test]
    fn shuffle_has_exactly_the_distinct_keys_it_names() {
        for (percent, expected) in [("15", 1500), ("60", 6000), ("100", 10_000), ("0.01", 1)] {
            let keys = numbers(&format!("shuffle:{percent}"), 10_000, 5);
            assert_eq!((keys.len(), distinct(&keys)), (10_000, expected));
        }
    }

    /// Against the definition: the table, filled and shuffled. Compared is the number of
    /// first occurrences among the first half of the places, whose mean over 200 seeds
    /// has a standard error of about 0.5.
    #[test]
    fn shuffle_follows_the_law_of_the_shuffled_table() {
        use rand::seq::SliceRandom;
        let (count, distinct_keys, rounds) = (1000u64, 300u64, 200);
        let first_half = |keys: &[u64]| distinct(&keys[..500]) as f64;
        let (mut ours, mut table) = (0.0, 0.0);
        for seed in 0..rounds {
            ours += first_half(&numbers("shuffle:30", count, seed));
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed + 1_000_000);
            let mut places: Vec<u64> = (0..distinct_keys).collect();
            places.extend((distinct_keys..count).map(|_| reduce(rng.next_u64(), distinct_keys)));
            places.shuffle(&mut rng);
            table += first_half(&places);
        }
        let difference = (ours - table) / rounds as f64;
        assert!(difference.abs() < 2.5, "{difference}");
    }

    #[test]
    fn uniform_has_about_the_distinct_keys_it_names() {
        for percent in [15.0, 60.0, 90.0] {
            let keys = numbers(&format!("uniform:{percent}"), 100_000, 3);
            let found = 100.0 * distinct(&keys) as f64 / keys.len() as f64;
            assert!((found - percent).abs() < 0.6, "{percent}: {found}");
        }
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

    /// Golden: a stream named in a document must stay what it was.
    #[test]
    fn streams_are_fixed_by_their_seed() {
        assert_eq!(
            numbers("shuffle:60", 1000, 1)[990..],
            [591, 592, 521, 593, 594, 595, 596, 597, 598, 599]
        );
        assert_eq!(
            numbers("uniform:60", 1000, 1)[990..],
            [458, 619, 875, 157, 2, 820, 873, 809, 97, 509]
        );
        assert_eq!(
            numbers("zipf:1.1:1000", 1000, 1)[990..],
            [10, 2, 0, 163, 963, 0, 0, 0, 315, 6]
        );
        assert_eq!(
            numbers("crawl:3:20", 1000, 1)[990..],
            [46, 47, 47, 49, 45, 48, 47, 46, 0, 1]
        );
    }

    #[test]
    fn text_forms_round_trip_and_errors_name_the_part() {
        for text in ["shuffle:60", "uniform:12.5", "zipf:1.1:1000", "crawl:3:20"] {
            assert_eq!(text.parse::<StreamSpec>().expect(text).to_string(), text);
        }
        let error = |text: &str| text.parse::<StreamSpec>().expect_err(text).to_string();
        assert!(
            error("suffle:6").starts_with("there is no stream `suffle:6`; there are: shuffle:X")
        );
        assert!(error("shuffle").contains("above 0 and at most 100; found ``"));
        assert!(error("shuffle:0").contains("found `0`"));
        assert!(error("shuffle:nan").contains("found `nan`"));
        assert!(error("zipf:1").contains("whole number"));
        assert!(error("zipf:1:0").contains("found `0`"));
        assert!(error("shuffle:5:6").contains("nothing more is expected; found `6`"));
    }
}
