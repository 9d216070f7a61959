//! What commands say about windows: when keys are forgotten, and what is advised.

use dedupstore_tests::fixture;
use serde_json::Value;

use crate::run_command::standard_error;
use crate::store_commands::WorkingDirectory;
use crate::windows::{DAY, MARCH, access, json};

#[test]
fn create_says_when_a_key_is_forgotten() {
    let directory = WorkingDirectory::new();
    let created = directory.prints("create a.dds --memory 64KiB --window 7d", "");
    let forgets = "it forgets a key between 7 d and 7 d 14 h after it was last new\n";
    assert!(created.contains(forgets), "{created}");
    assert!(created.contains("for a window of 7 d"), "{created}");
    let made = directory.run("filter b.dds --memory 64KiB --window 90m", "");
    let message = standard_error(&made);
    assert!(
        message.contains("between 1 h 30 min and 1 h 37 min 30 s"),
        "{message}"
    );
    // The adviser chooses by what is asked for.
    let log = fixture("access.log");
    for (options, part) in [
        (
            "--prefer no-repeats --memory 64KiB",
            "forgets no key before that",
        ),
        (
            "--expect 1M --fpr 0.1%",
            "for 1,000,000 distinct keys in a window of 7 d",
        ),
        (
            "--expect 1M --memory 8MiB",
            "for 1,000,000 distinct keys in a window of 7 d",
        ),
    ] {
        let created = directory.prints(&format!("create c.dds --window 7d {options}"), "");
        assert!(created.contains(part), "{created}");
        std::fs::remove_dir_all(directory.path("c.dds")).expect("removed");
    }
    let for_log = format!(
        "create c.dds --window 7d --field 7 --memory 1KiB --for {}",
        log.display()
    );
    let created = directory.prints(&for_log, "");
    assert!(
        created.contains("distinct keys that a window of 7 d of the log has"),
        "{created}"
    );
    let short = format!(
        "create d.dds --window 60d --field 7 --memory 1KiB --for {}",
        log.display()
    );
    let created = directory.prints(&short, "");
    assert!(
        created.contains("of the log has, which covers 20 d 22 h 35 min 19 s"),
        "{created}"
    );
}

#[test]
fn contains_looks_up_as_of_a_later_time() {
    let directory = WorkingDirectory::new();
    directory.prints(
        "create log.dds --memory 64KiB --window 7d --field 7 --time-field 4",
        "",
    );
    directory.prints("filter log.dds", &(access(1, "/a") + &access(4, "/b")));
    for (options, verdicts) in [
        ("/a /b", "seen\t/a\nseen\t/b\n"),
        ("--at 2026-03-08T11:00:00Z /a /b", "seen\t/a\nseen\t/b\n"),
        ("--at 2026-03-10 /a /b", "new\t/a\nseen\t/b\n"),
        ("--at 1772884800 /a", "seen\t/a\n"),
        ("--at +5d /a /b", "new\t/a\nseen\t/b\n"),
        ("--at +30d /b", "new\t/b\n"),
    ] {
        let output = directory.run(&format!("contains log.dds {options}"), "");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            verdicts,
            "{options}"
        );
        assert_eq!(standard_error(&output), "");
    }
    let output = directory.run("contains log.dds --at 2026-03-01 /a", "");
    let message = standard_error(&output);
    assert!(
        message.contains("the clock does not run backwards"),
        "{message}"
    );
    // A line has its own time, unless --at says another.
    let lines = access(10, "/a") + &access(10, "/b");
    let output = directory.run("contains log.dds", &lines);
    let found = String::from_utf8_lossy(&output.stdout);
    assert!(
        found.starts_with("new\t") && found.contains("\nseen\t"),
        "{found}"
    );
    let output = directory.run("contains log.dds --at +1d", &lines);
    assert_eq!(output.status.code(), Some(0));
    // By the machine's clock, a key is seen now and forgotten in a week.
    directory.prints("-q filter machine.dds --memory 64KiB --window 7d", "a\n");
    directory.prints("contains machine.dds a --at +6d", "");
    assert_eq!(
        directory
            .run("contains machine.dds a --at +8d", "")
            .status
            .code(),
        Some(1)
    );
}

