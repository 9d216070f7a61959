//! Runs trees of Bloom filters over one stream, and compares them with exact truth and with a single
//! filter.

use serde::Serialize;

use super::scoreboard::{Scoreboard, share};
use super::truth::Truth;
use super::window_truth::WindowTruth;
use crate::filter::{Verdict, WindowClock};
use crate::fingerprint::{Fingerprint, KeyHasher, reduce};
use crate::rng::Generator;
use crate::sites::{
    BitNode, BitSite, BloomTree, LevelCounts, SiteVerdict, TimerNode, TreeError, TreeSpec,
};

/// The seed of a producer's hash is another one than that of keys: the producer may be a part of
/// the key.
const PRODUCER_SEED: u64 = 0x7072_6f64_7563_6572;

/// A run of several trees over one stream.
///
/// A producer belongs to one leaf of a tree, by a hash of its name. Without a name, each key comes
/// from a random leaf. Which leaf that is follows from the seed and from the position of the key.
#[derive(Debug)]
pub struct TreeSimulation {
    hasher: KeyHasher,
    producer_hasher: KeyHasher,
    random: Generator,
    truth: Truth,
    runs: Vec<TreeRun>,
    count: u64,
}

/// A tree in a simulation, and its results.
#[derive(Debug)]
struct TreeRun {
    spec: TreeSpec,
    memory_bits: u64,
    tree: Tree,
    /// A tree of one level: the filter with which verdicts are compared.
    single: Tree,
    /// What a tree with a window is compared with. Each has its own truth.
    window: Option<WindowTruth>,
    scoreboard: Scoreboard,
    differences: u64,
}

#[derive(Debug)]
enum Tree {
    Bits(BloomTree<BitNode<Vec<BitSite>>>),
    Timers(BloomTree<TimerNode>),
}

impl Tree {
    fn new(spec: &TreeSpec, memory_bits: u64) -> Result<Self, TreeError> {
        match timer_bits(spec) {
            None => BloomTree::of_bits(spec, memory_bits).map(Tree::Bits),
            Some(width) => BloomTree::of_timers(spec, memory_bits / width).map(Tree::Timers),
        }
    }

    fn observe(&mut self, leaf: u64, key: Fingerprint, now: u64) -> Verdict {
        let leaf = leaf as usize;
        let verdict = match self {
            Tree::Bits(tree) => tree.observe(leaf, key, now),
            Tree::Timers(tree) => tree.observe(leaf, key, now),
        };
        // The sites of a simulation do not fail, so the verdict is never unknown.
        Verdict::seen_if(verdict == SiteVerdict::Seen)
    }

    fn counts(&self, level: usize) -> LevelCounts {
        match self {
            Tree::Bits(tree) => tree.counts(level),
            Tree::Timers(tree) => tree.counts(level),
        }
    }
}

/// Returns the bits of a timer, as in the filter `window` with steps of 1; None without a window.
fn timer_bits(spec: &TreeSpec) -> Option<u64> {
    let values = spec.span + 1;
    (spec.span > 0).then(|| u64::from(u64::BITS - values.leading_zeros()))
}

/// The result of one tree on one stream. The field names are the keys of the JSON form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TreeSummary {
    /// The version of the JSON form.
    pub schema: u32,
    /// The tree, in its text form.
    pub tree: String,
    /// The memory of each node.
    pub memory_bits: u64,
    /// The number of nodes.
    pub nodes: u64,
    /// The text form of the stream, or the name of a log.
    pub stream: String,
    /// The number of observations.
    pub count: u64,
    /// The number of first occurrences. With a window: of occurrences of keys that the tree had not
    /// delivered within its span.
    pub distinct: u64,
    /// The number of repeats.
    pub repeats: u64,
    /// First occurrences reported Seen.
    pub fp: u64,
    /// Repeats reported New.
    #[serde(rename = "fn")]
    pub false_negatives: u64,
    /// `fp` ÷ `distinct`.
    pub fpr: Option<f64>,
    /// `fn` ÷ `repeats`.
    pub fnr: Option<f64>,
    /// Observations to which a single filter, with the memory of one node, gives the other verdict.
    /// Without top-down testing there are none.
    pub differs_from_single: u64,
    /// Messages that test, per observation, to all nodes.
    pub messages_test: Option<f64>,
    /// Messages that only set, per observation, to all nodes.
    pub messages_set: Option<f64>,
    /// How many of these messages, per observation, went further than to the producer's own leaf.
    pub messages_remote: Option<f64>,
    /// The size of all messages per observation, without answers and headers.
    pub bits: Option<f64>,
    /// What happened at each level, from the root.
    pub levels: Vec<LevelSummary>,
}

