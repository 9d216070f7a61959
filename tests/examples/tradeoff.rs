//! Writes docs/TRADEOFFS.md: `cargo run --release -p dedupstore-tests --example tradeoff`.

use std::fs;
use std::sync::Mutex;
use std::thread;

use dedupstore_tests::root;
use dedupstore_tests::tradeoff::{BITS_A_KEY, Contest, STREAMS, Tally, document};

const COUNT: u64 = 1_000_000;
const THREADS: usize = 2;

fn main() {
    let argument = std::env::args().nth(1);
    let count = argument.map_or(COUNT, |text| text.parse().expect("a number of keys"));
    let mut cells = Vec::new();
    for stream in STREAMS {
        let contest = Contest::new(stream, count, 1 << 17);
        let left: Mutex<Vec<f64>> = Mutex::new(BITS_A_KEY.to_vec());
        let done = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    loop {
                        let Some(bits) = left.lock().expect("no panic").pop() else {
                            break;
                        };
                        let cell = contest.cell(bits);
                        eprintln!("{stream} at {bits} bits a key: {}", cell.told.filter);
                        done.lock().expect("no panic").push(cell);
                    }
                });
            }
        });
        let mut done = done.into_inner().expect("no panic");
        done.sort_by(|a, b| a.bits_a_key.total_cmp(&b.bits_a_key));
        cells.extend(done);
    }
    let path = root().join("docs/TRADEOFFS.md");
    fs::write(&path, document(&cells, count)).expect("written");
    println!("{}: {:?}", path.display(), Tally::of(&cells));
}
