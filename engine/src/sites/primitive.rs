//! In which order the bits of a key are tested and set.

use std::fmt;
use std::str::FromStr;

/// How the sites of a key are tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Testing {
    /// `parallel`: all sites at once; one round.
    #[default]
    Parallel,
    /// `pipelined`: one site after the other, until the verdict is known. Fewer messages, more
    /// rounds. Bits of a new key are often found clear at the first site, so new keys gain most; but
    /// they also pay for their sets.
    Pipelined,
}

/// How a key is tested and recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SitePrimitive {
    /// `test-then-set`: test all bits; if the key is New, set them with further messages.
    #[default]
    TestThenSet,
    /// `test-and-set`: one message per site tests and sets. The bits are set even if the rule for
    /// failed sites says Seen.
    TestAndSet,
    /// `claim`: test; if the key is New, claim it at the first of its sites that answers. Only the
    /// producer that gets the claim goes on, with test-and-set; the others are told Seen. So two
    /// producers are never both told New. It costs two messages per new key.
    ///
    /// Two producers that disagree about whether the first site has failed can hold a claim each.
    Claim,
}

/// The text is not a way of testing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a way of testing; expected parallel or pipelined")]
pub struct ParseTestingError(String);

/// The text is not a primitive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a primitive; expected test-then-set, test-and-set or claim")]
pub struct ParsePrimitiveError(String);

impl fmt::Display for Testing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Testing::Parallel => "parallel",
            Testing::Pipelined => "pipelined",
        })
    }
}

impl FromStr for Testing {
    type Err = ParseTestingError;

    fn from_str(text: &str) -> Result<Self, ParseTestingError> {
        match text {
            "parallel" => Ok(Testing::Parallel),
            "pipelined" => Ok(Testing::Pipelined),
            other => Err(ParseTestingError(other.to_owned())),
        }
    }
}

impl fmt::Display for SitePrimitive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            SitePrimitive::TestThenSet => "test-then-set",
            SitePrimitive::TestAndSet => "test-and-set",
            SitePrimitive::Claim => "claim",
        })
    }
}

impl FromStr for SitePrimitive {
    type Err = ParsePrimitiveError;

    fn from_str(text: &str) -> Result<Self, ParsePrimitiveError> {
        match text {
            "test-then-set" => Ok(SitePrimitive::TestThenSet),
            "test-and-set" => Ok(SitePrimitive::TestAndSet),
            "claim" => Ok(SitePrimitive::Claim),
            other => Err(ParsePrimitiveError(other.to_owned())),
        }
    }
}
