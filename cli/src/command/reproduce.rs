//! `dedupstore reproduce`: measures the tables of the papers again.

use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use clap::Args;
use dedupstore::lab::reproduce::{
    Cell, Job, Metric, OMISSIONS, Outcome, PAPERS, Plan, Reproduced, RunError, cells,
};

use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::html_report::papers;
use crate::output::Output;
use crate::standard_error;
use crate::table::{definitions, render, significant};
use crate::value_parsers;

/// Measure the tables of the papers again and compare each cell
///
/// Error rates depend on the memory per key, not on the length of the stream. So a hundredth of
/// the stream in a hundredth of the memory reproduces a table within a fraction of a percent.
/// Errors that are too rare at that scale are measured with several seeds. The same scale gives
/// the same numbers on every machine. Notes explain where a paper is wrong. Where a paper prints
/// a curve without numbers, there is nothing to deviate from: only the shape can be compared.
#[derive(Debug, Args)]
#[command(after_help = help())]
pub struct Arguments {
    /// The paper [default: all]
    #[arg(value_name = "PAPER")]
    paper: Option<String>,

    /// The table, by number [default: all]
    #[arg(value_name = "TABLE")]
    table: Option<String>,

    /// Measure only rows with this name
    #[arg(long, value_name = "NAME", requires = "table")]
    row: Option<String>,

    /// Measure only columns with this name
    #[arg(long, value_name = "NAME", requires = "table")]
    column: Option<String>,

    /// Divide stream and memory by this number; 1 is the full size, which takes hours and up to a
    /// gigabyte per thread
    #[arg(long, value_name = "N", default_value = "100", value_parser = value_parsers::count)]
    scale: u64,

    /// The number of concurrent runs [default: the number of processors]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Print one JSON object per cell, one per line
    #[arg(long)]
    json: bool,

    /// Also write one self-contained page with all tables and what each paper claims
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

fn help() -> String {
    let papers = PAPERS.iter().map(|paper| {
        let source = &paper.source;
        let citation = format!("{}: {}, {}", source.authors, source.title, source.year);
        (paper.id, citation)
    });
    let papers = definitions(papers);
    format!(
        "Papers:\n{papers}\nExamples:\n  dedupstore reproduce 000 4\n  dedupstore reproduce 003 --json\n  \
            dedupstore reproduce 001 9\n  \
            dedupstore reproduce 002 3\n  \
            dedupstore reproduce --html papers.html\n  \
            dedupstore reproduce 000 9 --row '512 MB' --column SBF --scale 1\n"
    )
}

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    let mut cells = cells(arguments.paper.as_deref(), arguments.table.as_deref())
        .map_err(|error| Failure::Usage(error.to_string()))?;
    cells.retain(|cell| {
        let is = |wanted: &Option<String>, name: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == name)
        };
        is(&arguments.row, &cell.row) && is(&arguments.column, cell.column)
    });
    if cells.is_empty() {
        return Err(Failure::Usage(
            "the table has no cell with that row and column; run the command without --row and \
             --column to see their names"
                .to_owned(),
        ));
    }
    let scale = arguments.scale.max(1);
    let plan = Plan::of(&cells, scale);
    let processors = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = arguments.threads.map_or_else(processors, NonZeroUsize::get);
    let progress = Progress {
        shown: !global.quiet && std::io::stderr().is_terminal(),
        jobs: plan.jobs.len(),
    };
    let mut output = Output::standard()?;
    let mut print = Printer::new(arguments.json);
    let mut outcomes: Vec<Option<Outcome>> = vec![None; plan.jobs.len()];
    let mut measured: Vec<Reproduced> = Vec::with_capacity(cells.len());
    execute(&plan.jobs, threads, |done, index, outcome| {
        progress.show(done);
        outcomes[index] = Some(outcome);
        // Cells are printed in the order of the paper, each as soon as all before it are known.
        while let Some((cell, outcome)) = next(&cells, &plan, &outcomes, measured.len()) {
            progress.clear();
            let cell = cell.with(outcome);
            output.text(&print.cell(&cell))?;
            output.flush()?;
            measured.push(cell);
        }
        Ok(())
    })?;
    progress.clear();
    output.text(&print.rest())?;
    if !arguments.json && arguments.table.is_none() {
        output.text(&omissions(arguments.paper.as_deref()))?;
    }
    output.flush()?;
    match &arguments.html {
        Some(path) => papers::write(path, scale, &measured),
        None => Ok(()),
    }
}

