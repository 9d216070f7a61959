//! What users meet who try windows for the first time.

use dedupstore_tests::fixture;

use crate::run_command::standard_error;
use crate::store_commands::WorkingDirectory;
use crate::windows::{DAY, MARCH, access, json};

/// A line with a time in seconds and a key.
fn line(seconds: u64, key: &str) -> String {
    format!("{seconds} {key}\n")
}

#[track_caller]
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
}

#[test]
fn advise_on_an_access_log_prints_a_command_that_uses_its_times() {
    let directory = WorkingDirectory::new();
    let log = fixture("access.log");
    let advised = format!(
        "advise {} --field 7 --window 7d --memory 1KiB",
        log.display()
    );
    let text = directory.prints(&advised, "");
    let command = text.lines().last().expect("a command");
    assert!(command.ends_with(" --field 7 --time-field 4"), "{command}");
    let object = json(&directory.prints(&format!("{advised} --json"), ""));
    assert_eq!(object["create"], command);
    let lines = [
        "{\"at\":{\"ts\":1772323200},\"k\":\"a\"}\n",
        "{\"at\":{\"ts\":1772323300},\"k\":\"b\"}\n",
    ];
    std::fs::write(directory.path("log.json"), lines.concat()).expect("written");
    let text = directory.prints("advise log.json --json-key k --window 7d --memory 1KiB", "");
    assert_contains(&text, &["--json-key k --time-json-key at.ts\n"]);
}

#[test]
fn create_for_an_access_log_says_that_its_times_are_not_used() {
    let directory = WorkingDirectory::new();
    let log = fixture("access.log");
    let create = |name: &str, options: &str| {
        let log = log.display();
        let command =
            format!("create {name} --window 7d --field 7 --memory 64KiB --for {log}{options}");
        directory.prints(&command, "")
    };
    let note = "note: the log has times in field 4, and the store's clock is that of the machine: \
                to use the times of the lines, create it with --time-field 4\n";
    assert_contains(&create("a.dds", ""), &[note]);
    let with_times = create("b.dds", " --time-field 4");
    assert!(!with_times.contains("note:"), "{with_times}");
    let recorded = "its key options, for every run: --field 7\n\
                    its time options, for every run: --time-field 4\n";
    assert_contains(&with_times, &[recorded]);
}

#[test]
fn create_for_a_number_of_keys_in_a_window_reaches_the_default_rate() {
    let directory = WorkingDirectory::new();
    let memory_bits = |name: &str| {
        let inspection = json(&directory.prints(&format!("inspect {name} --json"), ""));
        inspection["memory_bits"].as_u64().expect("a number")
    };
    let rates = |created: &str| -> Vec<f64> {
        let (_, rates) = created.split_once("expected: ").expect("rates");
        let percents = rates.lines().next().expect("a line").split(" %");
        let numbers = percents.filter_map(|part| part.rsplit(' ').next()?.parse().ok());
        numbers.collect()
    };
    let created = directory.prints("create a.dds --window 7d --expect 100k", "");
    let found = rates(&created);
    assert_eq!(found.len(), 2, "{created}");
    assert!(found.iter().all(|&rate| rate <= 0.1), "{created}");
    // About 2 bytes per key, far below the default memory.
    assert!(memory_bits("a.dds") < 8 << 20, "{created}");
    directory.prints("create b.dds --window 7d --expect 100k --fpr 0.001", "");
    assert_eq!(memory_bits("a.dds"), memory_bits("b.dds"));
    // As much room as without a window.
    let log = fixture("access.log");
    let for_log = format!("create c.dds --window 7d --field 7 --for {}", log.display());
    let created = directory.prints(&for_log, "");
    let room = "room for 4 times the 50 distinct keys that a window of 7 d of the log has; \
                --expect N chooses another number";
    assert_contains(
        &created,
        &["for 200 distinct keys in a window of 7 d", room],
    );
    assert!(memory_bits("c.dds") < memory_bits("b.dds"), "{created}");
}

