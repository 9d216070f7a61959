//! Figures and tables that are not reproduced, each with the reason.

/// A figure or table without cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Omission {
    /// The number of the paper in this project.
    pub paper: &'static str,
    /// What is left out.
    pub what: &'static str,
    /// Why.
    pub why: &'static str,
}

const fn omission(paper: &'static str, what: &'static str, why: &'static str) -> Omission {
    Omission { paper, what, why }
}

/// Everything that is left out.
pub const OMISSIONS: &[Omission] = &[
    omission("000", "Figure 1", "is a drawing of the method"),
    omission(
        "001",
        "Figures 2 and 3",
        "are drawings of the data structures",
    ),
    omission(
        "001",
        "Figures 4 and 6",
        "plot the distribution of the web log and of the Yahoo data, which are not available",
    ),
    omission(
        "001",
        "Figure 8",
        "repeats the fairness and the load of Figure 5 on two other data sets, as curves without \
         numbers; the paper calls the results similar, and the Yahoo data are not available",
    ),
    omission(
        "002",
        "Figure 1 and Tables 1 and 2",
        "list methods and parameters",
    ),
    omission(
        "002",
        "Figure 2",
        "plots the distribution of the data; the crawl is not available, and the synthetic data \
         are generated from the description",
    ),
    omission(
        "003",
        "Figures 1 and 2",
        "are drawings of the data structure and of the Map-Reduce steps",
    ),
    omission(
        "003",
        "query times in Tables 2 and 3",
        "are microseconds on a machine of 2013; `cargo xtask bench` measures times here",
    ),
    omission("004", "Table 1", "is a list of symbols"),
];
