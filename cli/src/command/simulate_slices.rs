//! `dedupstore simulate --slices`: a Bloom filter on many sites.

use clap::Args;
use dedupstore::FilterSpec;
use dedupstore::filter::Value;
use dedupstore::lab::{Simulation, SliceSettings, SlicedSummary};
use dedupstore::sites::{FailureRule, SitePrimitive, Slicing, Testing};

use crate::error::Failure;
use crate::table::{grouped, percent, plural, render};
use crate::value_parsers;

/// The heading of these options in the help.
const HEADING: &str = "Many sites";

/// The options that divide a filter.
#[derive(Debug, Args)]
pub struct SliceArguments {
    /// Divide a Bloom filter among sites, and count messages; can be repeated. `horizontal:40`: a
    /// hash chooses one of 40 small filters; `vertical:40`: each site has a range of the bits;
    /// `diced:8x5`: 8 horizontal slices, each in 5 vertical ones; `diced:8x5,order=v-h`: the other
    /// way round; `general:40,k1=2`: two chosen slices with k/2 bits each
    #[arg(long = "slices", value_name = "SLICES", help_heading = HEADING, conflicts_with = "window")]
    slices: Vec<Slicing>,

    /// The number of sites that have failed; the seed chooses them
    #[arg(long, value_name = "N", help_heading = HEADING, default_value_t = 0, requires = "slices",
          value_parser = value_parsers::count)]
    failed: u64,

    /// What is decided if sites have failed; can be repeated. `seen`, `new`: missing bits count as
    /// set, or as clear; `live-zero:x=4`: seen if all live bits are set, at least 4 of them;
    /// `x-of-k:x=4`: seen if at least 4 live bits are set; `unknown`: say so [default: seen]
    #[arg(long = "rule", value_name = "RULE", help_heading = HEADING, requires = "slices")]
    rules: Vec<FailureRule>,

    /// How sites are tested: `parallel`, or `pipelined`, one after the other until the answer is
    /// known
    #[arg(long, value_name = "HOW", help_heading = HEADING, default_value_t = Testing::Parallel, requires = "slices")]
    testing: Testing,

    /// How a key is recorded: `test-then-set`, `test-and-set`, or `claim`, which lets only one of
    /// several producers be told New
    #[arg(long, value_name = "HOW", help_heading = HEADING, default_value_t = SitePrimitive::TestThenSet, requires = "slices")]
    primitive: SitePrimitive,
}

/// The JSON keys that other runs do not have, for the help.
pub const JSON_KEYS: &str = "With --slices, JSON and CSV have per observation: messages_test, \
     messages_set, messages_claim, unanswered (messages) and bits (size of tests and sets); and \
     slices, sites, failed, rule, testing, primitive, unknown (verdicts that are neither), fairness \
     (Jain, of tests per site) and hottest (the share of tests at the busiest site).";

impl SliceArguments {
    /// Whether a filter is divided.
    pub fn is_given(&self) -> bool {
        !self.slices.is_empty()
    }