#[test]
fn inspect_and_explain_show_when_keys_leave() {
    let directory = WorkingDirectory::new();
    let options = format!("--memory 64KiB --filter window:step={DAY} --window 7d");
    directory.prints(
        &format!("create log.dds {options} --field 7 --time-field 4"),
        "",
    );
    let log = [
        access(1, "/a"),
        access(1, "/b"),
        access(4, "/c"),
        access(4, "/a"),
    ]
    .concat();
    directory.prints("filter log.dds", &log);
    let window = &json(&directory.prints("inspect log.dds --json", ""))["window"];
    assert_eq!(
        (&window["clock"], &window["time_from"]),
        (&"seconds".into(), &"lines".into())
    );
    assert_eq!(
        (&window["span"], &window["step"]),
        (&(7 * DAY).into(), &DAY.into())
    );
    assert_eq!(window["longest_memory"], 8 * DAY);
    assert_eq!(window["present_unix_seconds"], MARCH + 3 * DAY);
    assert_eq!(window["oldest_unix_seconds"], MARCH - 4 * DAY);
    assert_eq!(
        (&window["live_keys"], &window["live_share"]),
        (&3.into(), &1.0.into())
    );
    let leaving: Vec<(u64, u64)> = window["leaving"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| {
            (
                it["unix_seconds"].as_u64().expect("a time"),
                it["keys"].as_u64().expect("a count"),
            )
        })
        .collect();
    assert_eq!(leaving, [(MARCH + 8 * DAY, 2), (MARCH + 11 * DAY, 1)]);
    let report = directory.prints("inspect log.dds", "");
    for part in [
        "clock          the times of the lines: --time-field 4",
        "forgets        a key between 7 d and 8 d after it was last new",
        "the present one began 2026-03-04 00:00:00 UTC",
        "3 in the window, 100 % of those that were ever new",
        "leaving        2 keys (66.7 %) by 2026-03-09 00:00:00 UTC",
        "1 key (33.3 %) by 2026-03-12 00:00:00 UTC",
    ] {
        assert!(report.contains(part), "{part:?} is not in {report}");
    }
    let report = directory.prints("explain log.dds /a", "");
    for part in [
        "set 3 steps ago (3 d)",
        "last new     from 2026-03-01 00:00:00 UTC to 2026-03-02 00:00:00 UTC",
        "forgotten    from 2026-03-09 00:00:00 UTC on",
    ] {
        assert!(report.contains(part), "{part:?} is not in {report}");
    }
    let explained = json(&directory.prints("explain log.dds /a --json", ""));
    assert_eq!(explained["forgotten_unix_seconds"], MARCH + 8 * DAY);
    assert_eq!(explained["places"][0]["steps_ago"], 3);
    // What it says is so.
    assert_eq!(
        directory
            .run("contains log.dds /a --at 2026-03-08T23:59:59Z", "")
            .status
            .code(),
        Some(0)
    );
    assert_eq!(
        directory
            .run("contains log.dds /a --at 2026-03-09", "")
            .status
            .code(),
        Some(1)
    );
    let unseen = json(&directory.prints("explain log.dds /x --json", ""));
    assert_eq!(unseen["forgotten_unix_seconds"], Value::Null);
    // A store without a window has none of this.
    directory.prints("create plain.dds --memory 64KiB", "");
    assert_eq!(
        json(&directory.prints("inspect plain.dds --json", ""))["window"],
        Value::Null
    );
}

#[test]
fn a_window_that_counts_observations_is_inspected_in_observations() {
    let directory = WorkingDirectory::new();
    let create = "create count.dds --memory 64KiB --filter window:span=60,step=10,clock=count";
    let created = directory.prints(create, "");
    assert!(
        created.contains("between 60 observations and 70 observations"),
        "{created}"
    );
    let log: String = (0..100).map(|key| format!("{key}\n")).collect();
    directory.prints("filter count.dds", &log);
    let report = directory.prints("inspect count.dds", "");
    for part in [
        "counts observations",
        "60 in the window",
        "10 keys (16.7 %) within 10 observations",
    ] {
        assert!(report.contains(part), "{part:?} is not in {report}");
    }
}

