//! The text form of a stream: a name and its numbers, separated by colons.

use std::fmt;
use std::str::FromStr;

use super::{ImportanceLaw, StreamSpec};

/// The text forms of streams, with their meaning.
pub const STREAM_FORMS: &[(&str, &str)] = &[
    (
        "shuffle:X",
        "X % of the keys are first occurrences; repeats are uniform choices among all keys",
    ),
    (
        "uniform:X",
        "independent uniform choices among as many keys as give X % first occurrences",
    ),
    (
        "zipf:A:U",
        "independent choices among U keys; the r-th most popular has weight 1/r^A",
    ),
    (
        "drift:X:W",
        "X % are first occurrences; repeats are uniform choices among the W newest keys",
    ),
    (
        "poisson:R:U",
        "a share R of the keys, at random positions, has an exponential popularity of mean U; \
         the others occur once",
    ),
    (
        "bmodel:B:L:V:U",
        "like poisson, for a share V in bursts: L halvings, share B to one half; V·(2B)^L ≤ 1",
    ),
    (
        "burst:X:R:F",
        "uniform:X at R keys per second, and at F times that rate in the middle third of the keys",
    ),
    (
        "importance-linear:X",
        "shuffle:X with an importance after a tab, uniform from 1 to 50",
    ),
    (
        "importance-exponential:X",
        "shuffle:X with an importance after a tab, mostly low, at most 50",
    ),
    (
        "importance-draws:X",
        "uniform:X with an importance after a tab, uniform from 1 to 50",
    ),
    (
        "crawl:S:P",
        "the links found by a breadth-first crawl of S synthetic sites with about P pages each; \
         importance from the link depth",
    ),
];

/// The greatest number of sites, and of pages per site, of a synthetic crawl.
const MAX_CRAWL_SIDE: u64 = 1 << 20;
/// The greatest number of keys to choose among.
const MAX_KEYS: u64 = 1 << 40;
/// The greatest number of halvings of the b-model.
const MAX_LEVELS: u64 = 32;

/// The least and the greatest number of keys per second.
const RATES: (f64, f64) = (1e-6, 1e6);
/// The least and the greatest factor of a burst.
const FACTORS: (f64, f64) = (1e-3, 1e3);

/// The error for a text that is not a stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// No stream has this name.
    #[error("there is no stream `{found}`; the streams are: {}", forms())]
    UnknownStream {
        /// The given text.
        found: String,
    },
    /// A part of the text is wrong.
    #[error("stream `{stream}`: {expected}; found `{found}`")]
    BadPart {
        /// The whole text.
        stream: String,
        /// What the part must be.
        expected: &'static str,
        /// The given part.
        found: String,
    },
}

fn forms() -> String {
    let forms: Vec<&str> = STREAM_FORMS.iter().map(|(form, _)| *form).collect();
    forms.join(", ")
}

/// The parts of a text, consumed one by one.
struct Parts<'a> {
    text: &'a str,
    rest: std::str::Split<'a, char>,
}

impl<'a> Parts<'a> {
    fn bad(&self, expected: &'static str, found: &str) -> StreamError {
        StreamError::BadPart {
            stream: self.text.to_owned(),
            expected,
            found: found.to_owned(),
        }
    }

