//! `dedupstore filter` beside the bare loop: `cargo bench --bench lines [-- LINES]`.
//!
//! The bare loop reads the same file, splits it with memchr, hashes each line with xxh3
//! and writes three lines in ten: everything but remembering. Both are processes of their
//! own, run in turn, and charged with their processor time, as the machine may be busy
//! with other things. Linux only: the figures come from /proc.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use dedupstore::lab::StreamSpec;
use memchr::memchr_iter;
use xxhash_rust::xxh3::xxh3_64;

const ROUNDS: usize = 5;
const BARE: &str = "--bare-loop";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, path] = &arguments[..]
        && mode == BARE
    {
        return bare_loop(Path::new(path));
    }
    let lines = arguments.iter().find_map(|argument| argument.parse().ok());
    let lines = lines.unwrap_or(20_000_000);
    let directory = tempfile::tempdir().expect("a place for the file");
    let path = directory.path().join("links.txt");
    let bytes = write_links(&path, lines);
    println!(
        "{lines} lines, {:.2} GB, three in ten new",
        bytes as f64 / 1e9
    );

    let this = std::env::current_exe().expect("this program");
    let (mut ratios, mut filters, mut bares) = (Vec::new(), Vec::new(), Vec::new());
    let mut resident = 0;
    for _ in 0..ROUNDS {
        let bare = run(Command::new(&this).arg(BARE).arg(&path));
        let filter = run(Command::new(env!("CARGO_BIN_EXE_dedupstore"))
            .arg("filter")
            .arg(&path));
        ratios.push(filter.processor_seconds / bare.processor_seconds);
        filters.push(filter.processor_seconds);
        bares.push(bare.processor_seconds);
        resident = resident.max(filter.resident_kib);
    }
    println!(
        "bare loop           {:6.2} s of processor time",
        median(bares)
    );
    println!(
        "dedupstore filter   {:6.2} s of processor time",
        median(filters)
    );
    println!("ratio               {:6.2}", median(ratios));
    println!(
        "resident, at most   {:6.1} MiB, of which the filter is 64",
        resident as f64 / 1024.0
    );
}

fn write_links(path: &Path, lines: u64) -> u64 {
    let mut file = BufWriter::new(File::create(path).expect("a file"));
    let mut keys = StreamSpec::Shuffle {
        distinct_percent: 30.0,
    }
    .open(lines, 1);
    while let Some((_, number)) = keys.next_key() {
        let site = number % 10_007;
        writeln!(
            file,
            "https://site-{site:05}.example/archive/pages/entry-{number:012}.html"
        )
        .expect("room on the disk");
    }
    file.flush().expect("room on the disk");
    path.metadata().map_or(0, |metadata| metadata.len())
}

fn bare_loop(path: &Path) {
    let mut input = File::open(path).expect("a file");
    let mut output = BufWriter::with_capacity(128 << 10, std::io::stdout().lock());
    let mut buffer = vec![0; 256 << 10];
    let mut held = 0;
    loop {
        let count = input.read(&mut buffer[held..]).expect("readable");
        if count == 0 {
            break;
        }
        let end = held + count;
        let mut start = 0;
        for newline in memchr_iter(b'\n', &buffer[..end]) {
            if xxh3_64(&buffer[start..newline]) % 10 < 3 {
                output.write_all(&buffer[start..=newline]).expect("written");
            }
            start = newline + 1;
        }
        buffer.copy_within(start..end, 0);
        held = end - start;
    }
    output.flush().expect("written");
}

struct Spent {
    processor_seconds: f64,
    resident_kib: u64,
}

fn run(command: &mut Command) -> Spent {
    let before = children_ticks();
    let mut child = command.stdout(Stdio::null()).spawn().expect("started");
    let status_file = format!("/proc/{}/status", child.id());
    let mut resident_kib = 0;
    while child.try_wait().expect("a child").is_none() {
        let status = std::fs::read_to_string(&status_file).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
        resident_kib = peak.unwrap_or(0).max(resident_kib);
        std::thread::sleep(Duration::from_millis(10));
    }
    Spent {
        processor_seconds: (children_ticks() - before) as f64 / 100.0,
        resident_kib,
    }
}

/// User and system time of all children waited for, in hundredths of a second.
fn children_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields = stat.rsplit(')').next().unwrap_or("").split_whitespace();
    // Fields 16 and 17; the first after the program's name is the third.
    fields
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
