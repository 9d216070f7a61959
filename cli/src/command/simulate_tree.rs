//! `dedupstore simulate --tree`: trees of Bloom filters near the producers of keys.

use std::path::PathBuf;

use clap::Args;
use dedupstore::lab::{LevelSummary, StreamSpec, TreeSimulation, TreeSummary, Truth};
use dedupstore::lines::{FieldList, KeyReader, KeyRule, KeySelector};
use dedupstore::sites::TreeSpec;

use crate::error::Failure;
use crate::html_report;
use crate::input::{Block, Inputs};
use crate::key_arguments::KeyArguments;
use crate::missing_keys;
use crate::output::Output;
use crate::standard_error;
use crate::table::{grouped, percent, plural, render};
use crate::value_parsers;

/// Trees of Bloom filters instead of single filters.
#[derive(Clone, Debug, Args)]
pub struct TreeArguments {
    /// Measure a tree of Bloom filters, as in dense:levels=3,fanout=4, in which keys are first looked
    /// up near their producer; can be repeated. --memory is that of each node. Parameters: levels,
    /// fanout, k, top-down, top-down-printed, root-slices, span
    #[arg(long = "tree", value_name = "SPEC", help_heading = "Many sites",
          conflicts_with_all = ["filters", "slices", "window", "time_field", "time_json_key"])]
    pub trees: Vec<TreeSpec>,

    /// The N-th field of a line names the producer of its key, for example a client's address.
    /// Without it, keys come from random producers
    #[arg(
        long,
        value_name = "N",
        help_heading = "Many sites",
        requires = "trees",
        conflicts_with = "stream",
        group = "separated"
    )]
    pub producer_field: Option<FieldList>,
}

/// A simulation of trees.
pub struct TreeRun<'a> {
    pub arguments: &'a TreeArguments,
    pub memories_bits: &'a [u64],
    pub seed: u64,
    pub key: &'a KeyArguments,
    pub quiet: bool,
}

/// How results are printed.
pub struct Report<'a> {
    pub render: fn(&[TreeSummary]) -> String,
    pub html: Option<&'a PathBuf>,
}

impl TreeRun<'_> {
    /// Runs the trees over a synthetic stream.
    pub fn over_stream(
        &self,
        stream: StreamSpec,
        count: u64,
        report: &Report,
    ) -> Result<(), Failure> {
        let mut keys = stream.open(count, self.seed);
        let mut simulation = self.simulation(keys.truth())?;
        while let Some((key, number)) = keys.next_key() {
            simulation.push_numbered(key, number);
        }
        report.write(&simulation, &stream.to_string())
    }

    /// Runs the trees over logs.
    pub fn over_logs(&self, inputs: &Inputs, report: &Report) -> Result<(), Failure> {
        let mut simulation = self.simulation(Truth::for_fingerprints())?;
        let rule = self.key.rule()?;
        let mut keys = KeyReader::of(rule.clone());
        let producer_field = self.arguments.producer_field.as_ref();
        let mut producers = producer_field.map(|fields| {
            let selector = KeySelector::fields(fields.clone(), self.key.delimiter());
            let mut producer_rule = KeyRule::from(selector);
            producer_rule.line_end = rule.line_end;
            KeyReader::of(producer_rule)
        });
        let (mut without_key, mut without_producer, mut too_long) = (0, 0, 0);
        let mut push = |line: &[u8]| {
            let Some(key) = keys.key(line) else {
                without_key += 1;
                return;
            };
            match producers.as_mut().map(|reader| reader.key(line)) {
                Some(None) => without_producer += 1,
                Some(producer) => simulation.push_key(key, producer),
                None => simulation.push_key(key, None),
            }
        };
        inputs.for_each_block(rule.line_end.byte(), |block| {
            match block {
                Block::Lines(lines) => lines.for_each(|line| push(line.content)),
                Block::Unterminated(line) => push(line.content),
                Block::LongLine(piece) => too_long += u64::from(piece.is_first),
                Block::Pause => {}
            }
            Ok(())
        })?;
        let with_key = simulation.count() + without_producer;
        let producer_message = match producer_field {
            None => Some(NO_PRODUCERS.to_owned()),
            Some(field) => missing_producers(field, without_producer, with_key),
        };
        let messages = [
            inputs.too_long(too_long, "skipped"),
            missing_keys::message(&rule, without_key, with_key + without_key, "skipped"),
            producer_message,
        ];
        for message in messages.into_iter().flatten().filter(|_| !self.quiet) {
            standard_error::message(message);
        }
        report.write(&simulation, &inputs.name())
    }

    fn simulation(&self, truth: Truth) -> Result<TreeSimulation, Failure> {
        let mut simulation = TreeSimulation::new(self.seed, truth);
        for &memory_bits in self.memories_bits {
            for tree in &self.arguments.trees {
                simulation
                    .add_tree(tree, memory_bits)
                    .map_err(|error| Failure::Usage(format!("--tree {tree}: {error}")))?;
            }
        }
        Ok(simulation)
    }
}

