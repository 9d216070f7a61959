//! What is decided about a key if some of its sites have failed.

use std::fmt;
use std::str::FromStr;

/// The answer of a filter on many sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SiteVerdict {
    /// The key has not occurred before, as far as the sites can tell.
    New,
    /// The key has occurred before, as far as the sites can tell.
    Seen,
    /// All answers agree with a repeat, but sites are missing that could say otherwise. The caller
    /// decides. All bits that could be set are set, so nothing is recorded for the key.
    Unknown,
}

impl SiteVerdict {
    /// Returns true for [`SiteVerdict::New`].
    pub const fn is_new(self) -> bool {
        matches!(self, SiteVerdict::New)
    }

    /// Returns true for [`SiteVerdict::Seen`].
    pub const fn is_seen(self) -> bool {
        matches!(self, SiteVerdict::Seen)
    }

    const fn seen_if(seen: bool) -> Self {
        match seen {
            true => SiteVerdict::Seen,
            false => SiteVerdict::New,
        }
    }
}

/// What is known about the k bits of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Bits that are set, at sites that answer.
    pub set: u32,
    /// Bits that are clear, at sites that answer.
    pub clear: u32,
    /// Bits at failed sites.
    pub failed: u32,
}

impl Tally {
    /// Counts a bit at a site that answers.
    pub fn count(&mut self, is_set: bool) {
        match is_set {
            true => self.set += 1,
            false => self.clear += 1,
        }
    }
}

/// What is decided about a key if some of its sites have failed. Without failed sites all rules
/// agree, except [`XOfK`](FailureRule::XOfK).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureRule {
    /// `seen`: bits at failed sites count as set. No false negatives, more false positives.
    /// The paper's Eq. 5 to 7.
    Seen,
    /// `new`: bits at failed sites count as clear. No more false positives, but false negatives.
    New,
    /// `x-of-k:x=N`: Seen if at least x bits are set at live sites; clear bits are ignored. The
    /// paper's heuristic as printed. With x below k it drops many new keys, even if no site has
    /// failed.
    XOfK {
        /// The number of set bits.
        x: u32,
    },
    /// `live-zero:x=N`: Seen if every bit at a live site is set, and at least x bits are live. It
    /// misses as many repeats as `x-of-k` and never drops more new keys: one live bit that is clear
    /// proves that a key is new. With x = 0 it is [`Seen`](FailureRule::Seen), with x = k it is
    /// [`New`](FailureRule::New).
    LiveZero {
        /// The number of live bits.
        x: u32,
    },
    /// `unknown`: New if a live bit is clear, Seen if all k bits are live and set, otherwise
    /// [`SiteVerdict::Unknown`].
    Unknown,
}

impl FailureRule {
    /// Decides about a key.
    pub fn decide(self, tally: Tally) -> SiteVerdict {
        let Tally { set, clear, failed } = tally;
        match self {
            FailureRule::Seen => SiteVerdict::seen_if(clear == 0),
            FailureRule::New => SiteVerdict::seen_if(clear + failed == 0),
            FailureRule::XOfK { x } => SiteVerdict::seen_if(set >= x),
            FailureRule::LiveZero { x } => SiteVerdict::seen_if(clear == 0 && set >= x),
            FailureRule::Unknown => match (clear, failed) {
                (0, 0) => SiteVerdict::Seen,
                (0, _) => SiteVerdict::Unknown,
                _ => SiteVerdict::New,
            },
        }
    }

    /// Returns the verdict if it does not depend on the bits that have not been asked for yet. This
    /// is when a pipelined test ends.
    pub fn decide_early(self, tally: Tally, missing: u32) -> Option<SiteVerdict> {
        // Each rule is monotone in each count, so the extremes suffice.
        let verdict = self.decide(Tally {
            set: tally.set + missing,
            ..tally
        });
        let others = [
            Tally {
                clear: tally.clear + missing,
                ..tally
            },
            Tally {
                failed: tally.failed + missing,
                ..tally
            },
        ];
        let is_same = |tally: Tally| self.decide(tally) == verdict;
        others.into_iter().all(is_same).then_some(verdict)
    }
}

