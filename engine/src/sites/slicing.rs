//! How a Bloom filter is divided among sites, in its text form.

use std::fmt;
use std::str::FromStr;

/// How the bits of a Bloom filter are divided among sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Slicing {
    /// `horizontal:S`: each site is a small Bloom filter, and a hash of the key chooses one of them.
    /// One message per key; a failed site leaves nothing of its keys.
    Horizontal {
        /// The number of sites.
        slices: u64,
    },
    /// `vertical:S`: each site has a range of the bits of one Bloom filter. Verdicts are those of the
    /// undivided filter. Up to k messages per key.
    Vertical {
        /// The number of sites.
        slices: u64,
    },
    /// `diced:AxB` or `diced:AxB,order=v-h`: both at once, on A·B sites.
    Diced {
        /// The number of slices of the outer division.
        slices: u64,
        /// The number of parts of each slice.
        parts: u64,
        /// Which division is the outer one.
        order: DicedOrder,
    },
    /// `general:S,k1=N`: N hash functions choose slices, and k/N functions choose bits in each of
    /// them. With N = k these are vertical slices, with N = 1 horizontal ones.
    General {
        /// The number of sites.
        slices: u64,
        /// The number of slices chosen for each key.
        chosen: u32,
    },
}

/// The order of the two divisions of a diced filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DicedOrder {
    /// `h-v`: horizontal slices, each of which is divided vertically.
    HorizontalFirst,
    /// `v-h`: vertical slices, each of which is divided horizontally. One hash of the key chooses
    /// the same part of all slices. This is `h-v` with the two numbers exchanged.
    VerticalFirst,
}

impl Slicing {
    /// Returns the undivided filter: one site.
    pub const fn single() -> Self {
        Slicing::Horizontal { slices: 1 }
    }

    /// Returns the number of sites; None if it does not fit into 64 bits.
    pub fn sites(self) -> Option<u64> {
        match self {
            Slicing::Horizontal { slices }
            | Slicing::Vertical { slices }
            | Slicing::General { slices, .. } => Some(slices),
            Slicing::Diced { slices, parts, .. } => slices.checked_mul(parts),
        }
    }
}

impl fmt::Display for Slicing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Slicing::Horizontal { slices } => write!(formatter, "horizontal:{slices}"),
            Slicing::Vertical { slices } => write!(formatter, "vertical:{slices}"),
            Slicing::Diced {
                slices,
                parts,
                order,
            } => {
                write!(formatter, "diced:{slices}x{parts}")?;
                match order {
                    DicedOrder::HorizontalFirst => Ok(()),
                    DicedOrder::VerticalFirst => formatter.write_str(",order=v-h"),
                }
            }
            Slicing::General { slices, chosen } => {
                write!(formatter, "general:{slices},k1={chosen}")
            }
        }
    }
}

/// Why a filter cannot be divided in this way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SlicingError {
    /// The text is not a division.
    #[error(
        "`{found}` does not divide a filter; expected horizontal:S, vertical:S, diced:AxB, \
         diced:AxB,order=v-h or general:S,k1=N, for example vertical:40 or diced:8x5"
    )]
    Text {
        /// The given text.
        found: String,
    },
    /// There are no sites, or too many.
    #[error("{slicing} has {found} sites; there must be 1 to {most}, at most one per bit")]
    Sites {
        /// The division.
        slicing: Slicing,
        /// The number of sites.
        found: u64,
        /// The largest number of sites.
        most: u64,
    },
    /// k is not a multiple of the number of chosen slices.
    #[error(
        "{slicing}: k1 must divide k = {k}, so that each chosen slice has the same number of bits of a key"
    )]
    Functions {
        /// The division.
        slicing: Slicing,
        /// The number of bits per key.
        k: u32,
    },
    /// k is zero or too large.
    #[error("a key has 1 to {most} bits; found k = {k}")]
    BitsPerKey {
        /// The number of bits per key.
        k: u32,
        /// The largest number.
        most: u32,
    },
    /// The sites do not have the number or size that the division requires.
    #[error("the sites do not fit: {0}")]
    Group(String),
}

impl FromStr for Slicing {
    type Err = SlicingError;

    fn from_str(text: &str) -> Result<Self, SlicingError> {
        parse(text).ok_or_else(|| SlicingError::Text {
            found: text.to_owned(),
        })
    }
}

fn parse(text: &str) -> Option<Slicing> {
    let (kind, rest) = text.split_once(':')?;
    let (size, option) = match rest.split_once(',') {
        Some((size, option)) => (size, Some(option.split_once('=')?)),
        None => (rest, None),
    };
    let slices = || size.parse().ok();
    Some(match (kind, option) {
        ("horizontal", None) => Slicing::Horizontal { slices: slices()? },
        ("vertical", None) => Slicing::Vertical { slices: slices()? },
        ("general", Some(("k1", chosen))) => Slicing::General {
            slices: slices()?,
            chosen: chosen.parse().ok()?,
        },
        ("diced", option) => {
            let (outer, inner) = size.split_once('x')?;
            Slicing::Diced {
                slices: outer.parse().ok()?,
                parts: inner.parse().ok()?,
                order: match option {
                    None | Some(("order", "h-v")) => DicedOrder::HorizontalFirst,
                    Some(("order", "v-h")) => DicedOrder::VerticalFirst,
                    Some(_) => return None,
                },
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slicing_has_one_text_form() {
        for text in [
            "horizontal:40",
            "vertical:1000",
            "diced:8x5",
            "diced:8x5,order=v-h",
            "general:40,k1=2",
        ] {
            let slicing: Slicing = text.parse().expect(text);
            assert_eq!(slicing.to_string(), text);
        }
        assert_eq!(
            "diced:8x5,order=h-v".parse::<Slicing>(),
            "diced:8x5".parse()
        );
        for wrong in [
            "",
            "vertical",
            "vertical:",
            "vertical:-1",
            "vertical:4,k1=2",
            "diced:8",
            "diced:8x5,order=v",
            "general:40",
            "sliced:4",
        ] {
            let error = wrong.parse::<Slicing>().expect_err(wrong);
            assert!(error.to_string().contains("diced:AxB"), "{error}");
        }
    }
}