    fn next(&mut self) -> Option<&'a str> {
        self.rest.next()
    }

    /// Parses the next part as a number within limits, both included.
    fn real(&mut self, limits: (f64, f64), expected: &'static str) -> Result<f64, StreamError> {
        let part = self.next().unwrap_or("");
        let number = part.parse::<f64>().ok();
        number
            .filter(|x| (limits.0..=limits.1).contains(x))
            .ok_or_else(|| self.bad(expected, part))
    }

    /// Parses the next part as an integer within limits, both included.
    fn whole(&mut self, limits: (u64, u64), expected: &'static str) -> Result<u64, StreamError> {
        let part = self.next().unwrap_or("");
        let number = part.parse::<u64>().ok();
        number
            .filter(|n| (limits.0..=limits.1).contains(n))
            .ok_or_else(|| self.bad(expected, part))
    }

    fn percent(&mut self) -> Result<f64, StreamError> {
        let above_zero = f64::MIN_POSITIVE;
        let expected = "X, the percentage of distinct keys, must be above 0 and at most 100";
        self.real((above_zero, 100.0), expected)
    }

    fn mean(&mut self) -> Result<u64, StreamError> {
        let expected = "U, the mean of the popularity, must be a whole number from 1 to 2^40";
        self.whole((1, MAX_KEYS), expected)
    }

    fn crawl_side(&mut self, default: u64) -> Result<u64, StreamError> {
        let expected = "sites and pages must be whole numbers from 1 to 1048576";
        match self.rest.clone().next() {
            None => Ok(default),
            Some(_) => self.whole((1, MAX_CRAWL_SIDE), expected),
        }
    }

    fn bursts(&mut self) -> Result<StreamSpec, StreamError> {
        let bias = self.real((0.5, 1.0), "B, the bias, must be from 0.5 to 1")?;
        let levels = self.whole(
            (0, MAX_LEVELS),
            "L, the number of halvings, must be a whole number from 0 to 32",
        )?;
        let part = self.rest.clone().next().unwrap_or("");
        let volume = self.real(
            (f64::MIN_POSITIVE, 1.0),
            "V, the share of arrivals, must be above 0 and at most 1",
        )?;
        let fullest = (0..levels).fold(volume, |density, _| density * 2.0 * bias);
        if fullest > 1.0 + 1e-9 {
            let expected = "the fullest span must have enough positions: V·(2B)^L ≤ 1";
            return Err(self.bad(expected, part));
        }
        Ok(StreamSpec::Bmodel {
            bias,
            levels: levels as u32,
            volume,
            mean: self.mean()?,
        })
    }
}

impl FromStr for StreamSpec {
    type Err = StreamError;

