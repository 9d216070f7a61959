//! Writes docs/TRADEOFFS.md: `cargo run --release -p dedupstore-tests --example tradeoff`.
//!
//! `tradeoff measure STREAM…` only measures these and keeps what came out below target/; then
//! `tradeoff kept` writes the document from what is kept, and measures what is not.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use dedupstore_tests::root;
use dedupstore_tests::tradeoff::{
    BITS_A_KEY, Cell, Effort, HELD_OUT, STREAMS, Tally, document, grid, kept,
};

const EFFORT: Effort = Effort {
    count: 500_000,
    least_tracks: 16,
    most_tracks: 256,
    enough_errors: 2000,
    seed: 1,
    threads: 2,
};
/// On the streams that nothing was chosen by: shorter, under other seeds.
const OTHER_EFFORT: Effort = Effort {
    count: 200_000,
    most_tracks: 64,
    seed: 500_000,
    ..EFFORT
};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let may_be_kept = match arguments.split_first() {
        Some((first, streams)) if first == "measure" => {
            streams.iter().for_each(|stream| drop(measured(stream)));
            return;
        }
        first => first.is_some_and(|(first, _)| first == "kept"),
    };
    let cells_of = |stream: &&str| match may_be_kept {
        true => read(stream).unwrap_or_else(|| measured(stream)),
        false => measured(stream),
    };
    let cells: Vec<Cell> = STREAMS.iter().flat_map(cells_of).collect();
    let held_out: Vec<Cell> = HELD_OUT.iter().flat_map(cells_of).collect();
    let path = root().join("docs/TRADEOFFS.md");
    fs::write(
        &path,
        document((&EFFORT, &cells), (&OTHER_EFFORT, &held_out)),
    )
    .expect("written");
    println!("{}", path.display());
    println!("{:?}", Tally::of(cells.iter()));
    println!("{:?}", Tally::of(held_out.iter()));
}

fn place(stream: &str) -> PathBuf {
    let name = stream.replace(':', "-");
    root().join("target/tradeoff").join(name)
}

fn read(stream: &str) -> Option<Vec<Cell>> {
    kept::read(&fs::read_to_string(place(stream)).ok()?)
}

fn measured(stream: &str) -> Vec<Cell> {
    let started = Instant::now();
    let effort = match HELD_OUT.contains(&stream) {
        true => OTHER_EFFORT,
        false => EFFORT,
    };
    let cells = effort.cells(stream, &grid(), &BITS_A_KEY);
    cells.iter().for_each(report);
    let seconds = started.elapsed().as_secs_f64();
    eprintln!("{stream}: {seconds:.0} s, {:?}", Tally::of(cells.iter()));
    let path = place(stream);
    let folder = path.parent().expect("a folder");
    fs::create_dir_all(folder).expect("a folder");
    fs::write(&path, kept::written(&cells)).expect("written");
    cells
}

/// What was picked in a cell, beside the best.
fn report(cell: &Cell) {
    let least = cell.least_errors().max(1) as f64;
    let (stream, bits, tracks) = (&cell.stream, cell.bits_a_key, cell.tracks());
    eprintln!("{stream} at {bits} bits a key, {tracks} tracks");
    let picks = [
        ("best", cell.best()),
        ("expect", &cell.untold),
        ("sample", &cell.told),
    ];
    for (name, run) in picks {
        let errors = run.errors();
        eprintln!(
            "  {name} {}: {} + {}, {:.3} times the least{}{}{}",
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
                ", MISSED"
            },
            if cell.papers_beat(run) {
                ", BEATEN BY PAPERS"
            } else {
                ""
            },
        );
    }
}
