//! Writes docs/TRADEOFFS.md: `cargo xtask tradeoff`.
//!
//! `tradeoff measure STREAM…` measures these streams and saves their cells below target/.
//! `tradeoff resume` writes the document and measures only the streams that have no saved
//! cells. `tradeoff features` prints the section on the price of features.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use dedupstore_tools::root;
use dedupstore_tools::tradeoff::{
    BITS_PER_KEY, Cell, EFFORT, HELD_OUT, HELD_OUT_EFFORT, STREAMS, Tally, cell_text, document,
    features, grid,
};
use dedupstore_tools::windows;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let resume = match arguments.split_first() {
        Some((first, streams)) if first == "measure" => {
            streams.iter().for_each(|stream| drop(measure(stream)));
            return;
        }
        Some((first, _)) if first == "features" => {
            print!("{}", features());
            return;
        }
        first => first.is_some_and(|(first, _)| first == "resume"),
    };
    let cells_of = |stream: &&str| match resume {
        true => saved(stream).unwrap_or_else(|| measure(stream)),
        false => measure(stream),
    };
    let cells: Vec<Cell> = STREAMS.iter().flat_map(cells_of).collect();
    let held_out: Vec<Cell> = HELD_OUT.iter().flat_map(cells_of).collect();
    let path = root().join("docs/TRADEOFFS.md");
    let windows = windows::cells();
    let text = document((&EFFORT, &cells), (&HELD_OUT_EFFORT, &held_out), &windows);
    fs::write(&path, text).expect("docs/TRADEOFFS.md can be written");
    println!("{}", path.display());
    println!("{:?}", Tally::of(cells.iter()));
    println!("{:?}", Tally::of(held_out.iter()));
}

/// The file with the cells of a stream.
fn cells_file(stream: &str) -> PathBuf {
    let name = stream.replace(':', "-");
    root().join("target/tradeoff").join(name)
}

fn saved(stream: &str) -> Option<Vec<Cell>> {
    cell_text::parse(&fs::read_to_string(cells_file(stream)).ok()?)
}

/// Measures a stream and saves its cells.
fn measure(stream: &str) -> Vec<Cell> {
    let started = Instant::now();
    let effort = match HELD_OUT.contains(&stream) {
        true => HELD_OUT_EFFORT,
        false => EFFORT,
    };
    let cells = effort.measure(stream, &grid(), &BITS_PER_KEY);
    cells.iter().for_each(report);
    let seconds = started.elapsed().as_secs_f64();
    eprintln!("{stream}: {seconds:.0} s, {:?}", Tally::of(cells.iter()));
    let path = cells_file(stream);
    let directory = path.parent().expect("a file in a directory");
    fs::create_dir_all(directory).expect("target/tradeoff can be created");
    fs::write(&path, cell_text::format(&cells)).expect("target/tradeoff can be written");
    cells
}

/// Prints the best run and the picks of a cell.
fn report(cell: &Cell) {
    let least = cell.least_errors().max(1) as f64;
    let (stream, bits, trials) = (&cell.stream, cell.bits_per_key, cell.trials());
    eprintln!("{stream} at {bits} bits per key, {trials} trials");
    let runs = [
        ("best", cell.best()),
        ("expect", &cell.without_sample),
        ("sample", &cell.with_sample),
    ];
    for (name, run) in runs {
        let errors = run.errors();
        eprintln!(
            "  {name} {}: {} dropped + {} missed, {:.3} times the fewest errors{}{}{}",
            run.filter,
            errors.dropped,
            errors.missed,
            errors.total() as f64 / least,
            if cell.is_on_front_by_counts(run) {
                ", on the front"
            } else {
                ""
            },
            if cell.is_good_by_counts(run) {
                ""
            } else {
                ", NOT GOOD"
            },
            if cell.is_dominated_by_papers(run) {
                ", DOMINATED BY A FILTER OF THE PAPERS"
            } else {
                ""
            },
        );
    }
}