#[test]
fn advise_on_a_short_log_says_why_it_did_not_measure() {
    let directory = WorkingDirectory::new();
    let few_keys: String = (0..600).map(|i| format!("key {}\n", i % 150)).collect();
    let few_repeats: String = (0..1260).map(|i| format!("key {i}\n")).collect();
    for (log, part) in [
        (
            few_keys,
            "The log has 150 distinct keys, and measuring takes at least 200.",
        ),
        (
            few_repeats,
            "The log has 0 repeats, and measuring takes at least 200.",
        ),
    ] {
        let text = directory.prints("advise - --memory 1MiB", &log);
        assert_contains(&text, &["predicted, not measured", part]);
        assert!(!text.contains("Give a LOG"), "{text}");
        // No bound of "below under 1e-9 %".
        assert!(!text.contains("below under"), "{text}");
    }
    let text = directory.prints("advise --memory 1MiB --expect 1000", "");
    assert_contains(&text, &["Give a LOG to measure.", "with 8,390 bits per"]);
}

#[test]
fn filter_of_older_logs_says_that_their_lines_are_late() {
    let directory = WorkingDirectory::new();
    directory.prints(
        "create log.dds --memory 64KiB --window 7d --field 2 --time-field 1",
        "",
    );
    let run = |log: &str| standard_error(&directory.run("filter log.dds --stats json", log));
    let first = run(&line(MARCH + 20 * DAY, "a"));
    assert!(!first.contains("late:"), "{first}");
    let old = [line(MARCH, "b"), line(MARCH + DAY, "c")].concat();
    let mixed = old.clone() + &line(MARCH + 20 * DAY, "d") + &line(MARCH + 20 * DAY, "e");
    let half = run(&mixed);
    assert_eq!(json(&half)["late"], 2);
    let most = run(&old);
    let message = "2 of 2 lines are late: a late line has a time before the present step";
    assert_contains(&most, &[message, "Feed logs in the order of time"]);
    let quiet = directory.run("-q filter log.dds", &old);
    assert_eq!(standard_error(&quiet), "");
}

#[test]
fn a_clock_ahead_of_the_machine_is_reported() {
    let directory = WorkingDirectory::new();
    // A machine's clock that was set to 2100 once, by a program that trusts it.
    let path = directory.path("links.dds");
    let options = dedupstore::store::CreateOptions::new("window").expect("a filter");
    let options = options.memory("64KiB").log_size("64KiB");
    let mut store = dedupstore::store::Store::create(&path, &options).expect("created");
    store.advance_clock(4_102_444_800);
    store.observe("a").expect("recorded");
    store.close().expect("closed");
    let inspected = directory.prints("inspect links.dds", "");
    assert_contains(
        &inspected,
        &[
            "  warning        the clock of the store is at 2099-12-31",
            "ahead of the machine's",
        ],
    );
    let filtered = standard_error(&directory.run("filter links.dds", "b\n"));
    let warning = "the clock of links.dds is at 2099-12-31";
    assert_contains(&filtered, &[warning, "Check the machine's clock"]);
    // A clock of today is not reported.
    directory.prints("create now.dds --memory 64KiB --window 7d", "");
    assert_eq!(standard_error(&directory.run("filter now.dds", "a\n")), "");
    assert!(!directory.prints("inspect now.dds", "").contains("warning"));
}

