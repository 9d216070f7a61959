//! Normalizes keys that have several spellings.

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
    /// `HTTP://Harbour.example:80/a/../b#c` becomes `http://harbour.example/b`. A key that is not
    /// an absolute URL is not changed.
    #[cfg(feature = "normalization")]
    Whatwg,
}

/// The error for a normalization that this program does not know.
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
    /// Every normalization that this build supports.
    pub const ALL: &'static [Normalization] = &[
        Normalization::None,
        #[cfg(feature = "normalization")]
        Normalization::Whatwg,
    ];

    /// Returns the name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Normalization::None => "none",
            #[cfg(feature = "normalization")]
            Normalization::Whatwg => "whatwg",
        }
    }

    /// Returns the text that a store records: the name, or an empty text for none.
    pub const fn recorded(self) -> &'static str {
        match self {
            Normalization::None => "",
            #[cfg(feature = "normalization")]
            Normalization::Whatwg => "whatwg",
        }
    }

    /// Returns the key to hash: either `key` itself or a text written to `normalized`.
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

    /// Parses a name, or the text that a store records.
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
    fn names_and_recorded_texts_are_parsed_back() {
        for &normalization in Normalization::ALL {
            assert_eq!(normalization.name().parse(), Ok(normalization));
            assert_eq!(normalization.recorded().parse(), Ok(normalization));
        }
        let error = "idna".parse::<Normalization>().expect_err("unknown");
        assert!(error.to_string().contains("none"), "{error}");
    }

    #[cfg(feature = "normalization")]
    #[test]
    fn spellings_of_a_url_become_one() {
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
