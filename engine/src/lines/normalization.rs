//! Keys that are spelled in several ways and mean one thing.

use std::fmt;
use std::str::FromStr;

/// How a key is changed before it is hashed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Normalization {
    /// Not at all: keys are bytes.
    #[default]
    None,
    /// A URL as the WHATWG's standard parses and writes it, without its fragment:
    /// `HTTP://Harbour.example:80/a/../b#c` is `http://harbour.example/b`. What is no absolute
    /// URL stays as it is.
    #[cfg(feature = "normalization")]
    Whatwg,
}

/// A normalization that this program does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {}; found `{found}`", names().join(" or "))]
pub struct UnknownNormalization {
    found: String,
}

fn names() -> Vec<&'static str> {
    Normalization::ALL
        .iter()
        .map(|normalization| normalization.name())
        .collect()
}

impl Normalization {
    /// Every one that this program knows.
    pub const ALL: &'static [Normalization] = &[
        Normalization::None,
        #[cfg(feature = "normalization")]
        Normalization::Whatwg,
    ];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Normalization::None => "none",
            #[cfg(feature = "normalization")]
            Normalization::Whatwg => "whatwg",
        }
    }

    /// What a store records: its name, or nothing.
    pub const fn recorded(self) -> &'static str {
        match self {
            Normalization::None => "",
            #[cfg(feature = "normalization")]
            Normalization::Whatwg => "whatwg",
        }
    }

    /// The key to hash. Where it differs from the key given, it is in `normalized`.
    #[inline]
    #[cfg_attr(
        not(feature = "normalization"),
        allow(unused_variables, clippy::ptr_arg)
    )]
    pub fn apply<'a>(self, key: &'a [u8], normalized: &'a mut Vec<u8>) -> &'a [u8] {
        match self {
            Normalization::None => key,
            #[cfg(feature = "normalization")]
            Normalization::Whatwg => match whatwg(key, normalized) {
                Some(()) => normalized,
                None => key,
            },
        }
    }
}

#[cfg(feature = "normalization")]
fn whatwg(key: &[u8], normalized: &mut Vec<u8>) -> Option<()> {
    let mut url = url::Url::parse(std::str::from_utf8(key).ok()?).ok()?;
    url.set_fragment(None);
    normalized.clear();
    normalized.extend_from_slice(url.as_str().as_bytes());
    Some(())
}

impl FromStr for Normalization {
    type Err = UnknownNormalization;

    /// By its name, or as a store records it.
    fn from_str(text: &str) -> Result<Self, UnknownNormalization> {
        let known = |normalization: &&Normalization| {
            normalization.name() == text || normalization.recorded() == text
        };
        match Normalization::ALL.iter().find(known) {
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
    fn names_and_records_are_read_back() {
        for &normalization in Normalization::ALL {
            assert_eq!(normalization.name().parse(), Ok(normalization));
            assert_eq!(normalization.recorded().parse(), Ok(normalization));
        }
        let error = "idna".parse::<Normalization>().expect_err("unknown");
        assert!(error.to_string().contains("none"), "{error}");
    }

    #[cfg(feature = "normalization")]
    #[test]
    fn urls_in_one_spelling() {
        for (key, expected) in [
            (
                "HTTP://Harbour.example:80/a/../b#c",
                "http://harbour.example/b",
            ),
            ("https://harbour.example", "https://harbour.example/"),
            (
                "https://harbour.example/%7ea?b=c d",
                "https://harbour.example/%7ea?b=c%20d",
            ),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            (" https://harbour.example/ ", "https://harbour.example/"),
            (
                "https://harbour.example/?b&a",
                "https://harbour.example/?b&a",
            ),
            ("/relative", "/relative"),
            ("no url", "no url"),
            ("", ""),
        ] {
            let mut normalized = Vec::new();
            let key = Normalization::Whatwg.apply(key.as_bytes(), &mut normalized);
            assert_eq!(String::from_utf8_lossy(key), expected);
        }
        let mut normalized = Vec::new();
        let bytes = b"http://a/\xff";
        assert_eq!(Normalization::Whatwg.apply(bytes, &mut normalized), bytes);
    }
}
