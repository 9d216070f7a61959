//! A tree of Bloom filters: keys are first looked up near their producer.
//!
//! **What it promises.** Dense, sparse and a single Bloom filter with the same number of bits, the
//! same k and the same hash give the same verdict for every observation, however deep the tree is
//! and whichever leaf a key comes from. With timers instead of bits, the same holds for a single
//! filter of timers. What a tree changes is where requests go.
//!
//! **Why.** Every node has a subset of the bits of its parent, and the root has exactly the bits of
//! the single filter. A hit anywhere is a hit at the root; a miss everywhere includes the root.
//! This needs nodes of equal size: a leaf with fewer bits would report keys that the root does not
//! have.
//!
//! **When to use it.** Producers are far from the root and repeat their own keys. If keys come from
//! random leaves, a sparse tree finds almost everything at the root. A tree needs the memory of the
//! single filter once per node.
//!
//! **How it works.** Two levels, a root with the leaves A and B. Key `x` comes from A: A misses,
//! the root misses, `x` is New and is recorded at both. `x` comes from B: B misses, the root hits,
//! Seen. Dense: B has recorded `x` on the way up, so the next `x` from B ends there. Sparse: B has
//! recorded nothing, so it asks the root again.
//!
//! **Top-down testing.** Near the root, filters are full and hits are often false. With a threshold
//! level d, a hit above level d counts only if some node at level d has the key too: the node asks
//! its other children, and those that hit ask theirs, down to level d. So the verdict is Seen if
//! and only if some node at level d has the key, and no repeat is missed. It costs accesses.
//!
//! **Windows.** Cells hold the time at which they were set; a hit has a time, the least of the
//! key's cells. A key that is new is recorded on the whole path with the present time. A dense tree
//! also records a key below the node that has it, with the *time of the hit*, never with the
//! present time: otherwise leaves would remember keys that the root has forgotten, and each repeat
//! would prolong the key's life. No node then has a later time than its parent.
//!
//! **Paper.** G. Koloniari, N. Ntarmos, E. Pitoura, D. Souravlias, "One is enough: distributed
//! filtering for duplicate elimination", 2011, section 6.
//!
//! **Departures.** As printed, a key is New if top-down testing finds no other child that has it,
//! at any node. Below the root this is a false negative if another subtree has the key;
//! [`TopDown::AsPrinted`] does this, for comparison. Here the search goes on upward.
//!
//! **Failures.** A node that does not answer is passed over, and a hit that cannot be checked
//! counts. If the root does not answer, the verdict is [`SiteVerdict::Unknown`]. Deliver the key
//! then: a dense tree may have recorded it on the way up.

mod node;
mod spec;

pub use node::{BitNode, TimerNode, TreeNode};
pub use spec::{TopDown, TreeError, TreeOrder, TreeSpec};

use super::{BitSite, SiteVerdict, Traffic};
use crate::fingerprint::Fingerprint;

/// The memory of all nodes of a tree in one process.
const MAX_TREE_BYTES: u64 = 8 << 30;
/// The largest number of cells of a node.
const MAX_CELLS: u64 = 1 << 36;

/// What happened at one level of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelCounts {
    /// How often a node was asked or told something: the paper's accesses. A node on several sites
    /// counts once.
    pub accesses: u64,
    /// Observations that were reported as Seen because of a hit at this level.
    pub hits: u64,
    /// Hits that top-down testing has refuted.
    pub refuted: u64,
    /// The messages to the nodes of this level. Those to a producer's own leaf are included; they
    /// stay in its neighbourhood.
    pub traffic: Traffic,
}

/// A tree of filters.
///
/// ```
/// use dedupstore::KeyHasher;
/// use dedupstore::sites::{BloomTree, TreeSpec};
///
/// let spec: TreeSpec = "dense:levels=3,fanout=4".parse()?;
/// let mut tree = BloomTree::of_bits(&spec, 80_000)?;
/// let key = KeyHasher::new(1).fingerprint(b"https://harbour.example/");
/// // From the leaves 0 and 15, which have only the root in common.
/// assert!(tree.observe(0, key, 0).is_new());
/// assert!(tree.observe(15, key, 0).is_seen());
/// assert_eq!(tree.counts(0).hits, 1);
/// # Ok::<(), dedupstore::sites::TreeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct BloomTree<N> {
    spec: TreeSpec,
    cells: u64,
    /// The nodes of each level, from the root.
    levels: Vec<Vec<N>>,
    counts: Vec<LevelCounts>,
    positions: Vec<u64>,
}

