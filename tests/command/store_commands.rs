//! What the command line offers around a store: explaining, merging, sizing, watching.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use dedupstore_tests::fixture;
use serde_json::Value;
use tempfile::TempDir;

use crate::DEDUPSTORE;

/// A directory to run commands in.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Place(TempDir::new().expect("a place"))
    }

    fn path(&self, name: &str) -> PathBuf {
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

    fn run(&self, arguments: &str, input: &str) -> Output {
        let mut child = self.command(arguments).spawn().expect("started");
        let mut stdin = child.stdin.take().expect("piped");
        // A command that reads nothing is not this test's concern.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        child.wait_with_output().expect("it ends")
    }

    /// Standard output of a command that must succeed.
    #[track_caller]
    fn prints(&self, arguments: &str, input: &str) -> String {
        let output = self.run(arguments, input);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments}: {said}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// The message of a command that must fail.
    #[track_caller]
    fn refuses(&self, arguments: &str) -> String {
        let output = self.run(arguments, "");
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        String::from_utf8(output.stderr).expect("text")
    }
}

#[test]
fn a_verdict_is_explained() {
    let place = Place::new();
    place.prints("create a.dds --memory 1KiB --seed 1 --normalize whatwg", "");
    place.prints("filter a.dds", "http://a.example/\n");
    let page = place.prints("explain a.dds HTTP://A.example", "");
    for part in [
        "normalized   http://a.example/",
        "verdict      seen",
        ": 1\n",
        "taken for seen",
    ] {
        assert!(page.contains(part), "{part:?} is not in {page}");
    }
    let object = place.prints("explain a.dds b --json", "");
    let object: Value = serde_json::from_str(&object).expect("an object");
    assert_eq!(
        (&object["schema"], &object["verdict"]),
        (&1.into(), &"new".into())
    );
    assert_eq!(object["places"].as_array().map(Vec::len), Some(6));
    let observations = place.prints("inspect a.dds --json", "");
    assert!(
        observations.contains("\"observations\":1,"),
        "nothing was recorded"
    );
}

#[test]
fn every_filter_says_why() {
    let place = Place::new();
    for descriptor in dedupstore::registry() {
        let name = descriptor.name;
        let store = format!("{name}.dds");
        place.prints(
            &format!("create {store} --memory 1KiB --seed 1 --filter {name}"),
            "",
        );
        place.prints(&format!("filter {store}"), "a\nb\n");
        let object = place.prints(&format!("explain {store} a --json"), "");
        let object: Value = serde_json::from_str(&object).expect("an object");
        assert_eq!(object["verdict"], "seen", "{name}");
        let cells = object["places"].as_array().map(Vec::len);
        assert!(cells > Some(0), "{name}: {object}");
        let page = place.prints(&format!("explain {store} never"), "");
        assert!(page.contains("\nbecause      "), "{name}: {page}");
        assert!(page.lines().count() < 45, "{name}: {page}");
    }
}

#[test]
fn two_stores_become_one_where_they_can() {
    let place = Place::new();
    for (name, options) in [
        ("a.dds", "--memory 64KiB --seed 7 --filter bloom"),
        ("b.dds", "--memory 64KiB --seed 7 --filter bloom"),
        ("seed.dds", "--memory 64KiB --seed 8 --filter bloom"),
        ("size.dds", "--memory 32KiB --seed 7 --filter bloom"),
        (
            "spelled.dds",
            "--memory 64KiB --seed 7 --filter bloom --normalize whatwg",
        ),
        ("stable.dds", "--memory 64KiB --seed 7 --filter stable"),
        ("stable2.dds", "--memory 64KiB --seed 7 --filter stable"),
    ] {
        place.prints(&format!("create {name} {options}"), "");
    }
    place.prints("filter a.dds", "one\nboth\n");
    place.prints("filter b.dds", "two\nboth\n");
    place.prints("merge c.dds a.dds b.dds", "");
    place.prints("contains c.dds one two both", "");
    assert_eq!(place.run("contains c.dds three", "").status.code(), Some(1));
    place.prints("verify c.dds", "");
    assert_eq!(place.prints("filter c.dds", "one\nthree\n"), "three\n");
    for (other, reason) in [
        ("seed.dds", "seeds differ, 7 and 8"),
        ("size.dds", "memory sizes differ"),
        ("spelled.dds", "normalizations differ, none and whatwg"),
        ("stable.dds", "filters differ"),
    ] {
        let message = place.refuses(&format!("merge d.dds a.dds {other}"));
        assert!(message.contains(reason), "{message}");
    }
    let message = place.refuses("merge d.dds stable.dds stable2.dds");
    assert!(message.contains("it forgets"), "{message}");
    assert!(
        place
            .refuses("merge c.dds a.dds b.dds")
            .contains("exists already")
    );
    assert!(!place.path("d.dds").exists());
}