#[test]
fn simulate_measures_windows_by_the_clock_of_the_log() {
    let directory = WorkingDirectory::new();
    let log = fixture("access.log");
    let log = log.display();
    let runs = |options: &str| -> Vec<Value> {
        let command = format!("simulate {log} --field 7 --memory 1KiB --json {options}");
        directory.prints(&command, "").lines().map(json).collect()
    };
    let recognized = runs("--window 7d");
    let names: Vec<&str> = recognized
        .iter()
        .map(|run| {
            run["filter"]
                .as_str()
                .expect("a filter")
                .split(':')
                .next()
                .expect("a name")
        })
        .collect();
    assert_eq!(names, ["window", "stamped", "apbf", "growing"]);
    for run in &recognized {
        assert!(
            run["filter"]
                .as_str()
                .expect("a filter")
                .contains("span=604800")
        );
        assert!(run["fpr_fresh"].is_number());
        // The page / alone is new in every window of three weeks.
        assert!(run["distinct"].as_u64() > Some(130), "{run}");
    }
    let without_times = |runs: Vec<Value>| -> Vec<Value> {
        let strip = |mut run: Value| {
            run["ns_per_observation"] = Value::Null;
            run
        };
        runs.into_iter().map(strip).collect()
    };
    let given = runs("--window 7d --time-field 4");
    assert_eq!(without_times(given), without_times(recognized));
    // A filter that is named has the same clock.
    let named = runs("--filter window:k=4,span=604800");
    let windowed = runs("--filter window:k=4 --window 7d");
    assert_eq!(without_times(named), without_times(windowed));
    for (command, input) in [
        ("simulate --window 7d", "a\nb\n"),
        ("simulate --window 7d --time-field 1", "a\nb\n"),
        ("advise - --window 7d --memory 1KiB", "a\nb\n"),
        ("create x.dds --window 7d --for -", "a\nb\n"),
    ] {
        let output = directory.run(command, input);
        assert_eq!(output.status.code(), Some(2), "{command}");
        let message = standard_error(&output);
        assert!(
            message.contains("window:span=10000,clock=count"),
            "{message}"
        );
    }
    let counted = "simulate --filter window:span=10,clock=count --memory 1KiB --json";
    directory.prints(counted, "a\nb\n");
}

#[test]
fn the_advised_create_line_of_a_window_works() {
    let directory = WorkingDirectory::new();
    let log = fixture("access.log");
    let advise = format!(
        "advise {} --field 7 --window 7d --time-field 4 --memory 4KiB",
        log.display()
    );
    let text = directory.prints(&advise, "");
    let create = text.lines().last().expect("a line");
    let create = create.strip_prefix("dedupstore ").expect("a command");
    assert!(create.ends_with("--field 7 --time-field 4"), "{create}");
    directory.prints(&create.replace("STORE", "log.dds"), "");
    let printed = directory.prints(&format!("filter log.dds --window 7d {}", log.display()), "");
    assert!(
        printed
            .lines()
            .filter(|line| line.contains("GET / "))
            .count()
            == 3
    );
    let object = json(&directory.prints(&format!("{advise} --json"), ""));
    assert_eq!(object["window"], 604_800);
    // With the number of keys and a rate, the memory follows.
    let sized = json(&directory.prints("advise --window 7d --expect 1M --max-fpr 0.1% --json", ""));
    assert_eq!(sized["keeps_bounds"], true);
    assert!(sized["memory_bits"].as_u64() < Some(64 << 20), "{sized}");
}

#[test]
fn merged_windows_forget_by_the_later_clock() {
    for filter in ["window", "stamped:bits=20"] {
        let directory = WorkingDirectory::new();
        for (store, line) in [("a.dds", access(1, "/a")), ("b.dds", access(6, "/b"))] {
            let options = "--memory 64KiB --window 7d --seed 1 --field 7 --time-field 4";
            directory.prints(&format!("create {store} {options} --filter {filter}"), "");
            directory.prints(&format!("filter {store}"), &line);
        }
        directory.prints("merge c.dds a.dds b.dds", "");
        directory.prints("verify c.dds", "");
        directory.prints("contains c.dds /a /b", "");
        let lines = access(9, "/a") + &access(9, "/b");
        assert_eq!(directory.prints("filter c.dds", &lines), access(9, "/a"));
    }
}
