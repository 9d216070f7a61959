//! Trees of Bloom filters near the producers of keys.

use dedupstore::lab::{TreeSimulation, TreeSummary, Truth};
use dedupstore::lines::KeyReader;
use dedupstore::sites::TreeSpec;

use super::results::{TreeLevel, TreeOutcome, TreesResult};
use crate::key_choice::{Fields, KeyChoice};
use crate::line_feed::KeyedLine;

/// Several trees over one log.
pub struct Trees {
    simulation: TreeSimulation,
    producers: Option<KeyReader>,
    without_producer: u64,
}

impl Trees {
    pub fn new(
        trees: &[String],
        producer: Option<&Fields>,
        seed: u64,
        memory_bits: u64,
    ) -> Result<Self, String> {
        let mut simulation = TreeSimulation::new(seed, Truth::for_fingerprints());
        for text in trees {
            let tree: TreeSpec = text.parse().map_err(|error| format!("{error}"))?;
            let added = simulation.add_tree(&tree, memory_bits);
            added.map_err(|error| error.to_string())?;
        }
        Ok(Trees {
            simulation,
            producers: producer.map(KeyChoice::reader_of_fields).transpose()?,
            without_producer: 0,
        })
    }

    pub fn observe(&mut self, keyed: &KeyedLine<'_>) {
        let line = keyed.line;
        match self.producers.as_mut().map(|reader| reader.key(line)) {
            Some(None) => self.without_producer += 1,
            Some(producer) => self.simulation.push_key(keyed.key, producer),
            None => self.simulation.push_key(keyed.key, None),
        }
    }

    pub fn results(&self) -> TreesResult {
        let summaries = self.simulation.summaries("log").into_iter();
        TreesResult {
            outcomes: summaries.map(outcome).collect(),
            without_producer: self.without_producer,
        }
    }
}

fn outcome(summary: TreeSummary) -> TreeOutcome {
    let levels = summary.levels.iter();
    TreeOutcome {
        levels: levels
            .map(|it| TreeLevel {
                level: it.level,
                nodes: it.nodes,
                accesses: it.accesses,
                hits: it.hits,
            })
            .collect(),
        tree: summary.tree,
        nodes: summary.nodes,
        count: summary.count,
        distinct: summary.distinct,
        repeats: summary.repeats,
        false_positives: summary.fp,
        false_negatives: summary.false_negatives,
        fpr: summary.fpr,
        fnr: summary.fnr,
        differs_from_single: summary.differs_from_single,
        messages_remote: summary.messages_remote,
    }
}