#[test]
fn suggested_commands_keep_the_options_of_the_store() {
    let directory = WorkingDirectory::new();
    let options = "--window 7d --filter window:k=2 --memory 4KiB --field 7 --time-field 4";
    directory.prints(&format!("create log.dds {options} --max-fpr 0.01"), "");
    let full: String = (0..9000).map(|i| access(1, &format!("/{i}"))).collect();
    let stopped = directory.run("filter log.dds", &full);
    assert_eq!(stopped.status.code(), Some(3));
    let larger = "Create a larger store: dedupstore create OTHER.dds --window 7d --expect N --field 7 \
                  --time-field 4 --max-fpr 0.01. ";
    assert_contains(&standard_error(&stopped), &[larger]);
    let like_it = "dedupstore create OTHER.dds --window 7d --filter window:k=2";
    for (command, rest) in [
        (
            "filter log.dds --time-field 5",
            "--memory 4KiB --field 7 --time-field 5",
        ),
        (
            "contains log.dds --time-field 5 /a",
            "--memory 4KiB --field 7 --time-field 5",
        ),
        (
            "filter log.dds --memory 8KiB",
            "--memory 8KiB --field 7 --time-field 4",
        ),
        (
            "filter log.dds --dry-run --field 6",
            "--memory 4KiB --field 6 --time-field 4",
        ),
        (
            "filter log.dds --seed 9",
            "--memory 4KiB --seed 9 --field 7 --time-field 4",
        ),
        (
            "filter log.dds --null",
            "--memory 4KiB --field 7 --null --time-field 4",
        ),
    ] {
        let expected = format!("another store: {like_it} {rest} --max-fpr 0.01");
        let message = directory.fails(command);
        assert!(message.trim_end().ends_with(&expected), "{message}");
    }
    directory.prints("create plain.dds --memory 64KiB --field 7", "");
    let message = directory.fails("filter plain.dds --time-field 4");
    let reason = "plain.dds was created without a window that is measured in seconds, so \
                  --time-field 4 has no meaning for it";
    let command =
        "dedupstore create OTHER.dds --memory 64KiB --field 7 --time-field 4 --window SPAN";
    assert_contains(&message, &[reason, command]);
}

#[test]
fn a_missing_store_is_created_with_the_options_that_were_given() {
    let directory = WorkingDirectory::new();
    for options in ["--no-create", "--no-create --dry-run"] {
        let given = "--window 7d --memory 1MiB --field 7 --time-field 4";
        let message = directory.fails(&format!("filter nc.dds {options} {given}"));
        let command = format!("to create one: dedupstore create nc.dds {given}");
        assert_contains(&message, &["there is no store at nc.dds", &command]);
        let message = directory.fails(&format!("filter nc.dds {options}"));
        assert!(message.ends_with("create nc.dds\n"), "{message}");
    }
}

#[test]
fn a_step_longer_than_the_span_is_refused() {
    let directory = WorkingDirectory::new();
    for name in ["window", "stamped", "apbf"] {
        let message = directory.fails(&format!("filter --filter {name}:span=5,step=100"));
        let once = "`step` must be at most `span`; choose another value for --filter\n";
        assert!(message.ends_with(once), "{message}");
        directory.prints(&format!("filter --filter {name}:span=100,step=100"), "a\n");
    }
    let message = directory.fails("filter --filter window:span=1000000,step=1");
    assert_contains(
        &message,
        &["so `step` must be larger; choose another value"],
    );
}

#[test]
fn contains_reports_lines_without_a_time() {
    let directory = WorkingDirectory::new();
    directory.prints(
        "create log.dds --memory 64KiB --window 7d --field 2 --time-field 1",
        "",
    );
    directory.prints("filter log.dds", &line(MARCH, "a"));
    let lines = format!("x\n{}- a\n- b\n", line(MARCH, "a"));
    let output = directory.run("contains log.dds", &lines);
    let message = "2 of 3 lines have no readable time, first line 3; they were looked up as of the \
                   store's clock; check --time-field 1";
    assert_contains(&standard_error(&output), &[message]);
    let output = directory.run("-q contains log.dds", "- a\n");
    assert_eq!(standard_error(&output), "");
    let output = directory.run("contains log.dds --at +1d", &lines);
    assert!(!standard_error(&output).contains("readable time"));
}

#[test]
fn a_first_line_without_a_time_counts_at_the_time_after_it() {
    let directory = WorkingDirectory::new();
    let log = format!("time key\n{}", line(MARCH, "a"));
    let command = "filter --memory 64KiB --window 7d --field 2 --time-field 1";
    let output = directory.run(command, &log);
    let message =
        "1 of 2 lines has no readable time, line 1; it counted at the first time after it";
    assert_contains(&standard_error(&output), &[message]);
}