/// What happened at one level of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LevelSummary {
    /// The level; 0 is the root.
    pub level: u32,
    /// The number of nodes.
    pub nodes: u64,
    /// How often a node was asked or told something.
    pub accesses: u64,
    /// Observations that were reported Seen because of a hit at this level.
    pub hits: u64,
    /// Hits that top-down testing has refuted.
    pub refuted: u64,
    /// Messages that test. A node on several sites receives several.
    pub tests: u64,
    /// Messages that only set.
    pub sets: u64,
    /// The size of these messages.
    pub bits: u64,
}

impl TreeSimulation {
    /// Creates a simulation without trees.
    pub fn new(seed: u64, truth: Truth) -> Self {
        TreeSimulation {
            hasher: KeyHasher::new(seed),
            producer_hasher: KeyHasher::new(seed ^ PRODUCER_SEED),
            random: Generator::from_seed(seed ^ PRODUCER_SEED),
            truth,
            runs: Vec::new(),
            count: 0,
        }
    }

    /// Adds a tree whose nodes have this memory each.
    pub fn add_tree(&mut self, spec: &TreeSpec, memory_bits: u64) -> Result<(), TreeError> {
        let single = TreeSpec {
            k: spec.k,
            span: spec.span,
            ..TreeSpec::new(spec.order, 1, spec.fanout)
        };
        self.runs.push(TreeRun {
            spec: *spec,
            memory_bits,
            tree: Tree::new(spec, memory_bits)?,
            single: Tree::new(&single, memory_bits)?,
            window: (spec.span > 0).then(|| WindowTruth::new(WindowClock::counting(spec.span))),
            scoreboard: Scoreboard::default(),
            differences: 0,
        });
        Ok(())
    }

    /// Returns the hash function of keys.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// Returns the number of keys.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Passes a key with its producer to all trees.
    pub fn push_key(&mut self, key: &[u8], producer: Option<&[u8]>) {
        let fingerprint = self.hasher.fingerprint(key);
        self.push(fingerprint, fingerprint.0, producer);
    }

    /// Passes a key of a synthetic stream, which has a number, to all trees.
    pub fn push_numbered(&mut self, key: &[u8], number: u64) {
        self.push(self.hasher.fingerprint(key), number, None);
    }

    fn push(&mut self, key: Fingerprint, identity: u64, producer: Option<&[u8]>) {
        let is_first = self.truth.is_first(identity);
        let source = match producer {
            Some(name) => self.producer_hasher.fingerprint(name).0,
            None => self.random.draw(self.count),
        };
        for run in &mut self.runs {
            let leaf = reduce(source, run.spec.leaves());
            let verdict = run.tree.observe(leaf, key, self.count);
            let is_new = match &mut run.window {
                Some(window) => window.is_new(identity, 0, verdict),
                None => is_first,
            };
            run.scoreboard.score(&[verdict], &[is_new], 0);
            let single = run.single.observe(0, key, self.count);
            run.differences += u64::from(verdict != single);
        }
        self.count += 1;
    }

    /// Returns the results, in the order in which the trees were added.
    pub fn summaries(&self, stream: &str) -> Vec<TreeSummary> {
        self.runs.iter().map(|run| run.summary(stream)).collect()
    }
}