#[test]
fn a_size_is_chosen_and_explained() {
    let place = Place::new();
    let made = place.prints("create a.dds --expect 1M --fpr 1%", "");
    assert!(made.contains("1,000,000 distinct keys"), "{made}");
    let inspected = place.prints("inspect a.dds --json", "");
    let inspected: Value = serde_json::from_str(&inspected).expect("an object");
    let bits = inspected["memory_bits"].as_u64().expect("a number");
    // 9.59 bits a key are the least for one in a hundred.
    assert!((9_585_000..10_200_000).contains(&bits), "{bits}");

    let log = fixture("crawl.log");
    let log = log.to_str().expect("text");
    let made = place.prints(&format!("create b.dds --for {log} --memory 4KiB"), "");
    assert!(
        made.contains("2,144 distinct keys") && made.contains("4 KiB"),
        "{made}"
    );
    let hosts = format!("create c.dds --for {log} --key-regex //([^/]*)/");
    let made = place.prints(&hosts, "");
    assert!(made.contains("24 distinct keys"), "{made}");
}

#[test]
fn metrics_are_whole_and_true_at_the_end() {
    let place = Place::new();
    place.prints("create a.dds --memory 64KiB", "");
    let arguments = "filter a.dds --metrics m.prom --metrics-every 1ms --field 2";
    place.prints(arguments, "1 a\n2 b\n3 a\nalone\n");
    let text = fs::read_to_string(place.path("m.prom")).expect("written");
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
    let left: Vec<_> = fs::read_dir(place.0.path()).expect("there").collect();
    assert_eq!(
        left.len(),
        2,
        "the store and the metrics, and nothing half written"
    );
    place.prints("filter --metrics memory.prom", "a\n");
}

#[cfg(unix)]
#[test]
fn watching_goes_on_until_the_reader_leaves() {
    let place = Place::new();
    place.prints("create a.dds --memory 64KiB", "");
    let mut child = place
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
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn a_simulation_is_a_page() {
    let place = Place::new();
    let table = place.prints(
        "simulate --stream shuffle:50 -n 20k --memory 2KiB --html a.html",
        "",
    );
    assert!(table.contains("bloom"), "the table is printed all the same");
    let page = fs::read_to_string(place.path("a.html")).expect("written");
    assert!(page.contains("\"stream\":\"shuffle:50\""));
}

#[test]
fn the_manual_covers_every_command() {
    let place = Place::new();
    assert!(place.prints("man", "").contains(".TH dedupstore"));
    fs::create_dir(place.path("man")).expect("made");
    place.prints("man --to man", "");
    assert!(place.path("man/dedupstore-filter.1").is_file());
}

/// The page is in the binary if it had been built before it.
#[cfg(unix)]
#[test]
fn the_playground_serves_the_page_to_this_machine_alone() {
    use std::io::Read;
    use std::net::TcpStream;

    let place = Place::new();
    let mut child = place.command("playground").spawn().expect("started");
    let mut address = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    stdout.read_line(&mut address).expect("text");
    let Some(host) = address.trim().strip_prefix("http://") else {
        assert_eq!(child.wait().expect("it ends").code(), Some(2));
        eprintln!("skipped: this binary was built without the page");
        return;
    };
    let host = host.trim_end_matches('/');
    let ask = |named: &str| {
        let mut stream = TcpStream::connect(host).expect("it listens");
        let request = format!("GET / HTTP/1.1\r\nHost: {named}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("asked");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        answer
    };
    let page = ask(host);
    assert!(
        page.starts_with("HTTP/1.1 200") && page.contains("<!doctype html>"),
        "{page}"
    );
    assert!(ask("harbour.example").starts_with("HTTP/1.1 403"));
    child.kill().expect("ended");
    child.wait().expect("gone");
}

/// The audit knows some sixty of the log's keys, `simulate` all of them. Of thirty intervals
/// of 95 % one or two may miss; three are allowed to.
#[test]
fn audited_rates_agree_with_those_of_a_simulation() {
    let place = Place::new();
    let log = fixture("crawl.log");
    let log = log.to_str().expect("text");
    let read = |command: &str| -> Value {
        serde_json::from_str(&place.prints(command, "")).expect("an object")
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
            place.prints(&format!("-q create {store} {settings}"), "");
            place.prints(&format!("-q filter {store} {log}"), "");
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