#[test]
fn a_store_without_times_has_no_dates() {
    let directory = WorkingDirectory::new();
    let options = "--memory 64KiB --filter stamped --window 7d --field 2 --time-field 1";
    directory.prints(&format!("create log.dds {options}"), "");
    let empty = directory.prints("inspect log.dds", "");
    directory.run("filter log.dds", "- a\n");
    let timeless = directory.prints("inspect log.dds", "");
    let explained = directory.prints("explain log.dds a", "");
    for text in [&empty, &timeless, &explained] {
        assert!(!text.contains("1970"), "{text}");
    }
    assert_contains(&empty, &["step           14 h; no time yet"]);
    assert_contains(
        &explained,
        &["forgotten    unknown: no line had a time yet"],
    );
    let other = directory.prints("explain log.dds b", "");
    assert_contains(&other, &["entries of its cache line holds"]);
    let inspection = directory.prints("inspect log.dds --json", "");
    let window = &json(&inspection)["window"];
    assert!(window["present_unix_seconds"].is_null(), "{window}");
    // After all keys have left.
    directory.prints("filter log.dds", &line(MARCH, "x"));
    directory.prints("-q filter machine.dds --memory 64KiB --window 7d", "a\n");
    for name in ["log.dds", "machine.dds"] {
        let inspection = directory.prints(&format!("inspect {name} --json"), "");
        assert!(!inspection.contains("-0.0"), "{inspection}");
    }
}

#[test]
fn spans_are_read_as_they_are_printed() {
    let directory = WorkingDirectory::new();
    let created = directory.prints("create a.dds --memory 64KiB --window 7d14h", "");
    assert_contains(&created, &["between 7 d 14 h and"]);
    directory.prints("filter a.dds --window 182h", "");
    let message = directory.fails("create b.dds --window -7d");
    assert_contains(
        &message,
        &["expected a span of whole seconds", "found `-7d`"],
    );
    directory.prints("filter a.dds", "x\n");
    directory.prints("contains a.dds --at +1d12h x", "");
    let message = directory.fails("contains a.dds --at -7d x");
    assert_contains(&message, &["`-7d`, a time before the store's clock"]);
    let later = directory.prints("explain a.dds --at +9d x", "");
    assert_contains(&later, &["verdict      new"]);
    let now = directory.prints("explain a.dds --at +1d12h x", "");
    assert_contains(&now, &["verdict      seen"]);
}

#[test]
fn a_format_of_times_alone_is_that_of_the_recorded_field() {
    let directory = WorkingDirectory::new();
    let options = "--memory 64KiB --window 7d --field 7 --time-field 4 --time-format clf";
    directory.prints(&format!("create log.dds {options}"), "");
    let printed = directory.prints("filter log.dds --time-format clf", &access(1, "/a"));
    assert_eq!(printed, access(1, "/a"));
    let message = directory.fails("filter log.dds --time-format seconds");
    assert_contains(
        &message,
        &["contradicts --time-field 4 --time-format seconds"],
    );
    for command in [
        "filter --window 7d --time-format clf",
        "create b.dds --window 7d --time-format clf",
    ] {
        let message = directory.fails(command);
        assert_contains(&message, &["say where they are with --time-field N"]);
    }
}

#[test]
fn json_times_may_have_an_exponent_and_are_no_arrays() {
    let directory = WorkingDirectory::new();
    let line = |time: &str, key: u32| format!("{{\"t\":{time},\"k\":{key}}}\n");
    let log = [line("1.7e9", 1), line("1.7004E+9", 2), line("17007e5", 1)].concat();
    let command = "filter --memory 64KiB --window 7d --json-key k --time-json-key t";
    let output = directory.run(command, &log);
    assert_eq!(standard_error(&output), "");
    assert_eq!(String::from_utf8_lossy(&output.stdout), log);
    let output = directory.run(command, "{\"t\":[1700000000],\"k\":1}\n");
    assert_contains(&standard_error(&output), &["no line has a readable time"]);
}

#[test]
fn simulate_refuses_times_of_a_synthetic_stream() {
    let directory = WorkingDirectory::new();
    let message = directory.fails("simulate --stream uniform:10 -n 10 --window 7d --time-field 1");
    assert_contains(&message, &["synthetic stream have their own times"]);
    let log = format!("{MARCH} a\n4294967000 b\n{MARCH} c\n");
    let command = "simulate - --window 7d --field 2 --time-field 1 --filter window";
    let output = directory.run(command, &log);
    let message =
        "the time of 1 line is more than a day ahead of the machine's clock and was ignored";
    assert_contains(&standard_error(&output), &[message]);
}
