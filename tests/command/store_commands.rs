//! Commands on stores: create, explain, merge, inspect, and the options of filter for stores.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use dedupstore_tests::fixture;
use serde_json::Value;
use tempfile::TempDir;

use crate::DEDUPSTORE;

/// A temporary directory in which commands are run.
pub struct WorkingDirectory(TempDir);

impl WorkingDirectory {
    pub fn new() -> Self {
        WorkingDirectory(TempDir::new().expect("a directory"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(DEDUPSTORE);
        command
            .args(arguments.split(' '))
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn run(&self, arguments: &str, input: &str) -> Output {
        let mut child = self.command(arguments).spawn().expect("started");
        let mut stdin = child.stdin.take().expect("piped");
        // The command may not read its input.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        child.wait_with_output().expect("ended")
    }

    /// Returns the standard output of a command that must succeed.
    #[track_caller]
    pub fn prints(&self, arguments: &str, input: &str) -> String {
        let output = self.run(arguments, input);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments}: {message}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Returns the standard error of a command that must fail.
    #[track_caller]
    pub fn fails(&self, arguments: &str) -> String {
        let output = self.run(arguments, "");
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        String::from_utf8(output.stderr).expect("text")
    }
}

#[test]
fn explain_shows_the_cells_and_the_verdict() {
    let directory = WorkingDirectory::new();
    directory.prints("create a.dds --memory 1KiB --seed 1 --normalize whatwg", "");
    directory.prints("filter a.dds", "http://a.example/\n");
    let page = directory.prints("explain a.dds HTTP://A.example", "");
    for part in [
        "normalized   http://a.example/",
        "verdict      seen",
        ": 1\n",
        "would be reported as seen too",
    ] {
        assert!(page.contains(part), "{part:?} is not in {page}");
    }
    let object = directory.prints("explain a.dds b --json", "");
    let object: Value = serde_json::from_str(&object).expect("an object");
    assert_eq!(
        (&object["schema"], &object["verdict"]),
        (&1.into(), &"new".into())
    );
    assert_eq!(object["places"].as_array().map(Vec::len), Some(6));
    let observations = directory.prints("inspect a.dds --json", "");
    assert!(
        observations.contains("\"observations\":1,"),
        "explain recorded a key"
    );
}

#[test]
fn explain_works_for_every_filter() {
    let directory = WorkingDirectory::new();
    for descriptor in dedupstore::registry() {
        let name = descriptor.name;
        let store = format!("{name}.dds");
        directory.prints(
            &format!("create {store} --memory 1KiB --seed 1 --filter {name}"),
            "",
        );
        directory.prints(&format!("filter {store}"), "a\nb\n");
        let object = directory.prints(&format!("explain {store} a --json"), "");
        let object: Value = serde_json::from_str(&object).expect("an object");
        assert_eq!(object["verdict"], "seen", "{name}");
        let cells = object["places"].as_array().map(Vec::len);
        assert!(cells > Some(0), "{name}: {object}");
        let page = directory.prints(&format!("explain {store} never"), "");
        assert!(page.contains("\nbecause      "), "{name}: {page}");
        assert!(page.lines().count() < 45, "{name}: {page}");
    }
}

#[test]
fn explain_says_that_a_new_key_is_certain_if_the_filter_never_forgets() {
    let directory = WorkingDirectory::new();
    for (filter, certain) in [
        ("blocked:k=6,cap=100", true),
        ("blocked:k=6,cap=85", false),
        ("bloom:k=4", true),
    ] {
        let store = format!("{filter}.dds");
        directory.prints(
            &format!("create {store} --memory 1KiB --filter {filter}"),
            "",
        );
        let page = directory.prints(&format!("explain {store} a"), "");
        assert_eq!(
            page.contains("certain: this filter has no false negatives"),
            certain,
            "{page}"
        );
    }
}

/// The commands in the help, as they are printed, and a third store.
#[test]
fn the_example_of_merge_works_and_so_do_three_stores() {
    let directory = WorkingDirectory::new();
    let help = directory.prints("help merge", "");
    let lines = help.lines().map(str::trim);
    let example: Vec<&str> = lines
        .filter_map(|line| line.strip_prefix("dedupstore "))
        .collect();
    assert_eq!(example.len(), 3, "{help}");
    for (command, side) in example.iter().zip(["east", "west"]) {
        directory.prints(command, "");
        directory.prints(&format!("filter {side}.dds"), &format!("{side}\nboth\n"));
    }
    directory.prints(example[2], "");
    directory.prints("contains both.dds east west both", "");
    directory.prints("create north.dds --seed 7", "");
    directory.prints("filter north.dds", "north\n");
    directory.prints("merge all.dds east.dds north.dds west.dds", "");
    directory.prints("contains all.dds east west north both", "");
    let inspected = directory.prints("inspect all.dds --json", "");
    let inspected: Value = serde_json::from_str(&inspected).expect("an object");
    assert_eq!(inspected["observations"], 5);
}

/// A filter with room for its keys has forgotten nothing; one that is too full says how many
/// repeats it misses.
#[test]
fn explain_says_how_likely_it_is_that_a_new_key_was_forgotten() {
    let directory = WorkingDirectory::new();
    let keys = |count: u32| (0..count).map(|key| format!("{key}\n")).collect::<String>();
    let certain = "certain: this filter can forget, but has not yet forgotten";
    for filter in ["blocked", "recent", "word", "slot", "aging", "buffer"] {
        let store = format!("{filter}.dds");
        directory.prints(
            &format!("create {store} --memory 64KiB --filter {filter}"),
            "",
        );
        directory.prints(&format!("-q filter {store}"), &keys(10));
        let page = directory.prints(&format!("explain {store} x"), "");
        assert!(page.contains(certain), "{filter}: {page}");
    }
    directory.prints("create full.dds --memory 1KiB --seed 1", "");
    directory.prints("-q filter full.dds", &keys(20_000));
    let page = (0..20)
        .map(|key| directory.prints(&format!("explain full.dds never-{key}"), ""))
        .find(|page| page.contains("verdict      new"))
        .expect("a new key");
    assert!(
        page.contains("by theory, ") && page.contains("of repeats are reported as new"),
        "{page}"
    );
    let object = directory.prints("explain full.dds 1 --json", "");
    let object: Value = serde_json::from_str(&object).expect("an object");
    assert_eq!(object["may_have_forgotten"], true);
    assert!(object["predicted_fnr"].as_f64() > Some(0.1), "{object}");
}

#[test]
fn merge_creates_the_union_or_reports_why_not() {
    let directory = WorkingDirectory::new();
    for (name, options) in [
        ("a.dds", "--memory 64KiB --seed 7 --filter bloom"),
        ("b.dds", "--memory 64KiB --seed 7 --filter bloom"),
        ("seed.dds", "--memory 64KiB --seed 8 --filter bloom"),
        ("size.dds", "--memory 32KiB --seed 7 --filter bloom"),
        (
            "normalized.dds",
            "--memory 64KiB --seed 7 --filter bloom --normalize whatwg",
        ),
        ("dsqf.dds", "--memory 64KiB --seed 7 --filter dsqf"),
        ("dsqf2.dds", "--memory 64KiB --seed 7 --filter dsqf"),
    ] {
        directory.prints(&format!("create {name} {options}"), "");
    }
    directory.prints("filter a.dds", "one\nboth\n");
    directory.prints("filter b.dds", "two\nboth\n");
    directory.prints("merge c.dds a.dds b.dds", "");
    directory.prints("contains c.dds one two both", "");
    assert_eq!(
        directory.run("contains c.dds three", "").status.code(),
        Some(1)
    );
    directory.prints("verify c.dds", "");
    assert_eq!(directory.prints("filter c.dds", "one\nthree\n"), "three\n");
    for (other, reason) in [
        ("seed.dds", "seeds differ, 7 and 8"),
        ("size.dds", "memory sizes differ"),
        ("normalized.dds", "normalizations differ, none and whatwg"),
        ("dsqf.dds", "filters differ"),
    ] {
        let message = directory.fails(&format!("merge d.dds a.dds {other}"));
        assert!(message.contains(reason), "{message}");
    }
    let message = directory.fails("merge d.dds dsqf.dds dsqf2.dds");
    assert!(message.contains("it forgets"), "{message}");
    assert!(
        directory
            .fails("merge c.dds a.dds b.dds")
            .contains("already exists")
    );
    assert!(!directory.path("d.dds").exists());
}

#[test]
fn create_chooses_a_size_and_gives_the_reason() {
    let directory = WorkingDirectory::new();
    let created = directory.prints("create a.dds --expect 1M --fpr 1%", "");
    assert!(created.contains("1,000,000 distinct keys"), "{created}");
    let inspected = directory.prints("inspect a.dds --json", "");
    let inspected: Value = serde_json::from_str(&inspected).expect("an object");
    let bits = inspected["memory_bits"].as_u64().expect("a number");
    // A Bloom filter needs at least 9.59 bits per key for a rate of 1 %.
    assert!((9_585_000..10_200_000).contains(&bits), "{bits}");

    let log = fixture("crawl.log");
    let log = log.to_str().expect("text");
    let created = directory.prints(&format!("create b.dds --for {log} --memory 4KiB"), "");
    assert!(
        created.contains("8,576 distinct keys") && created.contains("4 KiB"),
        "{created}"
    );
    let hosts = format!("create c.dds --for {log} --key-regex //([^/]*)/");
    let created = directory.prints(&hosts, "");
    assert!(
        created.contains("the 24 distinct keys of the log"),
        "{created}"
    );
}

#[test]
fn metrics_are_complete_and_correct_at_the_end() {
    let directory = WorkingDirectory::new();
    directory.prints("create a.dds --memory 64KiB --field 2", "");
    let arguments = "filter a.dds --metrics m.prom --metrics-every 1ms";
    directory.prints(arguments, "1 a\n2 b\n3 a\nalone\n");
    let text = fs::read_to_string(directory.path("m.prom")).expect("written");
    for line in [
        "dedupstore_items_total{verdict=\"new\"} 2",
        "dedupstore_items_total{verdict=\"seen\"} 1",
        "dedupstore_items_total{verdict=\"without_key\"} 1",
        "dedupstore_read_bytes_total 18",
        "dedupstore_observations 3",
        "dedupstore_recovered_observations 0",
        "# TYPE dedupstore_items_total counter",
    ] {
        assert!(
            text.lines().any(|found| found == line),
            "{line} is not in {text}"
        );
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        assert!(
            name.starts_with("dedupstore_") && value.parse::<f64>().is_ok(),
            "{line}"
        );
    }
    let left: Vec<_> = fs::read_dir(directory.0.path()).expect("a file").collect();
    assert_eq!(
        left.len(),
        2,
        "only the store and the metrics, no temporary file"
    );
    directory.prints("filter --metrics memory.prom", "a\n");
}

#[cfg(unix)]
#[test]
fn inspect_watch_runs_until_the_pipe_is_closed() {
    let directory = WorkingDirectory::new();
    directory.prints("create a.dds --memory 64KiB", "");
    let mut child = directory
        .command("inspect a.dds --json --watch=10ms")
        .spawn()
        .expect("started");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    for _ in 0..3 {
        let line = lines.next().expect("another").expect("text");
        let object: Value = serde_json::from_str(&line).expect("an object");
        assert_eq!(object["schema"], 1);
    }
    drop(lines);
    assert!(child.wait().expect("ended").success());
}

#[test]
fn simulate_writes_an_html_page() {
    let directory = WorkingDirectory::new();
    let table = directory.prints(
        "simulate --stream shuffle:50 -n 20k --memory 2KiB --html a.html",
        "",
    );
    assert!(table.contains("bloom"), "the table is printed too");
    let page = fs::read_to_string(directory.path("a.html")).expect("written");
    assert!(page.contains("\"stream\":\"shuffle:50\""));
}

/// Clap wraps what is too wide for the terminal, without indentation.
#[test]
fn lists_in_the_help_are_wrapped_with_indentation() {
    let directory = WorkingDirectory::new();
    for command in ["generate", "simulate"] {
        for columns in [60, 80, 200] {
            let output = directory
                .command(&format!("{command} --help"))
                .env("COLUMNS", columns.to_string())
                .output()
                .expect("started");
            let help = String::from_utf8(output.stdout).expect("text");
            let list = help.split("Streams:\n").nth(1).expect("a list");
            assert!(list.contains("shuffle:X"), "{help}");
            for line in list.lines() {
                assert!(line.starts_with("  "), "{columns} columns: {line:?}");
                assert!(line.chars().count() <= columns.min(80), "{line:?}");
            }
        }
    }
}

#[test]
fn one_of_a_kind_is_singular() {
    let directory = WorkingDirectory::new();
    let created = directory.prints("create a.dds --expect 1", "");
    assert!(created.contains("with 1 distinct key in it"), "{created}");
    let table = directory.prints("simulate --filter bloom", "a\na\n");
    assert!(
        table.contains("2 keys, 1 distinct, 1 repeat; half of the repeats are at most 1 key back"),
        "{table}"
    );
}

#[test]
fn man_writes_one_page_per_command() {
    let directory = WorkingDirectory::new();
    assert!(directory.prints("man", "").contains(".TH dedupstore"));
    fs::create_dir(directory.path("man")).expect("created");
    directory.prints("man --to man", "");
    let page = fs::read_to_string(directory.path("man/dedupstore-filter.1")).expect("a page");
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        page.contains(&format!("\"dedupstore {version}\"")),
        "{page}"
    );
    let pages = fs::read_dir(directory.path("man")).expect("pages");
    for page in pages.map(|entry| entry.expect("an entry").path()) {
        let text = fs::read_to_string(&page).expect("a page");
        assert!(!text.contains("EXTRA"), "{}", page.display());
        let footer = format!(" \"dedupstore {version}\"");
        assert!(text.contains(&footer), "{}", page.display());
    }
    for section in ["NAME", "OPTIONS", "FILTER", "EXAMPLES", "VERSION"] {
        assert!(
            page.contains(&format!("\n.SH {section}\n")),
            "{section} is not in {page}"
        );
    }
}

#[test]
fn man_shows_which_arguments_can_be_repeated() {
    let directory = WorkingDirectory::new();
    directory.prints("man --to .", "");
    for (command, argument) in [
        ("filter", r"[\fISTORE|FILE\fR]..."),
        ("contains", r"<\fISTORE\fR> [\fIKEY\fR]..."),
        ("merge", r"<\fIDEST\fR> <\fISTORE\fR>..."),
    ] {
        let page = directory.path(&format!("dedupstore-{command}.1"));
        let page = fs::read_to_string(page).expect("a page");
        let synopsis = page.lines().skip_while(|line| *line != ".SH SYNOPSIS");
        let synopsis = synopsis.skip(1).find(|line| line.contains("\\fB"));
        let synopsis = synopsis.expect("a synopsis");
        assert!(synopsis.contains(argument), "{synopsis}");
    }
}

/// The binary contains the page only if the page was built before it.
#[cfg(unix)]
#[test]
fn playground_serves_the_page_to_this_machine_only() {
    use std::io::Read;
    use std::net::TcpStream;

    let directory = WorkingDirectory::new();
    let mut child = directory.command("playground").spawn().expect("started");
    let mut address = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    stdout.read_line(&mut address).expect("text");
    let Some(host) = address.trim().strip_prefix("http://") else {
        let output = child.wait_with_output().expect("ended");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("cargo xtask playground"), "{message}");
        eprintln!("skipped: this binary was built without the page");
        return;
    };
    let host = host.trim_end_matches('/');
    let request = |host_header: &str| {
        let mut stream = TcpStream::connect(host).expect("connected");
        let request = format!("GET / HTTP/1.1\r\nHost: {host_header}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("written");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("read");
        response
    };
    let page = request(host);
    assert!(
        page.starts_with("HTTP/1.1 200") && page.contains("<!doctype html>"),
        "{page}"
    );
    assert!(request("harbour.example").starts_with("HTTP/1.1 403"));
    child.kill().expect("ended");
    child.wait().expect("ended");
}

/// The audit samples about sixty keys of the log; `simulate` knows all of them. Of thirty 95 %
/// intervals, one or two may miss the exact rate; the test allows three.
#[test]
fn audited_rates_agree_with_simulate() {
    let directory = WorkingDirectory::new();
    let log = fixture("crawl.log");
    let log = log.to_str().expect("text");
    let read = |command: &str| -> Value {
        serde_json::from_str(&directory.prints(command, "")).expect("an object")
    };
    let mut missed = Vec::new();
    for (filter, memory) in [
        ("stable", "2KiB"),
        ("word", "1KiB"),
        ("bloom:k=4", "1KiB"),
        ("recent", "1KiB"),
        ("slot:values=15", "2KiB"),
    ] {
        for seed in 1..=3 {
            let store = format!("{filter}-{seed}.dds");
            let settings = format!("--filter {filter} --memory {memory} --seed {seed}");
            directory.prints(&format!("-q create {store} {settings}"), "");
            directory.prints(&format!("-q filter {store} {log}"), "");
            let inspected = read(&format!("inspect {store} --json"));
            let simulated = read(&format!("simulate {log} {settings} --json"));
            for (audited, exact) in [("audited_fpr", "fpr"), ("audited_fnr", "fnr")] {
                let of = |key: &str| inspected[audited][key].as_f64().expect("a number");
                let rate = simulated[exact].as_f64().expect("a number");
                if !(of("low")..=of("high")).contains(&rate) {
                    missed.push(format!("{store}: {exact} {rate}, {}", inspected[audited]));
                }
            }
            let count = |key: &str| simulated[key].as_u64().expect("a number");
            let new = count("distinct") - count("fp") + count("fn");
            assert_eq!(inspected["new"], new, "{store}");
        }
    }
    assert!(missed.len() <= 3, "{missed:#?}");
}