/// Returns what is left out, with the reasons.
fn omissions(paper: Option<&str>) -> String {
    let of_paper = OMISSIONS
        .iter()
        .filter(|it| paper.is_none_or(|paper| paper == it.paper));
    let lines = of_paper.map(|it| format!("Paper {}: {} {}.\n", it.paper, it.what, it.why));
    format!("Not reproduced\n\n{}", lines.collect::<String>())
}

fn next<'a>(
    cells: &'a [Cell],
    plan: &Plan,
    outcomes: &'a [Option<Outcome>],
    index: usize,
) -> Option<(&'a Cell, &'a Outcome)> {
    let cell = cells.get(index)?;
    Some((cell, outcomes[plan.job_of[index]].as_ref()?))
}

/// Executes the jobs in several threads. Passes the number of finished jobs, the index of the
/// job and its outcome to `take`.
fn execute(
    jobs: &[Job],
    threads: usize,
    mut take: impl FnMut(usize, usize, Outcome) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let (send, receive) = mpsc::channel::<(usize, Result<Outcome, RunError>)>();
    thread::scope(|scope| {
        for _ in 0..threads.min(jobs.len()) {
            let send = send.clone();
            let (next, stop) = (&next, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { break };
                    if send.send((index, job.execute())).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        let mut result = Ok(());
        for (done, (index, outcome)) in (1..).zip(&receive) {
            result = match outcome {
                Ok(outcome) => take(done, index, outcome),
                Err(error) => Err(Failure::Run(error)),
            };
            if result.is_err() {
                stop.store(true, Ordering::Relaxed);
                break;
            }
        }
        result
    })
}

/// The number of finished runs, on the terminal.
struct Progress {
    shown: bool,
    jobs: usize,
}

impl Progress {
    fn show(&self, done: usize) {
        if self.shown {
            standard_error::raw(&format!("\r{done} of {} runs\x1b[K", self.jobs));
        }
    }

    fn clear(&self) {
        if self.shown {
            standard_error::raw("\r\x1b[K");
        }
    }
}

/// Prints cells as lines of JSON, or collects them in one table per table of the paper.
struct Printer {
    json: bool,
    title: String,
    rows: Vec<Vec<String>>,
    notes: Vec<&'static str>,
}

impl Printer {
    fn new(json: bool) -> Self {
        Printer {
            json,
            title: String::new(),
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a cell; returns the text to print now.
    fn cell(&mut self, cell: &Reproduced) -> String {
        if self.json {
            return serde_json::to_string(cell).map_or(String::new(), |line| line + "\n");
        }
        let title = format!("Paper {}, {}", cell.paper, cell.table);
        let before = match title == self.title {
            true => String::new(),
            false => self.rest(),
        };
        self.title = title;
        let note = cell.note.map(|note| {
            let known = self.notes.iter().position(|&known| known == note);
            known.unwrap_or_else(|| {
                self.notes.push(note);
                self.notes.len() - 1
            })
        });
        self.rows.push(vec![
            cell.row.clone(),
            cell.column.to_owned(),
            cell.metric.name().to_owned(),
            cell.paper_value.map_or("–".to_owned(), |it| it.to_string()),
            match (cell.measured, cell.metric) {
                (Some(measured), _) => significant(measured),
                (None, Metric::Crossover) => "none".to_owned(),
                (None, _) => "–".to_owned(),
            },
            cell.deviation
                .map_or("–".to_owned(), |share| format!("{:+.1} %", 100.0 * share)),
            note.map_or(String::new(), |index| format!("[{}]", index + 1)),
        ]);
        before
    }

    /// Returns the table collected so far and starts a new one.
    fn rest(&mut self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let header = [
            "row",
            "column",
            "rate",
            "paper",
            "measured",
            "deviation",
            "",
        ];
        let mut text = format!("{}\n\n{}", self.title, render(&header, &self.rows));
        for (i, note) in self.notes.iter().enumerate() {
            text += &format!("\n[{}] {note}\n", i + 1);
        }
        self.rows.clear();
        self.notes.clear();
        text + "\n"
    }
}
