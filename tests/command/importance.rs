//! The importance of lines.

use serde_json::Value;

use crate::run_command::standard_error;
use crate::store_commands::WorkingDirectory;

const DEPTH: &str = "--field 1 --importance-field 2 --importance-format depth";

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("an object")
}

#[test]
fn a_crawl_has_the_depth_of_its_pages() {
    let directory = WorkingDirectory::new();
    let plain = directory.prints("generate crawl:3:50 -n 500", "");
    let with_depth = directory.prints("generate crawl:3:50 -n 500 --with-importance", "");
    let mut depths = Vec::new();
    for (plain, line) in plain.lines().zip(with_depth.lines()) {
        let (key, depth) = line.split_once('\t').expect("a tab");
        assert_eq!(key, plain);
        depths.push(depth.parse::<u32>().expect("a number"));
    }
    assert_eq!(depths.len(), 500);
    assert!(depths.contains(&0));
    assert!(depths.iter().any(|&depth| depth > 2));
    let message = directory.fails("generate shuffle:60 --with-importance");
    assert!(message.contains("have no importance"), "{message}");
}

/// The importance of the stream and that of the same keys in a file give the same numbers.
#[test]
fn a_log_and_its_stream_have_the_same_weighted_errors() {
    let directory = WorkingDirectory::new();
    for (stream, format) in [
        ("importance-exponential:30", "number"),
        ("crawl:5:100", "depth"),
    ] {
        let log = directory.prints(&format!("generate {stream} -n 5000 --with-importance"), "");
        let options = "--filter stable --filter bloom:k=2 --filter blocked --memory 256 --json";
        let of_stream =
            directory.prints(&format!("simulate --stream {stream} -n 5000 {options}"), "");
        let of_log = directory.prints(
            &format!(
                "simulate --field 1 --importance-field 2 --importance-format {format} {options}"
            ),
            &log,
        );
        for (stream_run, log_run) in of_stream.lines().zip(of_log.lines()) {
            let (stream_run, log_run) = (json(stream_run), json(log_run));
            for key in [
                "wfp",
                "wfn",
                "precision_w",
                "recall_w",
                "crossover",
                "importance",
            ] {
                assert_eq!(stream_run[key], log_run[key], "{key}");
            }
            assert!(stream_run["wfp"].as_f64().is_some_and(|it| it > 0.0));
            let rates = stream_run["importance"].as_array().expect("a list");
            let sum = |key: &str| -> u64 { rates.iter().filter_map(|it| it[key].as_u64()).sum() };
            assert_eq!(sum("count"), 5000);
            assert_eq!(Some(sum("fp")), stream_run["fp"].as_u64());
            assert_eq!(Some(sum("fn")), stream_run["fn"].as_u64());
        }
        // Bloom filters miss nothing, so they are better wherever the other misses a repeat.
        let bloom = json(of_stream.lines().nth(1).expect("a run"));
        let stable = json(of_stream.lines().next().expect("a run"));
        let mut rates = stable["importance"].as_array().expect("a list").iter();
        let missed = rates.find(|it| it["fn"].as_u64() > Some(0));
        assert_eq!(bloom["crossover"], missed.expect("an error")["from"]);
        assert_eq!(stable["crossover"], Value::Null);
    }
}

#[test]
fn the_table_has_weighted_errors_only_if_there_is_importance() {
    let directory = WorkingDirectory::new();
    let options = "-n 2000 --filter blocked --filter stable --memory 256";
    let weighted = directory.prints(
        &format!("simulate --stream importance-linear:30 {options}"),
        "",
    );
    assert!(weighted.contains("weighted FP"), "{weighted}");
    assert!(
        weighted.contains("repeats passed, of importance"),
        "{weighted}"
    );
    let plain = directory.prints(&format!("simulate --stream shuffle:30 {options}"), "");
    assert!(!plain.contains("weighted"), "{plain}");
    let csv = directory.prints(
        &format!("simulate --stream importance-linear:30 {options} --csv"),
        "",
    );
    let header = csv.lines().next().expect("a header");
    for key in ["wfp", "wfn", "precision_w", "recall_w", "crossover"] {
        assert!(header.split(',').any(|it| it == key), "{header}");
    }
}

/// Runs with a store give the lines of one run in memory.
#[test]
fn a_store_records_importance() {
    let directory = WorkingDirectory::new();
    let log = directory.prints("generate crawl:5:200 -n 6000 --with-importance", "");
    let middle = log.len() / 2 + log[log.len() / 2..].find('\n').expect("a line") + 1;
    for (name, lines) in [
        ("all.tsv", &log[..]),
        ("first.tsv", &log[..middle]),
        ("second.tsv", &log[middle..]),
    ] {
        std::fs::write(directory.path(name), lines).expect("written");
    }
    let options = format!("--memory 2KiB --filter ibf5:k=2,p=1,map=ceil --seed 7 {DEPTH}");
    let in_memory = directory.prints(&format!("filter {options} all.tsv"), "");
    directory.prints(&format!("create links.dds {options}"), "");
    let mut printed = directory.prints("filter links.dds first.tsv", "");
    printed += &directory.prints("filter links.dds second.tsv", "");
    assert_eq!(printed, in_memory);
    // Without importance, the same filter forgets other keys.
    let blind = directory.prints(
        "filter --memory 2KiB --filter ibf5:k=2,p=1,map=ceil --seed 7 --field 1 all.tsv",
        "",
    );
    assert_ne!(blind, in_memory);
    let inspected = directory.prints("inspect links.dds", "");
    assert!(
        inspected.contains("--importance-field 2 --importance-format depth"),
        "{inspected}"
    );
}

