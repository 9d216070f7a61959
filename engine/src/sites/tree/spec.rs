//! The text form of a tree: `dense:levels=3,fanout=4`.

use std::fmt;
use std::str::FromStr;

/// How keys are recorded in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TreeOrder {
    /// `dense`: test-and-set on the way up. A key that is found higher up is recorded below, so
    /// that the next request for it from the same leaf ends there.
    Dense,
    /// `sparse`: test on the way up; if the key is new, set on the way down. A key is recorded on
    /// one path only.
    Sparse,
}

/// What happens after a hit above the threshold level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TopDown {
    /// Every hit counts.
    Off,
    /// `top-down=D`: a hit above level D counts only if a node at level D has the key too. If no
    /// other child leads to one, the search goes on upward: another subtree may have the key.
    Threshold(u32),
    /// `top-down-printed=D`: the paper's heuristic. If no other child leads to a node at level D,
    /// the key is New. This is wrong below the root, and gives false negatives. Only for
    /// comparison.
    AsPrinted(u32),
}

/// The shape of a tree of Bloom filters, and how it works. All nodes have the same number of cells
/// and the same hash functions: a smaller leaf would report keys as Seen that the root does not
/// have, and then verdicts would not be those of a single filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeSpec {
    /// How keys are recorded.
    pub order: TreeOrder,
    /// The number of levels. Level 0 is the root; the leaves are the last level. One level is a
    /// single filter, two levels are local filters and a root.
    pub levels: u32,
    /// The number of children of a node.
    pub fanout: u32,
    /// The number of cells of a key.
    pub k: u32,
    /// Whether hits near the root are checked.
    pub top_down: TopDown,
    /// The number of sites that share the root: vertical slices.
    pub root_slices: u32,
    /// How long a key is remembered, in observations; 0 means for ever.
    pub span: u64,
}

/// The largest number of leaves.
const MAX_LEAVES: u64 = 1 << 16;

/// A parameter: its name, and the smallest and the largest value.
const PARAMETERS: [(&str, u64, u64); 7] = [
    ("levels", 1, 17),
    ("fanout", 2, MAX_LEAVES),
    ("k", 1, 32),
    ("top-down", 0, 16),
    ("top-down-printed", 0, 16),
    ("root-slices", 1, 4096),
    ("span", 0, 1 << 31),
];

impl TreeSpec {
    /// Returns a tree that remembers for ever, with four hash functions and a root on one site.
    pub fn new(order: TreeOrder, levels: u32, fanout: u32) -> Self {
        TreeSpec {
            order,
            levels,
            fanout,
            k: 4,
            top_down: TopDown::Off,
            root_slices: 1,
            span: 0,
        }
    }

    /// Returns the number of nodes at a level.
    pub fn nodes_at(&self, level: u32) -> u64 {
        u64::from(self.fanout).saturating_pow(level)
    }

    /// Returns the number of leaves.
    pub fn leaves(&self) -> u64 {
        self.nodes_at(self.levels.saturating_sub(1))
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> u64 {
        (0..self.levels)
            .map(|level| self.nodes_at(level))
            .fold(0, u64::saturating_add)
    }

    /// Fails if the values do not fit together.
    pub(super) fn check(&self) -> Result<(), TreeError> {
        let values = [
            u64::from(self.levels),
            u64::from(self.fanout),
            u64::from(self.k),
            match self.top_down {
                TopDown::Threshold(level) => u64::from(level),
                _ => 0,
            },
            match self.top_down {
                TopDown::AsPrinted(level) => u64::from(level),
                _ => 0,
            },
            u64::from(self.root_slices),
            self.span,
        ];
        for ((parameter, min, max), value) in PARAMETERS.into_iter().zip(values) {
            if !(min..=max).contains(&value) {
                let found = value.to_string();
                return Err(TreeError::Value {
                    parameter,
                    min,
                    max,
                    found,
                });
            }
        }
        if self.leaves() > MAX_LEAVES {
            return Err(TreeError::TooManyLeaves {
                leaves: self.leaves(),
            });
        }
        match self.top_down {
            TopDown::Threshold(level) | TopDown::AsPrinted(level) if level >= self.levels => {
                Err(TreeError::ThresholdBelowLeaves {
                    level,
                    leaves: self.levels - 1,
                })
            }
            _ => Ok(()),
        }
    }

    fn assign(&mut self, parameter: &str, value: u64) {
        // All limits are checked, and fit.
        let small = value as u32;
        match parameter {
            "levels" => self.levels = small,
            "fanout" => self.fanout = small,
            "k" => self.k = small,
            "top-down" => self.top_down = TopDown::Threshold(small),
            "top-down-printed" => self.top_down = TopDown::AsPrinted(small),
            "root-slices" => self.root_slices = small,
            _ => self.span = value,
        }
    }
}

impl fmt::Display for TreeSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.order {
            TreeOrder::Dense => "dense",
            TreeOrder::Sparse => "sparse",
        };
        let (levels, fanout, k) = (self.levels, self.fanout, self.k);
        write!(formatter, "{order}:levels={levels},fanout={fanout},k={k}")?;
        match self.top_down {
            TopDown::Off => {}
            TopDown::Threshold(level) => write!(formatter, ",top-down={level}")?,
            TopDown::AsPrinted(level) => write!(formatter, ",top-down-printed={level}")?,
        }
        if self.root_slices > 1 {
            write!(formatter, ",root-slices={}", self.root_slices)?;
        }
        if self.span > 0 {
            write!(formatter, ",span={}", self.span)?;
        }
        Ok(())
    }
}

impl FromStr for TreeSpec {
    type Err = TreeError;