impl TreeRun {
    fn summary(&self, stream: &str) -> TreeSummary {
        let levels: Vec<LevelSummary> = (0..self.spec.levels).map(|it| self.level(it)).collect();
        let sum = |count: fn(&LevelSummary) -> u64| levels.iter().map(count).sum::<u64>();
        let end = self.scoreboard.now();
        let (tests, sets) = (sum(|it| it.tests), sum(|it| it.sets));
        // Each observation asks its own leaf once, and what is set at a leaf is set at its own.
        // A tree of one level has only a root.
        let local = match levels.last() {
            Some(leaves) if leaves.level > 0 => end.position + leaves.sets,
            _ => 0,
        };
        TreeSummary {
            schema: 1,
            tree: self.spec.to_string(),
            memory_bits: self.memory_bits,
            nodes: self.spec.nodes(),
            stream: stream.to_owned(),
            count: end.position,
            distinct: end.distinct,
            repeats: end.repeats(),
            fp: end.false_positives,
            false_negatives: end.false_negatives,
            fpr: self.scoreboard.fpr(),
            fnr: self.scoreboard.fnr(),
            differs_from_single: self.differences,
            messages_test: share(tests, end.position),
            messages_set: share(sets, end.position),
            messages_remote: share(tests + sets - local, end.position),
            bits: share(sum(|it| it.bits), end.position),
            levels,
        }
    }

    fn level(&self, level: u32) -> LevelSummary {
        let counts = self.tree.counts(level as usize);
        LevelSummary {
            level,
            nodes: self.spec.nodes_at(level),
            accesses: counts.accesses,
            hits: counts.hits,
            refuted: counts.refuted,
            tests: counts.traffic.tests,
            sets: counts.traffic.sets,
            bits: counts.traffic.bits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simulation(trees: &[&str]) -> TreeSimulation {
        let mut simulation = TreeSimulation::new(1, Truth::for_fingerprints());
        for tree in trees {
            let spec = tree.parse().expect("a tree");
            simulation.add_tree(&spec, 40_000).expect("small");
        }
        simulation
    }

    #[test]
    fn a_producer_that_repeats_its_keys_is_answered_by_its_leaf() {
        let mut simulation = simulation(&["dense:levels=3,fanout=4", "sparse:levels=3,fanout=4"]);
        for round in 0..2 {
            for i in 0..1000u32 {
                let producer = (i % 10).to_le_bytes();
                simulation.push_key(&i.to_le_bytes(), Some(&producer));
                let summary = &simulation.summaries("")[0];
                assert_eq!(summary.fp, 0, "round {round}");
            }
        }
        for summary in simulation.summaries("two rounds") {
            assert_eq!((summary.distinct, summary.repeats), (1000, 1000));
            assert_eq!((summary.fp, summary.false_negatives), (0, 0));
            assert_eq!(summary.differs_from_single, 0);
            assert_eq!(summary.levels[2].hits, 1000);
            assert_eq!(summary.nodes, 21);
            // Half of the keys are new and climb two levels; a sparse tree also sets both nodes.
            let messages = match summary.tree.starts_with("dense") {
                true => 1.0,
                false => 2.0,
            };
            assert_eq!(summary.messages_remote, Some(messages));
        }
    }

    #[test]
    fn a_tree_with_a_window_is_compared_with_its_own_deliveries() {
        let mut simulation = simulation(&["dense:span=100", "sparse:span=100"]);
        for i in 0..1000u32 {
            simulation.push_key(&(i % 150).to_le_bytes(), None);
            simulation.push_key(&(i % 150).to_le_bytes(), None);
        }
        for summary in simulation.summaries("") {
            // A key comes again after 300 observations: it is new.
            assert_eq!((summary.distinct, summary.repeats), (1000, 1000));
            assert_eq!((summary.fp, summary.false_negatives), (0, 0));
            assert_eq!(summary.differs_from_single, 0);
        }
    }
}
