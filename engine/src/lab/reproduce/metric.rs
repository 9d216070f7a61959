//! What a cell of a table measures.

use serde::{Serialize, Serializer};

use super::SiteMetric;

/// The quantity in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// False positive rate: first occurrences reported Seen ÷ first occurrences. In a window, every
    /// occurrence counts as a first one if the filter has not delivered the key within the span.
    Fpr,
    /// False negative rate: repeats reported New ÷ repeats.
    Fnr,
    /// The false positive rate up to a point of the stream.
    FprUntil {
        /// The point, in tenths of the stream.
        tenths: usize,
    },
    /// The false negative rate up to a point of the stream.
    FnrUntil {
        /// The point, in tenths of the stream.
        tenths: usize,
    },
    /// The share of the cells that are in use at a point of the stream.
    LoadAt {
        /// The point, in tenths of the stream.
        tenths: usize,
    },
    /// The share of the cells that are 0 at a point of the stream.
    ZerosAt {
        /// The point, in tenths of the stream.
        tenths: usize,
    },
    /// The false negative rate minus that of the other filter of
    /// [`Contender::Versus`](super::Contender::Versus), in points.
    FnrDifference,
    /// The false negative rate of FPBuffering with the filter's false positive rate, where the other
    /// filter of [`Contender::Versus`](super::Contender::Versus) is a buffer.
    DrawnFnr,
    /// The same minus the false negative rate of the filter, in points.
    Advantage,
    /// The lowest result of a search.
    LowestFound(Quantity),
    /// The highest result of a search.
    HighestFound(Quantity),
    /// Repeats reported Seen ÷ observations reported Seen, among those for which this many of the
    /// key's timers were equal.
    TrueDuplicates {
        /// The number of equal timers.
        equal: usize,
    },
    /// A quantity that only a filter on many sites has.
    Sites(SiteMetric),
    /// Observations reported Seen because of a hit at this level of a tree ÷ observations.
    Hits {
        /// The level; 0 is the root.
        level: usize,
    },
    /// Accesses to the nodes of this level of a tree ÷ observations. More than 100 % if nodes are
    /// accessed twice, to test and to set.
    Accesses {
        /// The level; 0 is the root.
        level: usize,
    },
    /// The importance of first occurrences reported Seen ÷ the importance of all observations.
    Wfp,
    /// The importance of repeats reported New ÷ the importance of all observations.
    Wfn,
    /// First occurrences reported Seen ÷ observations.
    FalsePositives,
    /// Repeats reported New ÷ observations.
    FalseNegatives,
    /// The same among observations of importance 1 to 5.
    LowFalseNegatives,
    /// The same among observations of importance 46 to 50.
    HighFalseNegatives,
    /// The importance from which on the filter misses fewer repeats than the other filter of
    /// [`Contender::Compared`](super::Contender::Compared). No value if there is none.
    Crossover,
    /// The mean number of cells at zero in the second half of the stream.
    EmptyCells,
    /// The mean number of parts of a growing filter in a third of the stream.
    Filters {
        /// The third, from 0 on.
        third: usize,
    },
    /// How often the number of parts changed in a third of the stream, per thousand observations.
    FilterChanges {
        /// The third, from 0 on.
        third: usize,
    },
    /// The false positive rate in a third of the stream.
    FprInThird {
        /// The third, from 0 on.
        third: usize,
    },
}

/// An error rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// The false positive rate.
    Fpr,
    /// The false negative rate.
    Fnr,
}

/// What a search looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The least memory that keeps an error rate.
    Megabytes,
    /// The best number of hash functions.
    K,
    /// An advantage over FPBuffering.
    Advantage,
}

impl Metric {
    /// Returns the name with its unit.
    pub const fn name(self) -> &'static str {
        match self {
            Metric::Fpr | Metric::FprUntil { .. } => "FPR %",
            Metric::Fnr | Metric::FnrUntil { .. } | Metric::DrawnFnr => "FNR %",
            Metric::LoadAt { .. } => "load %",
            Metric::ZerosAt { .. } => "zeros %",
            Metric::FnrDifference => "FNR difference, points",
            Metric::Advantage => "FNR advantage, points",
            Metric::LowestFound(Quantity::Megabytes)
            | Metric::HighestFound(Quantity::Megabytes) => "megabytes",
            Metric::LowestFound(Quantity::K) => "lowest best K",
            Metric::HighestFound(Quantity::K) => "highest best K",
            Metric::LowestFound(Quantity::Advantage) => "lowest advantage, points",
            Metric::HighestFound(Quantity::Advantage) => "highest advantage, points",
            Metric::TrueDuplicates { .. } => "true duplicates %",
            Metric::Sites(metric) => metric.name(),
            Metric::Hits { .. } => "hits %",
            Metric::Accesses { .. } => "accesses %",
            Metric::Wfp => "weighted FP %",
            Metric::Wfn => "weighted FN %",
            Metric::FalsePositives => "FP % of all",
            Metric::FalseNegatives => "FN % of all",
            Metric::LowFalseNegatives => "FN % of importance 1–5",
            Metric::HighFalseNegatives => "FN % of importance 46–50",
            Metric::Crossover => "crossover point",
            Metric::EmptyCells => "empty cells",
            Metric::Filters { .. } => "filters",
            Metric::FilterChanges { .. } => "changes per 1,000",
            Metric::FprInThird { .. } => "FPR %",
        }
    }
}

impl Metric {
    /// Returns whether the value is a percentage, or a difference of percentages.
    pub fn is_in_points(self) -> bool {
        let name = self.name();
        name.contains('%') || name.ends_with("points")
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