    /// Adds the runs to a simulation.
    pub fn add_to(
        &self,
        simulation: &mut Simulation,
        filters: &[FilterSpec],
        memories_bits: &[u64],
    ) -> Result<(), Failure> {
        let default = [FailureRule::Seen];
        let rules = match &self.rules[..] {
            [] => &default,
            given => given,
        };
        for &memory_bits in memories_bits {
            for filter in filters {
                let k = bits_per_key(filter)?;
                for &slicing in &self.slices {
                    for &rule in rules {
                        check_rule(rule, k)?;
                        let settings = SliceSettings {
                            failed: self.failed_of(slicing)?,
                            rule,
                            testing: self.testing,
                            primitive: self.primitive,
                            ..SliceSettings::new(slicing, k, memory_bits)
                        };
                        simulation.add_sliced(settings).map_err(usage)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn failed_of(&self, slicing: Slicing) -> Result<u64, Failure> {
        match slicing.sites() {
            Some(sites) if self.failed > sites => Err(Failure::Usage(format!(
                "--failed {}: {slicing} has only {}",
                self.failed,
                plural(sites, "site")
            ))),
            _ => Ok(self.failed),
        }
    }
}

/// With x above k, every key would be New.
fn check_rule(rule: FailureRule, k: u32) -> Result<(), Failure> {
    match rule {
        FailureRule::XOfK { x } | FailureRule::LiveZero { x } if x > k => Err(Failure::Usage(
            format!("--rule {rule}: a key has only k = {k} bits; x must be 0 to {k}"),
        )),
        _ => Ok(()),
    }
}

fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("--slices: {error}"))
}

/// Returns k of a Bloom filter.
fn bits_per_key(filter: &FilterSpec) -> Result<u32, Failure> {
    let refused = || {
        Failure::Usage(format!(
            "--filter {filter}: only a Bloom filter whose bits are shared can be divided; use for \
             example --filter bloom:k=4"
        ))
    };
    let is_bloom = filter.descriptor().name == "bloom";
    let is_shared = |value| value == Value::Choice("shared");
    let mut k = None;
    for (parameter, value) in filter.values().filter(|_| is_bloom) {
        match (parameter.name, value) {
            ("k", Value::Integer(bits)) => k = u32::try_from(bits).ok(),
            ("layout", layout) if !is_shared(layout) => return Err(refused()),
            _ => {}
        }
    }
    k.ok_or_else(refused)
}

/// The header of a column, whether it is shown, and its cells.
type Column<'a> = (&'a str, bool, &'a dyn Fn(&SlicedSummary) -> String);

pub fn as_table(runs: &[SlicedSummary]) -> String {
    let Some(first) = runs.first() else {
        return String::new();
    };
    let has_failed = runs.iter().any(|run| run.failed > 0);
    let has_unknown = runs.iter().any(|run| run.unknown > 0);
    let has_claims = runs.iter().any(|run| run.messages_claim > Some(0.0));
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |it| format!("{it:.3}"));
    let columns: &[Column<'_>] = &[
        ("slices", true, &|run| run.slices.clone()),
        ("filter", true, &|run| run.filter.clone()),
        ("memory", true, &|run| {
            value_parsers::show_bits(run.memory_bits)
        }),
        ("rule", has_failed, &|run| run.rule.clone()),
        ("FPR", true, &|run| percent(run.fpr)),
        ("theory", true, &|run| predicted(run.predicted_fpr)),
        ("FNR", true, &|run| percent(run.fnr)),
        ("theory", true, &|run| predicted(run.predicted_fnr)),
        ("unknown", has_unknown, &|run| grouped(run.unknown)),
        ("tests/key", true, &|run| number(run.messages_test)),
        ("sets/key", true, &|run| number(run.messages_set)),
        ("claims/key", has_claims, &|run| number(run.messages_claim)),
        ("bits/key", true, &|run| {
            run.bits.map_or("–".to_owned(), |it| format!("{it:.1}"))
        }),
        ("fairness", true, &|run| number(run.fairness)),
        ("hottest", true, &|run| percent(run.hottest)),
    ];
    let columns: Vec<_> = columns
        .iter()
        .filter(|(_, is_shown, _)| *is_shown)
        .collect();
    let header: Vec<&str> = columns.iter().map(|(name, ..)| *name).collect();
    let cells = |run| columns.iter().map(|(_, _, cell)| cell(run)).collect();
    let rows: Vec<Vec<String>> = runs.iter().map(cells).collect();
    let failed = match first.failed {
        0 => String::new(),
        failed => format!("; {} failed", plural(failed, "site")),
    };
    format!(
        "{}: {}, {} distinct, {}{failed}; {} tests, {}\n\n{}",
        first.stream,
        plural(first.count, "key"),
        grouped(first.distinct),
        plural(first.repeats, "repeat"),
        first.testing,
        first.primitive,
        render(&header, &rows),
    )
}

/// A prediction is not a count, so a tiny one is shown as zero.
pub fn predicted(share: Option<f64>) -> String {
    match share {
        Some(share) if share < 1e-6 => "0 %".to_owned(),
        share => percent(share),
    }
}
