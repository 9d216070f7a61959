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

impl Metric {
    /// Returns the name with its unit.
    pub const fn name(self) -> &'static str {
        match self {
            Metric::Fpr => "FPR %",
            Metric::Fnr => "FNR %",
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

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