impl fmt::Display for FailureRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailureRule::Seen => formatter.write_str("seen"),
            FailureRule::New => formatter.write_str("new"),
            FailureRule::XOfK { x } => write!(formatter, "x-of-k:x={x}"),
            FailureRule::LiveZero { x } => write!(formatter, "live-zero:x={x}"),
            FailureRule::Unknown => formatter.write_str("unknown"),
        }
    }
}

/// The text is not a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{found}` is not a rule for failed sites; the rules are: seen, new, x-of-k:x=N, live-zero:x=N, unknown"
)]
pub struct FailureRuleError {
    found: String,
}

impl FromStr for FailureRule {
    type Err = FailureRuleError;

    fn from_str(text: &str) -> Result<Self, FailureRuleError> {
        let x = |value: &str| value.parse::<u32>().ok();
        let parsed = match text.split_once(":x=") {
            None => match text {
                "seen" => Some(FailureRule::Seen),
                "new" => Some(FailureRule::New),
                "unknown" => Some(FailureRule::Unknown),
                _ => None,
            },
            Some(("x-of-k", value)) => x(value).map(|x| FailureRule::XOfK { x }),
            Some(("live-zero", value)) => x(value).map(|x| FailureRule::LiveZero { x }),
            Some(_) => None,
        };
        parsed.ok_or_else(|| FailureRuleError {
            found: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const K: u32 = 6;

    fn rules() -> Vec<FailureRule> {
        let with_x = (0..=K).flat_map(|x| [FailureRule::XOfK { x }, FailureRule::LiveZero { x }]);
        let plain = [FailureRule::Seen, FailureRule::New, FailureRule::Unknown];
        with_x.chain(plain).collect()
    }

    /// All ways in which `total` bits can be set, clear or failed.
    fn tallies(total: u32) -> impl Iterator<Item = Tally> {
        (0..=total).flat_map(move |set| {
            (0..=total - set).map(move |clear| Tally {
                set,
                clear,
                failed: total - set - clear,
            })
        })
    }

    #[test]
    fn live_zero_lies_between_seen_and_new_and_never_drops_more_than_x_of_k() {
        for tally in tallies(K) {
            let decide = |rule: FailureRule| rule.decide(tally);
            assert_eq!(
                decide(FailureRule::LiveZero { x: 0 }),
                decide(FailureRule::Seen)
            );
            assert_eq!(
                decide(FailureRule::LiveZero { x: K }),
                decide(FailureRule::New)
            );
            for x in 0..=K {
                let ours = decide(FailureRule::LiveZero { x });
                let printed = decide(FailureRule::XOfK { x });
                assert!(ours.is_new() || printed.is_seen(), "{tally:?}, x = {x}");
                // The bits of a repeat are set wherever they are live.
                if tally.clear == 0 {
                    assert_eq!(ours, printed, "the same false negatives");
                }
            }
        }
    }

    #[test]
    fn a_test_ends_early_exactly_if_no_missing_bit_can_change_the_verdict() {
        for rule in rules() {
            for (asked, tally) in (0..=K).flat_map(|it| tallies(it).map(move |tally| (it, tally))) {
                let mut verdicts: Vec<SiteVerdict> = tallies(K - asked)
                    .map(|rest| {
                        rule.decide(Tally {
                            set: tally.set + rest.set,
                            clear: tally.clear + rest.clear,
                            failed: tally.failed + rest.failed,
                        })
                    })
                    .collect();
                verdicts.dedup();
                let expected = match verdicts[..] {
                    [verdict] => Some(verdict),
                    _ => None,
                };
                let found = rule.decide_early(tally, K - asked);
                assert_eq!(found, expected, "{rule}, {tally:?}");
            }
        }
    }

    #[test]
    fn unknown_is_said_only_if_failed_sites_could_decide() {
        for tally in tallies(K) {
            let verdict = FailureRule::Unknown.decide(tally);
            let unknown = tally.clear == 0 && tally.failed > 0;
            assert_eq!(verdict == SiteVerdict::Unknown, unknown, "{tally:?}");
        }
    }

    #[test]
    fn a_rule_has_one_text_form() {
        for rule in rules() {
            assert_eq!(rule.to_string().parse(), Ok(rule));
        }
        for wrong in ["", "live-zero", "live-zero:x=", "seen:x=1", "x-of-k:x=-1"] {
            let error = wrong.parse::<FailureRule>().expect_err(wrong);
            assert!(error.to_string().contains("live-zero:x=N"), "{error}");
        }
    }
}
