//! `dedupstore reproduce`: the papers' tables beside ours.

use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use clap::Args;
use dedupstore::lab::reproduce::{Cell, Job, Outcome, PAPERS, Plan, Reproduced, RunError, cells};

use crate::error::Failure;
use crate::output::Output;
use crate::quantity;
use crate::table::render;

/// Measure the papers' tables anew, cell by cell, and note where a paper is wrong
///
/// Rates do not depend on the size as long as the memory shrinks with the stream, so a
/// hundredth of it shows a table within a fraction of a percent; rates that are then too rare
/// to count are measured under several seeds. The same scale gives the same numbers everywhere.
#[derive(Debug, Args)]
#[command(after_help = help())]
pub struct Arguments {
    /// The paper [default: all]
    #[arg(value_name = "PAPER")]
    paper: Option<String>,

    /// The table, by number [default: all]
    #[arg(value_name = "TABLE")]
    table: Option<String>,

    /// Only rows with this name
    #[arg(long, value_name = "NAME", requires = "table")]
    row: Option<String>,

    /// Only columns with this name
    #[arg(long, value_name = "NAME", requires = "table")]
    column: Option<String>,

    /// How much smaller than in the paper; 1 is full size and takes hours and up to a gigabyte
    /// a thread
    #[arg(long, value_name = "N", default_value = "100", value_parser = quantity::count)]
    scale: u64,

    /// How many runs at a time [default: as many as there are processors]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// Print one object a line, a line a cell
    #[arg(long)]
    json: bool,
}

fn help() -> String {
    let mut text = String::from("Papers:\n");
    for paper in PAPERS {
        let source = &paper.source;
        text += &format!(
            "  {}  {}: {}, {}\n",
            paper.id, source.authors, source.title, source.year
        );
    }
    text + "\nExamples:\n  dedupstore reproduce 000 4\n  dedupstore reproduce 003 --json\n  \
            dedupstore reproduce 000 9 --row '512 MB' --column SBF --scale 1\n"
}

pub fn run(arguments: Arguments, quiet: bool) -> Result<(), Failure> {
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
            "no cell of the table has that row and column; run it without --row and --column \
             to see their names"
                .to_owned(),
        ));
    }
    let plan = Plan::of(&cells, arguments.scale.max(1));
    let processors = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = arguments.threads.map_or_else(processors, NonZeroUsize::get);
    let progress = Progress {
        shown: !quiet && std::io::stderr().is_terminal(),
        jobs: plan.jobs.len(),
    };
    let mut output = Output::standard()?;
    let mut print = Printer::new(arguments.json);
    let mut outcomes: Vec<Option<Outcome>> = vec![None; plan.jobs.len()];
    let mut printed = 0;
    execute(&plan.jobs, threads, |done, place, outcome| {
        progress.show(done);
        outcomes[place] = Some(outcome);
        // Cells come out in the papers' order, each as soon as it and those before are known.
        while let Some((cell, outcome)) = next(&cells, &plan, &outcomes, printed) {
            progress.clear();
            output.text(&print.cell(&cell.with(&outcome)))?;
            output.flush()?;
            printed += 1;
        }
        Ok(())
    })?;
    progress.clear();
    output.text(&print.rest())?;
    output.flush()
}

fn next<'a>(
    cells: &'a [Cell],
    plan: &Plan,
    outcomes: &[Option<Outcome>],
    place: usize,
) -> Option<(&'a Cell, Outcome)> {
    let cell = cells.get(place)?;
    Some((cell, outcomes[plan.job_of[place]]?))
}

/// Does the jobs on so many threads; `take` gets how many are done, which it is, and what
/// came out.
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
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(place) else { break };
                    if send.send((place, job.execute())).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        let mut result = Ok(());
        for (done, (place, outcome)) in (1..).zip(&receive) {
            result = match outcome {
                Ok(outcome) => take(done, place, outcome),
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

/// How many runs are done, where somebody watches.
struct Progress {
    shown: bool,
    jobs: usize,
}

impl Progress {
    fn show(&self, done: usize) {
        if self.shown {
            eprint!("\r{done} of {} runs\x1b[K", self.jobs);
        }
    }

    fn clear(&self) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
    }
}

/// Cells as lines of JSON, or gathered into a table for each of the paper's.
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

    /// What is to be printed when this cell comes.
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
        let known = cell.note.map(|note| {
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
            cell.paper_value.to_string(),
            cell.measured.map_or("–".to_owned(), significant),
            cell.deviation
                .map_or("–".to_owned(), |share| format!("{:+.1} %", 100.0 * share)),
            known.map_or(String::new(), |place| format!("[{}]", place + 1)),
        ]);
        before
    }

    /// The table gathered so far.
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

/// Four digits that mean something.
fn significant(number: f64) -> String {
    let whole_digits = number.abs().max(1e-9).log10().floor() as i32 + 1;
    format!("{number:.*}", (4 - whole_digits).clamp(0, 6) as usize)
}