    fn from_str(text: &str) -> Result<Self, TreeError> {
        let (name, parameters) = match text.split_once(':') {
            Some((name, parameters)) => (name, Some(parameters)),
            None => (text, None),
        };
        let order = match name {
            "dense" => TreeOrder::Dense,
            "sparse" => TreeOrder::Sparse,
            _ => {
                let found = name.to_owned();
                return Err(TreeError::UnknownOrder { found });
            }
        };
        let mut spec = TreeSpec::new(order, 2, 16);
        let mut given = Vec::new();
        for part in parameters.into_iter().flat_map(|all| all.split(',')) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let known = PARAMETERS.into_iter().find(|known| known.0 == name);
            let Some((parameter, min, max)) = known else {
                let found = name.to_owned();
                return Err(TreeError::UnknownParameter { found });
            };
            let is_other_form = |it: &&str| it.starts_with("top-down") && name.starts_with("top-");
            if given.contains(&parameter) || given.iter().any(is_other_form) {
                return Err(TreeError::GivenTwice { parameter });
            }
            given.push(parameter);
            let digits = value.bytes().all(|byte| byte.is_ascii_digit());
            let number = value
                .parse()
                .ok()
                .filter(|number| digits && (min..=max).contains(number));
            let number = number.ok_or_else(|| TreeError::Value {
                parameter,
                min,
                max,
                found: value.to_owned(),
            })?;
            spec.assign(parameter, number);
        }
        spec.check()?;
        Ok(spec)
    }
}

/// Why a tree cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// There is no such kind of tree.
    #[error("there is no tree `{found}`; the trees are: dense, sparse")]
    UnknownOrder {
        /// The name given.
        found: String,
    },
    /// There is no such parameter.
    #[error("a tree has no parameter `{found}`; it has: {}", parameters())]
    UnknownParameter {
        /// The name given.
        found: String,
    },
    /// A parameter is given twice.
    #[error("`{parameter}` is given twice")]
    GivenTwice {
        /// The parameter.
        parameter: &'static str,
    },
    /// The parameter does not allow the value.
    #[error("`{parameter}` must be a whole number from {min} to {max}; found `{found}`")]
    Value {
        /// The parameter.
        parameter: &'static str,
        /// The smallest value.
        min: u64,
        /// The largest value.
        max: u64,
        /// The value given.
        found: String,
    },
    /// There are too many leaves.
    #[error("the tree has {leaves} leaves; the most are {MAX_LEAVES}")]
    TooManyLeaves {
        /// The number of leaves.
        leaves: u64,
    },
    /// The threshold of top-down testing is below the leaves.
    #[error("the threshold level {level} of top-down testing is below the leaves, level {leaves}")]
    ThresholdBelowLeaves {
        /// The threshold.
        level: u32,
        /// The level of the leaves.
        leaves: u32,
    },
    /// The memory of a node is too small or too large.
    #[error("a node has 1 to {most} cells; {found} were requested")]
    NodeSize {
        /// The largest number of cells.
        most: u64,
        /// The number requested.
        found: u64,
    },
    /// The tree needs too much memory.
    #[error(
        "{nodes} nodes of {cells} cells need more than {} GiB, the limit of a tree in one process",
        super::MAX_TREE_BYTES >> 30
    )]
    TooLarge {
        /// The number of nodes.
        nodes: u64,
        /// The number of cells per node.
        cells: u64,
    },
    /// The root has more slices than cells.
    #[error("the root has {slices} slices and only {cells} cells")]
    TooManySlices {
        /// The number of slices.
        slices: u32,
        /// The number of cells per node.
        cells: u64,
    },
    /// Bits cannot forget.
    #[error("a tree of bits remembers for ever; a tree with `span` needs timers")]
    BitsWithSpan,
    /// A window cannot be combined with a root on several sites.
    #[error("a tree with a window has its root on one site; omit `root-slices` or `span`")]
    SlicedWindow,
}

fn parameters() -> String {
    PARAMETERS.map(|(name, ..)| name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_one_text_form() {
        for text in [
            "dense:levels=3,fanout=4,k=4",
            "sparse:levels=5,fanout=2,k=4,top-down=2",
            "sparse:levels=5,fanout=2,k=8,top-down-printed=2",
            "dense:levels=2,fanout=16,k=4,root-slices=8",
            "sparse:levels=2,fanout=16,k=4,span=1000",
        ] {
            let spec: TreeSpec = text.parse().expect(text);
            assert_eq!(spec.to_string(), text);
        }
        let spec: TreeSpec = "dense".parse().expect("a tree");
        assert_eq!(spec, TreeSpec::new(TreeOrder::Dense, 2, 16));
        assert_eq!((spec.nodes(), spec.leaves()), (17, 16));
    }

    #[test]
    fn errors_name_the_wrong_part_and_the_allowed_values() {
        let error = |text: &str| text.parse::<TreeSpec>().expect_err(text).to_string();
        assert!(error("thick").contains("the trees are: dense, sparse"));
        assert!(error("dense:depth=3").contains("it has: levels, fanout, k, top-down,"));
        assert!(error("dense:").contains("no parameter ``"));
        assert!(error("dense:levels=0").contains("from 1 to 17; found `0`"));
        assert!(error("dense:levels=+2").contains("found `+2`"));
        assert!(error("dense:levels=2,levels=2").contains("given twice"));
        assert!(error("dense:levels=3,top-down=1,top-down-printed=1").contains("given twice"));
        assert!(error("dense:levels=17,fanout=4").contains("the most are 65536"));
        assert!(error("dense:levels=3,top-down=3").contains("below the leaves, level 2"));
        assert!(error("dense:fanout=1").contains("from 2"));
    }
}
