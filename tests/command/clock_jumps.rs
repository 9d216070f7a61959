//! Logs whose times jump.

use dedupstore_tests::fixture;

use crate::store_commands::WorkingDirectory;

const OPTIONS: &str = "--window 60s --field 2 --time-field 1 --memory 64KiB";

#[test]
fn a_store_that_met_a_line_from_2106_is_intact() {
    for filter in ["window", "stamped", "apbf"] {
        let directory = WorkingDirectory::new();
        let create = "create a.dds --memory 64KiB --window 7d --field 2 --time-field 1";
        directory.prints(&format!("{create} --filter {filter}"), "");
        directory.prints("filter a.dds", "1770000000 p\n4800000000 q\n1770000005 r\n");
        directory.prints("verify a.dds", "");
    }
}

#[test]
fn runs_of_one_line_follow_pauses_longer_than_the_window() {
    let directory = WorkingDirectory::new();
    directory.prints(&format!("create a.dds {OPTIONS}"), "");
    for pause in 10..20 {
        let line = format!("17000{pause}000 a\n");
        assert_eq!(directory.prints("filter a.dds", &line), line);
    }
}

#[test]
fn a_bad_time_in_the_first_line_does_not_hide_an_old_log() {
    let directory = WorkingDirectory::new();
    let options = "--memory 1MiB --window 7d --field 7 --time-field 4 --filter window";
    let log = fixture("access.log").display().to_string();
    let expected = directory.prints(&format!("filter {options} {log}"), "");
    let bad = "1.1.1.1 - - [07/Feb/2106:00:43:37 +0000] \"GET /x HTTP/1.1\" 200 847\n";
    directory.prints(&format!("create k.dds {options}"), "");
    assert_eq!(directory.prints("filter k.dds", bad), bad);
    assert_eq!(
        directory.prints(&format!("filter k.dds {log}"), ""),
        expected
    );
    // Eight of them do not move the clock either.
    let many = bad.repeat(8);
    directory.prints("filter k.dds", &many);
    let inspected = directory.prints("inspect k.dds", "");
    assert!(!inspected.contains("began 2106"), "{inspected}");
}

#[test]
fn what_is_forgotten_after_a_pause_does_not_depend_on_batches() {
    let directory = WorkingDirectory::new();
    let mut log = "1700000000 a\n".to_owned();
    log += &"1700001000 a\n".repeat(9);
    let together = directory.prints(&format!("filter --annotate {OPTIONS}"), &log);
    directory.prints(&format!("create a.dds {OPTIONS}"), "");
    let seen = "seen\t1700001000 a\n";
    let expected = format!(
        "new\t1700000000 a\n{seen}new\t1700001000 a\n{}",
        seen.repeat(7)
    );
    assert_eq!(together, expected);
    let options = "--window 10m --field 7 --time-field 4 --memory 256KiB --seed 5";
    let log = fixture("access.log").display().to_string();
    for filter in ["window", "stamped:bits=20"] {
        let run = |threads: u32| {
            let filter = format!("filter {options} --filter {filter} --threads {threads} {log}");
            directory.prints(&filter, "")
        };
        let alone = run(1);
        assert!(alone == run(2) && alone == run(5), "{filter}");
    }
}

#[test]
fn simulate_counts_times_as_filter_does() {
    let directory = WorkingDirectory::new();
    let log = fixture("access.log").display().to_string();
    let options = "--field 7 --window 30m --time-field 4 --filter window --memory 1MiB";
    let simulated = directory.prints(&format!("simulate {log} {options} --json"), "");
    let simulated: serde_json::Value = serde_json::from_str(&simulated).expect("an object");
    assert_eq!((&simulated["fp"], &simulated["fn"]), (&0.into(), &0.into()));
    let printed = directory.prints(&format!("filter {log} {options}"), "");
    let new = simulated["distinct"].as_u64().expect("a number");
    assert_eq!(printed.lines().count() as u64, new);
}