    fn from_str(text: &str) -> Result<Self, StreamError> {
        let rest = text.split(':');
        let mut parts = Parts { text, rest };
        let above_zero = f64::MIN_POSITIVE;
        let spec = match parts.next().unwrap_or("") {
            "shuffle" => StreamSpec::Shuffle {
                distinct_percent: parts.percent()?,
            },
            "uniform" => StreamSpec::Uniform {
                distinct_percent: parts.percent()?,
            },
            "zipf" => StreamSpec::Zipf {
                exponent: parts.real(
                    (above_zero, 10.0),
                    "A, the exponent, must be above 0 and at most 10",
                )?,
                universe: parts.whole(
                    (1, MAX_KEYS),
                    "U, the number of keys, must be a whole number from 1 to 2^40",
                )?,
            },
            "drift" => StreamSpec::Drift {
                distinct_percent: parts.percent()?,
                window: parts.whole(
                    (1, MAX_KEYS),
                    "W, the number of newest keys, must be a whole number from 1 to 2^40",
                )?,
            },
            "poisson" => StreamSpec::Poisson {
                rate: parts.real(
                    (above_zero, 1.0),
                    "R, the share of arrivals, must be above 0 and at most 1",
                )?,
                mean: parts.mean()?,
            },
            "bmodel" => parts.bursts()?,
            "burst" => StreamSpec::Burst {
                distinct_percent: parts.percent()?,
                keys_per_second: parts.real(
                    RATES,
                    "R, the number of keys per second, must be from 0.000001 to 1000000",
                )?,
                factor: parts.real(
                    FACTORS,
                    "F, the factor in the middle third, must be from 0.001 to 1000",
                )?,
            },
            "importance-linear" => StreamSpec::Importance {
                law: ImportanceLaw::Linear,
                distinct_percent: parts.percent()?,
            },
            "importance-exponential" => StreamSpec::Importance {
                law: ImportanceLaw::Exponential,
                distinct_percent: parts.percent()?,
            },
            "importance-draws" => StreamSpec::ImportanceDraws {
                distinct_percent: parts.percent()?,
            },
            "crawl" => StreamSpec::Crawl {
                sites: parts.crawl_side(20)?,
                pages: parts.crawl_side(400)?,
            },
            _ => {
                return Err(StreamError::UnknownStream {
                    found: text.to_owned(),
                });
            }
        };
        match parts.next() {
            Some(extra) => Err(parts.bad("there must be no further part", extra)),
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
            StreamSpec::Drift {
                distinct_percent,
                window,
            } => write!(f, "drift:{distinct_percent}:{window}"),
            StreamSpec::Poisson { rate, mean } => write!(f, "poisson:{rate}:{mean}"),
            StreamSpec::Bmodel {
                bias,
                levels,
                volume,
                mean,
            } => write!(f, "bmodel:{bias}:{levels}:{volume}:{mean}"),
            StreamSpec::Burst {
                distinct_percent,
                keys_per_second,
                factor,
            } => write!(f, "burst:{distinct_percent}:{keys_per_second}:{factor}"),
            StreamSpec::Importance {
                law,
                distinct_percent,
            } => match law {
                ImportanceLaw::Linear => write!(f, "importance-linear:{distinct_percent}"),
                ImportanceLaw::Exponential => {
                    write!(f, "importance-exponential:{distinct_percent}")
                }
            },
            StreamSpec::ImportanceDraws { distinct_percent } => {
                write!(f, "importance-draws:{distinct_percent}")
            }
            StreamSpec::Crawl { sites, pages } => write!(f, "crawl:{sites}:{pages}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_forms_round_trip() {
        for text in [
            "shuffle:60",
            "uniform:12.5",
            "zipf:1.1:1000",
            "drift:15:500",
            "poisson:0.3:1000",
            "bmodel:0.7:6:0.1:1000",
            "bmodel:0.5:32:1:1000",
            "burst:16.85:0.5:5",
            "importance-linear:30",
            "importance-draws:30",
            "importance-exponential:55.47",
            "crawl:3:20",
        ] {
            assert_eq!(text.parse::<StreamSpec>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn every_listed_form_is_parsed() {
        for (form, _) in STREAM_FORMS {
            let name = form.split(':').next().unwrap_or("");
            let parsed = name.parse::<StreamSpec>();
            assert!(
                !matches!(parsed, Err(StreamError::UnknownStream { .. })),
                "{form}"
            );
        }
    }

    #[test]
    fn errors_name_the_wrong_part() {
        let error = |text: &str| text.parse::<StreamSpec>().expect_err(text).to_string();
        assert!(
            error("suffle:6")
                .starts_with("there is no stream `suffle:6`; the streams are: shuffle:X")
        );
        assert!(error("shuffle").contains("above 0 and at most 100; found ``"));
        assert!(error("shuffle:0").contains("found `0`"));
        assert!(error("shuffle:nan").contains("found `nan`"));
        assert!(error("zipf:1").contains("whole number"));
        assert!(error("zipf:1:0").contains("found `0`"));
        assert!(error("shuffle:5:6").contains("there must be no further part; found `6`"));
        assert!(error("drift:5").contains("W, the number of newest keys"));
        assert!(error("drift:5:0").contains("found `0`"));
        assert!(error("poisson:1.5:9").contains("R, the share of arrivals"));
        assert!(error("poisson:0.5").contains("U, the mean"));
        assert!(error("bmodel:0.4:1:0.1:9").contains("B, the bias"));
        assert!(error("bmodel:0.7:33:0.1:9").contains("L, the number of halvings"));
        assert!(error("bmodel:0.7:x:0.1:9").contains("found `x`"));
        assert!(error("bmodel:0.7:1:0:9").contains("V, the share of arrivals"));
        // The paper's examples: v = 0.1 and b = 0.7 allow 6; v = 0.5 and b = 0.8 allow 1.
        assert!(error("bmodel:0.7:7:0.1:9").contains("V·(2B)^L ≤ 1; found `0.1`"));
        assert!(error("bmodel:0.8:2:0.5:9").contains("V·(2B)^L ≤ 1; found `0.5`"));
        assert!("bmodel:0.8:1:0.5:9".parse::<StreamSpec>().is_ok());
        assert!(error("burst:0:1:5").contains("X, the percentage"));
        assert!(error("burst:30").contains("R, the number of keys per second"));
        assert!(error("burst:30:0:5").contains("found `0`"));
        assert!(error("burst:30:1").contains("F, the factor in the middle third"));
        assert!(error("burst:30:1:-2").contains("found `-2`"));
        assert!(error("importance-linear:101").contains("found `101`"));
        assert!(error("importance:30").contains("there is no stream"));
        assert!(error("crawl:0").contains("sites and pages"));
    }
}
