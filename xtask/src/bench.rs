//! Runs the benchmarks and writes docs/BENCHMARKS.md.
//!
//! Every section of the document is the output of one benchmark program, as it was printed. The
//! short mode runs smaller sizes and fewer rounds and writes no document.

use std::process::{Command, Stdio};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::step::{Outcome, cargo, root, run};
use crate::{browser, page};

const BENCHES: &str = "dedupstore-benches";
const COMMAND: &str = "dedupstore-cli";
/// The size of the log in the page.
const PAGE_MEGABYTES: &str = "500";

/// A benchmark program with its arguments, and what to know about its output.
struct Section {
    title: &'static str,
    text: &'static str,
    package: &'static str,
    bench: &'static str,
    arguments: &'static [&'static str],
    short_arguments: &'static [&'static str],
}

const SECTIONS: [Section; 4] = [
    Section {
        title: "Filters in memory",
        text: "`blocked-limit` is the bare cost of changing one random cache line that was \
               prefetched into the first-level cache, as is usual; the second row is the same \
               through the second-level cache, which our filters use. A row of ours that loses \
               against the best of the other crates is marked `slower`.",
        package: BENCHES,
        bench: "compare",
        arguments: &["1", "256", "1024", "hashed", "urls", "threads"],
        short_arguments: &[
            "1",
            "256",
            "hashed",
            "urls",
            "threads",
            "short",
            "blocked:",
            "slot",
            "word",
            "sbbf",
            "fastbloom",
        ],
    },
    Section {
        title: "How cost grows",
        text: "One thing changes per table. The exponent is that of the power law that fits best: \
               1 means proportional, 0 constant.",
        package: BENCHES,
        bench: "growth",
        arguments: &[],
        short_arguments: &["short"],
    },
    Section {
        title: "Store",
        text: "`MISSED` marks a target that is not reached.",
        package: BENCHES,
        bench: "store",
        arguments: &["1024"],
        short_arguments: &["256", "audit", "short", "blocked:k=4,cap=70"],
    },
    Section {
        title: "Command line",
        text: "The bare loop only splits lines, hashes them and writes 30 % of them. A program \
               with a smaller number than ours is faster.",
        package: COMMAND,
        bench: "lines",
        arguments: &[],
        short_arguments: &["1000000"],
    },
];

/// Runs all sections. Writes the document unless the mode is short.
pub fn bench(options: &[&str]) -> Outcome {
    let short = match options {
        [] => false,
        ["--short"] => true,
        _ => return Err("the only option of `bench` is --short".into()),
    };
    for package in [BENCHES, COMMAND] {
        let build = cargo(&["bench", "--quiet", "--no-run", "--package", package]);
        run("build of the benchmarks", build)?;
    }
    let started = Instant::now();
    let mut document = head();
    for section in &SECTIONS {
        let arguments = match short {
            true => section.short_arguments,
            false => section.arguments,
        };
        let printed = printed_by(section.command(arguments))?;
        document += &section.in_document(arguments, &printed);
    }
    let seconds = started.elapsed().as_secs_f64();
    eprintln!("benchmarks: {seconds:.0} s");
    if short {
        return Ok(());
    }
    document += &page_section()?;
    std::fs::write(root().join("docs/BENCHMARKS.md"), document)?;
    eprintln!("wrote docs/BENCHMARKS.md");
    Ok(())
}

impl Section {
    fn words<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        let program = ["bench", "--package", self.package, "--bench", self.bench];
        match arguments.is_empty() {
            true => program.to_vec(),
            false => [&program[..], &["--"], arguments].concat(),
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = cargo(&self.words(arguments));
        command.env("CARGO_TERM_QUIET", "true");
        command
    }

    fn in_document(&self, arguments: &[&str], printed: &str) -> String {
        let Section { title, text, .. } = self;
        let command = self.words(arguments).join(" ");
        let printed = printed.trim();
        format!("\n## {title}\n\n`cargo {command}`: {text}\n\n```text\n{printed}\n```\n")
    }
}

/// Runs a command, prints its output and returns it.
fn printed_by(mut command: Command) -> Outcome<String> {
    let output = command.stderr(Stdio::inherit()).output()?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{}", printed.trim_end());
    match output.status.success() {
        true => Ok(printed),
        false => Err(format!("failed ({}): {command:?}", output.status).into()),
    }
}

/// Times a large log in the page.
fn page_section() -> Outcome<String> {
    page::build()?;
    let mut build = cargo(&["build", "--release", "--quiet"]);
    build.args(["--package", COMMAND]);
    run("command line", build)?;
    let printed = printed_by(browser::large_log(PAGE_MEGABYTES)?)?;
    let measured = printed.lines().filter(|line| line.contains(" MB, "));
    let measured: Vec<&str> = measured
        .map(|line| line.trim_start_matches(['#', 'ℹ', ' ']))
        .collect();
    Ok(format!(
        "\n## Page\n\n`cargo xtask page-large {PAGE_MEGABYTES}`: five filters on a log in the \
         browser, and the same with the command line. The ratio is that of the speeds; below 1 the \
         page is slower.\n\n```text\n{}\n```\n",
        measured.join("\n")
    ))
}

fn head() -> String {
    format!(
        "# Benchmarks\n\n`cargo xtask bench` wrote this document on {} on {}. Contenders run \
         interleaved: each round runs every contender on the same keys, and a ratio is the median \
         over rounds of the ratio in the same round. Other runs on a shared machine differ by about \
         a tenth. `cargo xtask bench --short` takes three minutes and prints the most important \
         tables. All rows in which dedupstore is slower are included.\n",
        today(),
        machine()
    )
}

/// Returns the class of the machine: the number of cores and the name of the processor, without
/// its model number.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = information
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map(|line| line.trim_start_matches([' ', '\t', ':']));
    let words = name.unwrap_or("unknown processor").split(' ');
    let has_no_digit = |word: &&str| !word.chars().any(|it| it.is_ascii_digit());
    let class: Vec<&str> = words.take_while(has_no_digit).collect();
    let plural = if cores == 1 { "core" } else { "cores" };
    format!("{cores} {plural} of an {}", class.join(" "))
}

/// Returns the date, in Coordinated Universal Time.
fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut days = since.map_or(0, |since| since.as_secs() / 86_400);
    let mut year = 1970;
    let is_leap =
        |year: u64| year.is_multiple_of(400) || year.is_multiple_of(4) && !year.is_multiple_of(100);
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let months = [
        ("January", 31),
        ("February", february),
        ("March", 31),
        ("April", 30),
        ("May", 31),
        ("June", 30),
        ("July", 31),
        ("August", 31),
        ("September", 30),
        ("October", 31),
        ("November", 30),
        ("December", 31),
    ];
    for (month, length) in months {
        if days < length {
            return format!("{} {month} {year}", days + 1);
        }
        days -= length;
    }
    String::new()
}
