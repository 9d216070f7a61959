//! The ways to normalize keys, by name.

use std::fmt;
use std::str::FromStr;

/// How a key is changed before it is hashed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Normalization {
    /// The key is not changed.
    #[default]
    None,
    /// A URL is parsed and written as the WHATWG URL standard prescribes, without its fragment:
    /// `HTTP://Harbour.example:80/a/../b#c` becomes `http://harbour.example/b`. Bytes that are
    /// not UTF-8 are percent-encoded. A key that is not an absolute URL is not changed.
    #[cfg(feature = "normalization")]
    Whatwg,
    /// As [`Whatwg`](Normalization::Whatwg); besides, an `http` or `https` URL loses the
    /// parameters that do not select a page ([`CRAWL_DROPPED`](super::CRAWL_DROPPED)), and its
    /// other parameters are sorted by name.
    #[cfg(feature = "normalization")]
    Crawl,
}

/// The error for a normalization that this program does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {}; found `{found}`", names())]
pub struct UnknownNormalization {
    found: String,
}

fn names() -> String {
    let names: Vec<&str> = Normalization::ALL.iter().map(|it| it.name()).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

impl Normalization {
    /// Every normalization that this build supports.
    pub const ALL: &'static [Normalization] = &[
        Normalization::None,
        #[cfg(feature = "normalization")]
        Normalization::Whatwg,
        #[cfg(feature = "normalization")]
        Normalization::Crawl,
    ];

    /// Returns the name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Normalization::None => "none",
            #[cfg(feature = "normalization")]
            Normalization::Whatwg => "whatwg",
            #[cfg(feature = "normalization")]
            Normalization::Crawl => "crawl",
        }
    }

    /// Returns whether query parameters are dropped.
    pub const fn drops_parameters(self) -> bool {
        match self {
            #[cfg(feature = "normalization")]
            Normalization::Crawl => true,
            _ => false,
        }
    }
}

impl FromStr for Normalization {
    type Err = UnknownNormalization;

    fn from_str(text: &str) -> Result<Self, UnknownNormalization> {
        match Normalization::ALL.iter().find(|it| it.name() == text) {
            Some(normalization) => Ok(*normalization),
            None => Err(UnknownNormalization {
                found: text.to_owned(),
            }),
        }
    }
}

impl fmt::Display for Normalization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_back() {
        for &normalization in Normalization::ALL {
            assert_eq!(normalization.name().parse(), Ok(normalization));
        }
        let error = "idna".parse::<Normalization>().expect_err("unknown");
        assert!(error.to_string().contains("expected none"), "{error}");
    }
}