/// The result of asking a node.
enum Answer {
    Miss,
    Hit { time: u64 },
    Unanswered,
}

impl BloomTree<BitNode<Vec<BitSite>>> {
    /// Creates a tree of Bloom filters in this process, each with so many bits. Time is ignored.
    pub fn of_bits(spec: &TreeSpec, bits: u64) -> Result<Self, TreeError> {
        check_memory(spec, bits, bits.div_ceil(8))?;
        if spec.span > 0 {
            return Err(TreeError::BitsWithSpan);
        }
        if u64::from(spec.root_slices) > bits {
            return Err(TreeError::TooManySlices {
                slices: spec.root_slices,
                cells: bits,
            });
        }
        BloomTree::new(spec, bits, |level, _| {
            let slices = match level {
                0 => u64::from(spec.root_slices),
                _ => 1,
            };
            let slice_bits = bits.div_ceil(slices);
            let starts = (0..slices).map(|slice| slice * slice_bits);
            let sites = starts.map(|start| bits.saturating_sub(start).min(slice_bits));
            BitNode::new(sites.filter(|&bits| bits > 0).map(BitSite::new).collect())
        })
    }
}

impl BloomTree<TimerNode> {
    /// Creates a tree of filters with timers in this process, each with so many timers.
    pub fn of_timers(spec: &TreeSpec, timers: u64) -> Result<Self, TreeError> {
        check_memory(spec, timers, timers.saturating_mul(8))?;
        if spec.root_slices > 1 {
            return Err(TreeError::SlicedWindow);
        }
        let span = match spec.span {
            0 => u64::MAX,
            span => span,
        };
        BloomTree::new(spec, timers, |_, _| TimerNode::new(timers, span))
    }
}

fn check_memory(spec: &TreeSpec, cells: u64, node_bytes: u64) -> Result<(), TreeError> {
    spec.check()?;
    if !(1..=MAX_CELLS).contains(&cells) {
        return Err(TreeError::NodeSize {
            most: MAX_CELLS,
            found: cells,
        });
    }
    match spec.nodes().saturating_mul(node_bytes) > MAX_TREE_BYTES {
        true => Err(TreeError::TooLarge {
            nodes: spec.nodes(),
            cells,
        }),
        false => Ok(()),
    }
}

impl<N: TreeNode> BloomTree<N> {
    /// Creates a tree with nodes of one's own, for example on a network. `node` is called with the
    /// level and the index of each; all must be empty and have so many cells.
    pub fn new(
        spec: &TreeSpec,
        cells: u64,
        mut node: impl FnMut(u32, u64) -> N,
    ) -> Result<Self, TreeError> {
        spec.check()?;
        let level = |level| {
            (0..spec.nodes_at(level))
                .map(|index| node(level, index))
                .collect()
        };
        Ok(BloomTree {
            spec: *spec,
            cells,
            levels: (0..spec.levels).map(level).collect(),
            counts: vec![LevelCounts::default(); spec.levels as usize],
            positions: Vec::with_capacity(spec.k as usize),
        })
    }

    /// Returns the shape.
    pub fn spec(&self) -> &TreeSpec {
        &self.spec
    }

    /// Returns the number of cells of a node.
    pub fn cells(&self) -> u64 {
        self.cells
    }

    /// Returns the nodes of a level, of which 0 is the root. A level that does not exist has none.
    pub fn nodes(&self, level: usize) -> &[N] {
        self.levels.get(level).map_or(&[], Vec::as_slice)
    }

    /// Returns the nodes of a level, for example to let one fail.
    pub fn nodes_mut(&mut self, level: usize) -> &mut [N] {
        self.levels
            .get_mut(level)
            .map_or(&mut [], Vec::as_mut_slice)
    }

    /// Returns what has happened at a level. A level that does not exist has zeros.
    pub fn counts(&self, level: usize) -> LevelCounts {
        let mut counts = self.counts.get(level).copied().unwrap_or_default();
        for node in self.nodes(level) {
            counts.traffic.add(&node.traffic());
        }
        counts
    }