#[test]
fn options_that_contradict_the_store_are_refused() {
    let directory = WorkingDirectory::new();
    directory.prints(
        &format!("create links.dds --memory 4KiB --filter ibf3 {DEPTH}"),
        "",
    );
    for (arguments, expected) in [
        (
            "filter links.dds --importance-field 3",
            "was created with --importance-field 2 --importance-format depth",
        ),
        (
            "filter links.dds --importance-json-key a",
            "contradicts --importance-json-key a",
        ),
        (
            "filter --importance-field 2",
            "does not use the importance of lines",
        ),
        (
            "create other.dds --importance-field 2",
            "does not use the importance of lines",
        ),
        (
            "advise --importance-field 2 --memory 1KiB",
            "only with --weight-by-importance",
        ),
    ] {
        let message = directory.fails(arguments);
        assert!(message.contains(expected), "{arguments}: {message}");
    }
    directory.prints("filter links.dds --importance-field 2", "a\t1\n");
}

#[test]
fn lines_without_a_readable_importance_are_counted() {
    let directory = WorkingDirectory::new();
    let log = "a 1\nb\nc deep\na 2\n";
    let options = "filter --memory 4KiB --filter ibf3 --field 1 --importance-field 2";
    let output = directory.run(&format!("{options} --stats json"), log);
    let message = standard_error(&output);
    assert!(
        message.contains(
            "2 of 4 lines have no readable importance, first line 2; they counted with importance 1"
        ),
        "{message}"
    );
    let statistics = message.lines().last().expect("statistics");
    assert_eq!(json(statistics)["lines_without_importance"], 2);
    let output = directory.run(
        "simulate --field 1 --importance-field 2 --filter stable",
        log,
    );
    assert!(standard_error(&output).contains("2 of 4 lines"));
    // A filter that uses importance says so if nothing tells where it is.
    let output = directory.run("filter --memory 4KiB --filter ibf3", "a\n");
    assert!(standard_error(&output).contains("--importance-field N"));
}

#[test]
fn advice_by_importance_compares_both_kinds_of_filters() {
    let directory = WorkingDirectory::new();
    let log = directory.prints("generate importance-exponential:30 -n 20000", "");
    let options = "--memory 2KiB --field 1 --importance-field 2 --weight-by-importance";
    let advice = json(&directory.prints(&format!("advise - {options} --json"), &log));
    assert_eq!(advice["weighted"], true);
    let cost = |of: &str| advice[of]["cost"].as_f64().expect("a number");
    let name = advice["other_kind"]["filter"].as_str().expect("a filter");
    let chosen = advice["filter"].as_str().expect("a filter");
    let uses_importance = |filter: &str| {
        let names = ["ibf", "admit", "reinsert"];
        names.iter().any(|name| filter.starts_with(name))
    };
    assert_ne!(
        uses_importance(name),
        uses_importance(chosen),
        "{name}, {chosen}"
    );
    assert!(cost("choice") <= cost("other_kind"));
    let text = directory.prints(&format!("advise - {options}"), &log);
    assert!(text.contains("shares of the importance"), "{text}");
}

/// `create --for` chooses by weighted errors, and records the importance if its filter uses it.
#[test]
fn a_store_for_a_log_with_importance_weighs_its_errors() {
    let directory = WorkingDirectory::new();
    let log = directory.prints("generate importance-exponential:30 -n 20000", "");
    std::fs::write(directory.path("log.tsv"), &log).expect("written");
    let key = "--field 1 --importance-field 2";
    for (store, memory) in [("small.dds", "1KiB"), ("large.dds", "1MiB")] {
        let options = format!("--memory {memory} {key}");
        // The store has room for four times the keys of the log.
        let distinct = 4 * log
            .lines()
            .map(|line| line.split('\t').next())
            .collect::<std::collections::HashSet<_>>()
            .len();
        let advised = json(&directory.prints(
            &format!("advise log.tsv --weight-by-importance --expect {distinct} {options} --json"),
            "",
        ));
        let filter = advised["filter"].as_str().expect("a filter");
        let created = directory.prints(&format!("create {store} --for log.tsv {options}"), "");
        assert!(created.contains(filter), "{filter}: {created}");
        assert!(created.contains("as shares of importance"), "{created}");
        let records = directory
            .prints(&format!("inspect {store}"), "")
            .contains("--importance-field 2");
        let uses = ["ibf", "admit", "reinsert"]
            .iter()
            .any(|name| filter.starts_with(name));
        assert_eq!(records, uses, "{filter}");
        // With memory in plenty, importance is of no use.
        assert_eq!(uses, memory == "1KiB", "{filter}");
        assert_eq!(
            !uses,
            created.contains("does not use the importance of lines")
        );
    }
    let sized = directory.prints(&format!("create sized.dds --for log.tsv {key}"), "");
    assert!(sized.contains("give --memory SIZE"), "{sized}");
}

#[test]
fn a_refused_merge_says_what_to_do() {
    let directory = WorkingDirectory::new();
    for filter in ["ibf", "reinsert"] {
        for store in ["a", "b"] {
            directory.prints(
                &format!(
                    "create {filter}-{store}.dds --memory 4KiB --filter {filter} --seed 1 {DEPTH}"
                ),
                "",
            );
        }
        let message = directory.fails(&format!("merge all.dds {filter}-a.dds {filter}-b.dds"));
        for expected in [
            "nothing was created",
            "Feed the logs of all of them to one store",
        ] {
            assert!(message.contains(expected), "{message}");
        }
    }
}
