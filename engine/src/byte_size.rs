//! Sizes in bytes, as numbers or as text such as `64MiB`.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use crate::quantity::quantity;

/// A size in bytes.
///
/// Every method that takes a size accepts a number of bytes or a text. `K`, `M`, `G` and `T`
/// alone are powers of 1024, as in `sort -S`.
///
/// ```
/// use dedupstore::ByteSize;
///
/// let size: ByteSize = "64MiB".parse()?;
/// assert_eq!(size.bytes(), 64 << 20);
/// assert_eq!(size, ByteSize::from(67_108_864_u64));
/// assert_eq!("2GB".parse::<ByteSize>()?.bytes(), 2_000_000_000);
/// assert_eq!(ByteSize::from_bytes(1536).to_string(), "1536B");
/// assert_eq!(ByteSize::from_bytes(3 << 19).to_string(), "1536KiB");
/// # Ok::<(), dedupstore::ByteSizeError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(u64);

impl ByteSize {
    /// Creates a size from a number of bytes.
    pub const fn from_bytes(bytes: u64) -> Self {
        ByteSize(bytes)
    }

    /// Returns the number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// Returns the number of bits; `u64::MAX` if it does not fit.
    pub const fn bits(self) -> u64 {
        self.0.saturating_mul(8)
    }
}

/// A number or a text that is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ByteSizeError {
    /// The text is not a number with an optional unit, or it is larger than any memory.
    #[error("expected a size like 64MiB, 2GB or 65536; found `{text}`")]
    Malformed {
        /// The text.
        text: String,
    },
    /// The number is below zero.
    #[error("a size cannot be negative; found {found}")]
    Negative {
        /// The number.
        found: i64,
    },
}

impl From<Infallible> for ByteSizeError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl From<u64> for ByteSize {
    fn from(bytes: u64) -> Self {
        ByteSize(bytes)
    }
}

impl From<u32> for ByteSize {
    fn from(bytes: u32) -> Self {
        ByteSize(bytes.into())
    }
}

impl From<usize> for ByteSize {
    fn from(bytes: usize) -> Self {
        ByteSize(bytes as u64)
    }
}

/// The type of a plain integer literal.
impl TryFrom<i32> for ByteSize {
    type Error = ByteSizeError;

    fn try_from(bytes: i32) -> Result<Self, ByteSizeError> {
        let size = u64::try_from(bytes).map(ByteSize);
        size.map_err(|_| ByteSizeError::Negative {
            found: bytes.into(),
        })
    }
}

impl TryFrom<&str> for ByteSize {
    type Error = ByteSizeError;

    fn try_from(text: &str) -> Result<Self, ByteSizeError> {
        text.parse()
    }
}

impl FromStr for ByteSize {
    type Err = ByteSizeError;

    fn from_str(text: &str) -> Result<Self, ByteSizeError> {
        let factor_of = |unit: &str| match unit.to_ascii_lowercase().as_str() {
            "" | "b" => Some(1),
            "kb" => Some(1000),
            "mb" => Some(1000u64.pow(2)),
            "gb" => Some(1000u64.pow(3)),
            "tb" => Some(1000u64.pow(4)),
            "k" | "kib" => Some(1 << 10),
            "m" | "mib" => Some(1 << 20),
            "g" | "gib" => Some(1 << 30),
            "t" | "tib" => Some(1 << 40),
            _ => None,
        };
        quantity(text, factor_of)
            .map(ByteSize)
            .ok_or_else(|| ByteSizeError::Malformed {
                text: text.to_owned(),
            })
    }
}

/// The largest binary unit that divides the size, so that the text is exact and parses back.
impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["B", "KiB", "MiB", "GiB", "TiB"];
        let power = (self.0.trailing_zeros() / 10).min(4);
        let power = if self.0 == 0 { 0 } else { power };
        write!(f, "{}{}", self.0 >> (10 * power), units[power as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse_with_and_without_units() {
        for (text, bytes) in [
            ("65536", 65_536),
            ("64MiB", 64 << 20),
            ("64mib", 64 << 20),
            ("64M", 64 << 20),
            ("2GB", 2_000_000_000),
            ("1.5KiB", 1536),
            ("1e6", 1_000_000),
            ("10 MB", 10_000_000),
            ("0", 0),
        ] {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
        }
    }

    #[test]
    fn a_text_that_is_no_size_is_an_error_that_names_it() {
        for text in [
            "",
            "MiB",
            "-1",
            "64XB",
            "1e",
            "nan",
            "99999999999999999999",
            "1e30",
        ] {
            let error = text.parse::<ByteSize>().expect_err(text).to_string();
            assert!(error.ends_with(&format!("found `{text}`")), "{error}");
        }
    }

    #[test]
    fn the_text_of_a_size_is_exact_and_parses_back() {
        for (bytes, text) in [
            (0, "0B"),
            (1, "1B"),
            (1 << 10, "1KiB"),
            (64 << 20, "64MiB"),
            (3 << 29, "1536MiB"),
            (1 << 50, "1024TiB"),
            (u64::MAX, "18446744073709551615B"),
        ] {
            assert_eq!(ByteSize(bytes).to_string(), text);
            assert_eq!(text.parse(), Ok(ByteSize(bytes)));
        }
    }

    #[test]
    fn a_negative_number_is_an_error() {
        assert_eq!(ByteSize::try_from(4096), Ok(ByteSize(4096)));
        let error = ByteSize::try_from(-1_i32).expect_err("negative");
        assert_eq!(error.to_string(), "a size cannot be negative; found -1");
    }
}