    /// Reports whether a key from a leaf is new, and remembers it. The time must not run backwards;
    /// only timers use it. A leaf that does not exist counts modulo their number.
    pub fn observe(&mut self, leaf: usize, key: Fingerprint, now: u64) -> SiteVerdict {
        let mut positions = std::mem::take(&mut self.positions);
        positions.clear();
        let mut probes = key.probes();
        positions.extend((0..self.spec.k).map(|_| probes.next_below(self.cells)));
        let leaf = leaf % self.spec.leaves() as usize;
        let verdict = self.climb(leaf, &positions, now);
        self.positions = positions;
        verdict
    }

    fn climb(&mut self, leaf: usize, positions: &[u64], now: u64) -> SiteVerdict {
        let fanout = self.spec.fanout as usize;
        let sets_at_once = self.spec.order == TreeOrder::Dense && !N::HOLDS_TIMES;
        let (mut index, mut from_child) = (leaf, None);
        for level in (0..self.levels.len()).rev() {
            match self.ask(level, index, positions, now, sets_at_once) {
                Answer::Miss => {}
                Answer::Unanswered if level == 0 => return SiteVerdict::Unknown,
                Answer::Unanswered => {}
                Answer::Hit { time } => {
                    match self.confirm(level, index, from_child, positions, now, time) {
                        Some(time) => {
                            self.counts[level].hits += 1;
                            if self.spec.order == TreeOrder::Dense && N::HOLDS_TIMES {
                                self.record(leaf, level + 1, positions, time);
                            }
                            return SiteVerdict::Seen;
                        }
                        None => {
                            self.counts[level].refuted += 1;
                            if matches!(self.spec.top_down, TopDown::AsPrinted(_)) {
                                break;
                            }
                        }
                    }
                }
            }
            from_child = Some(index);
            index /= fanout;
        }
        if !sets_at_once {
            self.record(leaf, 0, positions, now);
        }
        SiteVerdict::New
    }

    /// Asks a node for a key.
    fn ask(
        &mut self,
        level: usize,
        index: usize,
        positions: &[u64],
        now: u64,
        sets: bool,
    ) -> Answer {
        self.counts[level].accesses += 1;
        let node = &mut self.levels[level][index];
        let answer = match sets {
            true => node.test_and_set(positions, now),
            false => node.test(positions, now),
        };
        match answer {
            Ok(Some(time)) => Answer::Hit { time },
            Ok(None) => Answer::Miss,
            Err(_) => Answer::Unanswered,
        }
    }

    /// Records a key at the nodes of its path from a level down to the leaf. A node that does not
    /// answer is left out; its traffic counts this.
    fn record(&mut self, leaf: usize, from_level: usize, positions: &[u64], time: u64) {
        for level in from_level..self.levels.len() {
            self.counts[level].accesses += 1;
            let below = (self.levels.len() - 1 - level) as u32;
            let index = leaf / (self.spec.fanout as usize).pow(below);
            let _ = self.levels[level][index].set(positions, time);
        }
    }

    /// Checks a hit, if its level requires it. Returns its time, or None if it is refuted.
    fn confirm(
        &mut self,
        level: usize,
        index: usize,
        from_child: Option<usize>,
        positions: &[u64],
        now: u64,
        time: u64,
    ) -> Option<u64> {
        let threshold = match self.spec.top_down {
            TopDown::Off => 0,
            TopDown::Threshold(threshold) | TopDown::AsPrinted(threshold) => threshold as usize,
        };
        if level >= threshold {
            return Some(time);
        }
        let fanout = self.spec.fanout as usize;
        let mut found = None;
        // The child that passed the request on does not have the key, and neither has any node
        // below it; in a dense tree it has just recorded the key itself.
        for child in (index * fanout..(index + 1) * fanout).filter(|&it| Some(it) != from_child) {
            let at_child = match self.ask(level + 1, child, positions, now, false) {
                Answer::Miss => None,
                Answer::Unanswered => Some(time),
                Answer::Hit { time } => self.confirm(level + 1, child, None, positions, now, time),
            };
            found = found.max(at_child);
        }
        found
    }
}
