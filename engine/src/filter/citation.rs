//! Published sources, and the papers from which several filters come.

use serde::Serialize;

/// A published source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// The authors.
    pub authors: &'static str,
    /// The title.
    pub title: &'static str,
    /// The year of publication.
    pub year: u16,
}

impl Citation {
    /// The paper on stable Bloom filters and buffering.
    pub(super) const DENG_2006: Citation = Citation {
        authors: "F. Deng, D. Rafiei",
        title: "Approximately Detecting Duplicates for Streaming Data using Stable Bloom Filters",
        year: 2006,
    };

    /// The paper on importance-aware Bloom filters.
    pub(crate) const BORASKAR_2010: Citation = Citation {
        authors: "R. Boraskar",
        title: "An Importance-Aware Bloom Filter for Set Membership Queries in Streaming Data",
        year: 2010,
    };

    /// The paper on slices, windows, growth and trees of Bloom filters.
    pub(crate) const KOLONIARI_2011: Citation = Citation {
        authors: "G. Koloniari, N. Ntarmos, E. Pitoura, D. Souravlias",
        title: "One is Enough: Distributed Filtering for Duplicate Elimination",
        year: 2011,
    };

    /// The paper on RSBF, BSBF, BSBFSD and RLBSBF.
    pub(super) const BERA_2012: Citation = Citation {
        authors: "S. K. Bera, S. Dutta, A. Narang, S. Bhattacherjee",
        title: "Advanced Bloom Filter Based Algorithms for Efficient Approximate Data \
                De-Duplication in Streams",
        year: 2012,
    };

    /// The paper on the streaming quotient filter and its dynamic variant.
    pub(super) const DUTTA_2013: Citation = Citation {
        authors: "S. Dutta, A. Narang, S. K. Bera",
        title: "Streaming Quotient Filter: A Near Optimal Approximate Duplicate Detection \
                Approach for Data Streams",
        year: 2013,
    };
}
