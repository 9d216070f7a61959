//! Filters that are too full: warnings, and limits of the false positive rate.

use std::path::PathBuf;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::run_command::{run, standard_error};

/// Different keys, one per line.
fn keys(count: usize) -> Vec<u8> {
    let lines = (0..count).map(|number| format!("https://harbour.example/{number}\n"));
    lines.collect::<String>().into_bytes()
}

fn lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte == b'\n').count()
}

struct Directory(TempDir);

impl Directory {
    fn new() -> Self {
        Directory(TempDir::new().expect("a directory"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a command; words that end in .dds are files of the directory.
    fn run(&self, arguments: &str, input: &[u8]) -> Output {
        let words: Vec<String> = arguments
            .split(' ')
            .map(|word| match word.ends_with(".dds") {
                true => self.path(word).display().to_string(),
                false => word.to_owned(),
            })
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        run(&words, input)
    }

    #[track_caller]
    fn succeeds(&self, arguments: &str, input: &[u8]) -> Output {
        let output = self.run(arguments, input);
        let message = standard_error(&output);
        assert_eq!(output.status.code(), Some(0), "{arguments}: {message}");
        output
    }

    #[track_caller]
    fn stops(&self, arguments: &str, input: &[u8]) -> (Vec<u8>, String) {
        let output = self.run(arguments, input);
        let message = standard_error(&output);
        assert_eq!(output.status.code(), Some(3), "{arguments}: {message}");
        (output.stdout, message)
    }

    fn inspect(&self, store: &str) -> Value {
        let output = self.succeeds(&format!("inspect {store} --json"), b"");
        serde_json::from_slice(&output.stdout).expect("an object")
    }
}

fn warnings(output: &Output) -> Vec<String> {
    let text = standard_error(output);
    let lines = text.lines().filter(|line| line.contains("warning"));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_store_that_drops_new_lines_says_so_at_1_10_and_100_percent() {
    let directory = Directory::new();
    let many = keys(300_000);
    directory.succeeds(
        "create a.dds --memory 8KiB --filter blocked:k=3,cap=100",
        b"",
    );
    let output = directory.succeeds("filter a.dds", &many);
    assert!(lines(&output.stdout) < 60_000, "most lines are dropped");
    let [one, ten, all] = &warnings(&output)[..] else {
        panic!("{}", standard_error(&output));
    };
    assert!(
        one.contains("% of new keys as seen, after ") && one.contains("a.dds"),
        "{one}"
    );
    assert!(ten.contains("% of new keys as seen, after "), "{ten}");
    assert!(all.contains("100 % of new keys as seen"), "{all}");
    assert!(all.contains("dedupstore create OTHER.dds"), "{all}");

    let again = directory.succeeds("filter a.dds", b"one more\n");
    let [start] = &warnings(&again)[..] else {
        panic!("{}", standard_error(&again));
    };
    assert!(
        start.contains("100 % of new keys as seen, at the start of this run"),
        "{start}"
    );
    let quiet = directory.succeeds("-q filter a.dds", b"another\n");
    assert_eq!(standard_error(&quiet), "");
}

#[test]
fn a_run_in_memory_warns_too_and_a_large_one_does_not() {
    let directory = Directory::new();
    let many = keys(200_000);
    let output = directory.succeeds("filter --memory 8KiB --filter bloom", &many);
    let found = warnings(&output);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found[0].contains("a larger --memory drops fewer"),
        "{found:?}"
    );
    let output = directory.succeeds("filter --memory 1MiB", &many);
    assert_eq!(standard_error(&output), "");
}

/// A filter that settles is reported once per level, although its rate goes up and down.
#[test]
fn a_rate_that_varies_around_a_level_is_reported_once() {
    let directory = Directory::new();
    let many = keys(200_000);
    let output = directory.succeeds("filter --memory 4KiB --filter stable:k=2,p=18,max=1", &many);
    let found = warnings(&output);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn filter_stops_before_the_limit_and_keeps_everything_before_it() {
    let directory = Directory::new();
    let many = keys(50_000);
    directory.succeeds("create a.dds --memory 16KiB --seed 1", b"");
    let (printed, message) = directory.stops("filter a.dds --max-fpr 1%", &many);
    for part in [
        "stopped before line ",
        "above the limit of 1.00 % of --max-fpr",
        "were processed and recorded",
        "dedupstore create OTHER.dds",
    ] {
        assert!(message.contains(part), "`{part}` is not in {message}");
    }
    let inspected = directory.inspect("a.dds");
    let observed = inspected["observations"].as_u64().expect("a number") as usize;
    let rate = inspected["estimated_fpr"].as_f64().expect("a number");
    assert!(rate <= 0.01 && rate > 0.009, "{rate}");
    assert!(
        message
            .replace(',', "")
            .contains(&format!("before line {} ", observed + 1)),
        "{message}"
    );
    directory.succeeds("verify a.dds", b"");

    // The lines before the stop have the verdicts of a run without a limit, and the store has
    // recorded them and no others.
    directory.succeeds("create b.dds --memory 16KiB --seed 1", b"");
    let before: Vec<u8> = many
        .split_inclusive(|&byte| byte == b'\n')
        .take(observed)
        .flatten()
        .copied()
        .collect();
    let unlimited = directory.succeeds("-q filter b.dds", &before);
    assert!(printed == unlimited.stdout, "the same lines are printed");
    assert_eq!(inspected["new"], directory.inspect("b.dds")["new"]);

    // Without the limit, the run goes on where it stopped.
    let (nothing, _) = directory.stops("filter a.dds --max-fpr 1%", &many);
    assert!(nothing.is_empty(), "known lines are not printed again");
    let rest = directory.succeeds("-q filter a.dds", &many);
    assert!(lines(&rest.stdout) > 10_000);
}

#[test]
fn a_limit_recorded_in_a_store_stops_filter_and_can_be_overridden() {
    let directory = Directory::new();
    let many = keys(50_000);
    directory.succeeds("create a.dds --memory 16KiB --max-fpr 0.1%", b"");
    assert_eq!(directory.inspect("a.dds")["max_fpr"], 0.001);
    let (printed, message) = directory.stops("filter a.dds", &many);
    assert!(
        message.contains("the limit of 0.100") && message.contains("with which it was created"),
        "{message}"
    );
    let page = directory.succeeds("inspect a.dds", b"");
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(
        page.contains("`filter` stops before an FPR of 0.100 %"),
        "{page}"
    );
    let (more, _) = directory.stops("filter a.dds --max-fpr 1%", &many);
    assert!(!printed.is_empty() && !more.is_empty());
    let (nothing, message) = directory.stops("filter a.dds", &many);
    assert!(nothing.is_empty());
    assert!(message.contains("nothing was printed"), "{message}");
    let all = directory.succeeds("-q filter a.dds --max-fpr 1", &many);
    assert!(lines(&all.stdout) > 10_000);

    directory.succeeds("create b.dds --memory 16KiB", b"");
    assert_eq!(directory.inspect("b.dds")["max_fpr"], Value::Null);
}

#[test]
fn a_dry_run_and_several_threads_stop_at_the_same_line() {
    let directory = Directory::new();
    let many = keys(50_000);
    directory.succeeds("create a.dds --memory 16KiB --max-fpr 1%", b"");
    let (dry, message) = directory.stops("filter a.dds --dry-run", &many);
    assert!(message.contains("were processed. "), "{message}");
    assert_eq!(directory.inspect("a.dds")["observations"], 0);
    let (parallel, _) = directory.stops("filter a.dds --dry-run --threads 2", &many);
    let (printed, _) = directory.stops("filter a.dds", &many);
    assert!(dry == printed && parallel == printed);
}

#[test]
fn a_run_in_memory_has_a_limit_and_statistics() {
    let directory = Directory::new();
    let many = keys(50_000);
    let arguments = "filter --memory 16KiB --max-fpr 1% --stats json";
    let (printed, message) = directory.stops(arguments, &many);
    let statistics = message.lines().find(|line| line.starts_with('{'));
    let statistics: Value = serde_json::from_str(statistics.expect("an object")).expect("JSON");
    assert_eq!(statistics["new"], lines(&printed));
    assert_eq!(statistics["stopped_at_limit"], true);
    assert!(statistics["drop_chance"].as_f64().expect("a number") <= 0.01);
    assert!(
        message.contains("Choose a larger size with --memory"),
        "{message}"
    );
}

/// Lines without a key are printed, and do not count against the limit.
#[test]
fn the_line_number_of_a_stop_counts_lines_without_a_key() {
    let directory = Directory::new();
    let mixed: String = (0..50_000)
        .map(|number| match number % 2 {
            0 => format!("{number} {number}\n"),
            _ => "alone\n".to_owned(),
        })
        .collect();
    let arguments = "filter --memory 8KiB --max-fpr 1% --field 2 --stats json";
    let (printed, message) = directory.stops(arguments, mixed.as_bytes());
    let statistics = message.lines().find(|line| line.starts_with('{'));
    let statistics: Value = serde_json::from_str(statistics.expect("an object")).expect("JSON");
    let count = |key: &str| statistics[key].as_u64().expect("a number");
    let before = count("new") + count("seen") + count("without_key");
    assert_eq!(count("lines"), before);
    assert!(
        message
            .replace(',', "")
            .contains(&format!("before line {} ", before + 1)),
        "{message}"
    );
    assert_eq!(lines(&printed) as u64, count("new") + count("without_key"));
}

#[test]
fn a_limit_that_is_no_rate_is_refused() {
    let directory = Directory::new();
    for command in [
        "filter --max-fpr 0",
        "create a.dds --max-fpr 2",
        "filter --max-fpr x",
    ] {
        let output = directory.run(command, b"");
        assert_eq!(output.status.code(), Some(2), "{command}");
        let message = standard_error(&output);
        assert!(message.contains("above 0 and at most 1"), "{message}");
    }
    assert!(!directory.path("a.dds").exists());
}

/// As the key options: what the first run asks for holds for later ones.
#[test]
fn filter_with_a_limit_creates_a_store_that_keeps_it() {
    let directory = Directory::new();
    let created = directory.succeeds("filter a.dds --memory 16KiB --max-fpr 0.1%", b"a\n");
    let message = standard_error(&created);
    assert!(
        message.contains("its limit, for every run: --max-fpr 0.001"),
        "{message}"
    );
    assert_eq!(directory.inspect("a.dds")["max_fpr"], 0.001);
    let (_, message) = directory.stops("filter a.dds", &keys(50_000));
    assert!(message.contains("with which it was created"), "{message}");
    // An existing store keeps its limit, whatever another run asks for.
    directory.succeeds("filter a.dds --max-fpr 50%", b"b\n");
    assert_eq!(directory.inspect("a.dds")["max_fpr"], 0.001);
    directory.succeeds("filter b.dds --memory 16KiB --max-fpr 1", b"a\n");
    assert_eq!(directory.inspect("b.dds")["max_fpr"], Value::Null);
}