impl Report<'_> {
    fn write(&self, simulation: &TreeSimulation, name: &str) -> Result<(), Failure> {
        let summaries = simulation.summaries(name);
        if let Some(path) = self.html {
            html_report::trees::write(path, name, &summaries)?;
        }
        let mut output = Output::standard()?;
        output.text(&(self.render)(&summaries))?;
        output.flush()
    }
}

const NO_PRODUCERS: &str = "each key comes from a random leaf; --producer-field N says where a line \
                            names its producer, for example a client's address";

/// Returns a message about lines that do not name a producer; None if every line does.
fn missing_producers(field: &FieldList, missing: u64, lines: u64) -> Option<String> {
    (missing > 0).then(|| {
        format!(
            "{} of {} have no producer in field {field} and were skipped; check --producer-field",
            grouped(missing),
            plural(lines, "line")
        )
    })
}

/// The header of [`tree_cells`].
pub const TREE_HEADER: [&str; 10] = [
    "tree",
    "node memory",
    "nodes",
    "FPR",
    "FNR",
    "new dropped",
    "repeats passed",
    "unlike one filter",
    "remote messages/key",
    "bits/key",
];

/// The results of a tree, as texts.
pub fn tree_cells(summary: &TreeSummary) -> Vec<String> {
    let per_key = |number: Option<f64>, digits: usize| match number {
        None => "–".to_owned(),
        Some(number) => format!("{number:.digits$}"),
    };
    vec![
        summary.tree.clone(),
        value_parsers::show_bits(summary.memory_bits),
        grouped(summary.nodes),
        percent(summary.fpr),
        percent(summary.fnr),
        grouped(summary.fp),
        grouped(summary.false_negatives),
        grouped(summary.differs_from_single),
        per_key(summary.messages_remote, 3),
        per_key(summary.bits, 1),
    ]
}

/// The header of [`level_cells`].
pub const LEVEL_HEADER: [&str; 7] = [
    "level", "nodes", "accesses", "hits", "refuted", "tests", "sets",
];

/// What happened at a level, as texts.
pub fn level_cells(level: &LevelSummary) -> Vec<String> {
    let numbers = [
        level.nodes,
        level.accesses,
        level.hits,
        level.refuted,
        level.tests,
        level.sets,
    ];
    let cells = numbers.into_iter().map(grouped);
    std::iter::once(level.level.to_string())
        .chain(cells)
        .collect()
}

/// Says how many keys the stream has.
pub fn facts(summary: &TreeSummary) -> String {
    let keys = plural(summary.count, "key");
    // With a window, which keys are new depends on the tree.
    match summary.tree.contains("span=") {
        true => keys,
        false => {
            let (distinct, repeats) = (grouped(summary.distinct), summary.repeats);
            format!("{keys}, {distinct} distinct, {}", plural(repeats, "repeat"))
        }
    }
}

pub fn as_table(summaries: &[TreeSummary]) -> String {
    let Some(first) = summaries.first() else {
        return String::new();
    };
    let rows: Vec<Vec<String>> = summaries.iter().map(tree_cells).collect();
    let mut text = format!("{}: {}\n\n", first.stream, facts(first));
    text += &render(&TREE_HEADER, &rows);
    for summary in summaries {
        let rows: Vec<Vec<String>> = summary.levels.iter().map(level_cells).collect();
        let memory = value_parsers::show_bits(summary.memory_bits);
        text += &format!(
            "\n{}, {memory} per node; level 0 is the root\n",
            summary.tree
        );
        text += &render(&LEVEL_HEADER, &rows);
    }
    text
}
