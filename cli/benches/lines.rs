//! Compares `dedupstore filter` with other programs: `cargo bench --bench lines [-- LINES]`.
//!
//! The bare loop reads the same file, splits it with memchr, hashes each line with xxh3 and writes
//! 30 % of the lines: everything except remembering keys. The other programs (huniq, xuniq, sort,
//! gawk) run if they are installed. Each program runs as a process of its own, in turn. CPU time is
//! measured because the machine may be busy, and the time that passes because of runs with two
//! threads, which need an idle machine. Linux only: the numbers come from /proc.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dedupstore::lab::StreamSpec;
use memchr::memchr_iter;
use xxhash_rust::xxh3::xxh3_64;

const ROUNDS: usize = 5;
const BARE: &str = "--bare-loop";
/// Ends the name of a run with two threads; the same run with one thread has the name before it.
const TWO: &str = ", 2 threads";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, path] = &arguments[..]
        && mode == BARE
    {
        return bare_loop(Path::new(path));
    }
    let lines = arguments.iter().find_map(|argument| argument.parse().ok());
    let lines = lines.unwrap_or(20_000_000);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("links.txt");
    let bytes = write_links(&path, lines);
    println!("{lines} lines, {:.2} GB, 30 % new", bytes as f64 / 1e9);

    let store = directory.path().join("links.dds");
    let mut contenders = contenders(&path, &store);
    println!(
        "{:<34} {:>8} {:>8} {:>12} {:>10} {:>8} {:>8}",
        "", "CPU s", "wall s", "× bare loop", "× store", "2 thr.", "MiB"
    );
    for round in 0..ROUNDS {
        for contender in &mut contenders {
            if round < contender.rounds {
                let _ = std::fs::remove_dir_all(&store);
                if let Some(usage) = run(&mut contender.command) {
                    contender.usage.push(usage);
                }
            }
        }
    }
    let seconds =
        |contender: &Contender| median(contender.usage.iter().map(|usage| usage.cpu_seconds));
    let (bare, stored) = (seconds(&contenders[0]), seconds(&contenders[2]));
    for contender in &contenders {
        let name = &contender.name;
        if contender.usage.is_empty() {
            println!("{name:<34} not installed");
            continue;
        }
        let seconds = seconds(contender);
        let resident = contender.usage.iter().map(|usage| usage.resident_kib).max();
        // The speed of two threads relative to one, by the time that passes.
        let alone = contenders
            .iter()
            .find(|it| name.strip_suffix(TWO) == Some(&it.name[..]));
        let faster = alone.map(|alone| {
            let rounds = alone.usage.iter().zip(&contender.usage);
            median(rounds.map(|(one, two)| one.wall_seconds / two.wall_seconds))
        });
        println!(
            "{name:<34} {seconds:>8.2} {:>8.2} {:>12.2} {:>10.2} {:>8} {:>8.1}",
            median(contender.usage.iter().map(|usage| usage.wall_seconds)),
            seconds / bare,
            seconds / stored,
            faster.map_or(String::new(), |ratio| format!("{ratio:.2}")),
            resident.unwrap_or(0) as f64 / 1024.0,
        );
    }
}

struct Contender {
    name: String,
    command: Command,
    rounds: usize,
    usage: Vec<Usage>,
}

/// Returns the contenders. The first is the bare loop, the third the store.
fn contenders(path: &Path, store: &Path) -> Vec<Contender> {
    let contender = |name: &str, command, rounds| Contender {
        name: name.to_owned(),
        command,
        rounds,
        usage: Vec::new(),
    };
    let with = |program: &str, arguments: &[&std::ffi::OsStr]| {
        let mut command = Command::new(program);
        command.args(arguments);
        command
    };
    let reading = |program: &str| {
        let mut command = Command::new("sh");
        let script =
            format!("command -v {program} >/dev/null || exit 127; exec {program} < \"$0\"");
        command.args(["-c", &script]).arg(path);
        command
    };
    let this = std::env::current_exe().expect("this program");
    let this = this.to_str().expect("text");
    let ours = env!("CARGO_BIN_EXE_dedupstore");
    let filter = |options: &str, threads: &str, inputs: &[&Path]| {
        let mut command = Command::new(ours);
        command.args(["--quiet", "filter", "--threads", threads]);
        command.args(options.split_whitespace()).args(inputs);
        command
    };
    let mut contenders = vec![contender(
        "bare loop",
        with(this, &[BARE.as_ref(), path.as_ref()]),
        ROUNDS,
    )];
    let runs: [(&str, &str, &[&Path]); 4] = [
        ("dedupstore filter", "", &[path]),
        ("dedupstore filter STORE", "", &[store, path]),
        ("  --normalize whatwg", "--normalize whatwg", &[path]),
        ("  --key-regex", "--key-regex entry-([0-9]+)", &[path]),
    ];
    for threads in ["1", "2"] {
        for (name, options, inputs) in runs {
            let suffix = if threads == "2" { TWO } else { "" };
            let command = filter(options, threads, inputs);
            contenders.push(contender(&format!("{name}{suffix}"), command, ROUNDS));
        }
    }
    contenders.extend([
        contender("huniq", reading("huniq"), ROUNDS),
        contender("xuniq", reading("xuniq"), ROUNDS),
        contender("sort -u", reading("sort -u"), 1),
        contender("gawk '!seen[$0]++'", reading("gawk '!seen[$0]++'"), 1),
    ]);
    contenders
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
        .expect("enough disk space");
    }
    file.flush().expect("enough disk space");
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

struct Usage {
    cpu_seconds: f64,
    wall_seconds: f64,
    resident_kib: u64,
}

/// Runs a program and measures it. None if it is not installed.
fn run(command: &mut Command) -> Option<Usage> {
    let before = children_ticks();
    let started = Instant::now();
    let mut child = command.stdout(Stdio::null()).spawn().expect("started");
    let status_file = format!("/proc/{}/status", child.id());
    let mut resident_kib = 0;
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        let status = std::fs::read_to_string(&status_file).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
        resident_kib = peak.unwrap_or(0).max(resident_kib);
        std::thread::sleep(Duration::from_millis(10));
    };
    let wall_seconds = started.elapsed().as_secs_f64();
    if status.code() == Some(127) {
        return None;
    }
    assert!(status.success(), "{command:?}: {status}");
    Some(Usage {
        cpu_seconds: (children_ticks() - before) as f64 / 100.0,
        wall_seconds,
        resident_kib,
    })
}

/// Returns the user and system time of all finished children, in hundredths of a second.
fn children_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields = stat.rsplit(')').next().unwrap_or("").split_whitespace();
    // Fields 16 and 17; the first field after the program name is the third.
    fields
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
