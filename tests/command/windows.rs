//! Windows and the times of lines.

use dedupstore::rng::Generator;
use serde_json::Value;

use crate::run_command::standard_error;
use crate::store_commands::WorkingDirectory;

pub const DAY: u64 = 86_400;
/// 2026-03-01T00:00:00Z.
pub const MARCH: u64 = 1_772_323_200;

pub fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("an object")
}

/// Returns a line of an access log on a day of March 2026.
pub fn access(day: u32, path: &str) -> String {
    format!("10.0.0.1 - - [{day:02}/Mar/2026:12:00:00 +0000] \"GET {path} HTTP/1.1\" 200 7\n")
}

#[test]
fn a_log_in_combined_format_forgets_after_its_window() {
    let first = access(1, "/a") + &access(5, "/b");
    let repeats = access(6, "/a") + &access(7, "/a") + &access(7, "/b");
    let again = access(9, "/a");
    let log = [&*first, &*repeats, &*again, &*access(10, "/b")].concat();
    let expected = format!("{first}{again}");
    let options = "--memory 64KiB --window 7d --field 7 --time-field 4";
    for filter in [
        "--seed 1",
        "--filter window",
        "--filter stamped:bits=20",
        "--filter apbf",
    ] {
        let directory = WorkingDirectory::new();
        let in_memory = directory.prints(&format!("filter {options} {filter}"), &log);
        assert_eq!(in_memory, expected, "{filter}");
        directory.prints(&format!("create log.dds {options} {filter}"), "");
        assert_eq!(directory.prints("filter log.dds", &first), first);
        // The clock is that of the lines, also in later runs.
        assert_eq!(directory.prints("filter log.dds", &repeats), "");
        assert_eq!(directory.prints("filter log.dds --dry-run", &again), again);
        let annotated = directory.prints("filter log.dds --annotate", &again);
        assert_eq!(annotated, format!("new\t{again}"), "{filter}");
    }
}

#[test]
fn every_way_to_write_a_time_is_read() {
    for (options, time) in [
        (
            "--time-field 1",
            (|seconds| seconds.to_string()) as fn(u64) -> String,
        ),
        ("--time-field 1", |seconds| format!("{seconds}.25")),
        ("--time-field 1 --time-format milliseconds", |seconds| {
            format!("{seconds}250")
        }),
        ("--time-field 1 --time-format rfc3339", |seconds| {
            rfc3339(seconds, "T", "Z")
        }),
        ("--time-field 1", |seconds| rfc3339(seconds, " ", ".5")),
        ("--time-field 1", |seconds| {
            rfc3339(seconds + 7200, "T", "+02:00")
        }),
    ] {
        let line = |seconds: u64, key: &str| format!("{} x {key}\n", time(seconds));
        let (first, repeat) = (line(MARCH, "a"), line(MARCH + 6 * DAY, "a"));
        let again = line(MARCH + 8 * DAY, "a");
        let log = format!("{first}{repeat}{again}");
        let directory = WorkingDirectory::new();
        let command = format!("filter --memory 64KiB --window 7d --key-regex (\\S+)$ {options}");
        assert_eq!(
            directory.prints(&command, &log),
            format!("{first}{again}"),
            "{log}"
        );
    }
    let directory = WorkingDirectory::new();
    let line = |seconds: u64| format!("{{\"at\":{{\"ts\":{seconds}}},\"k\":\"a\"}}\n");
    let log = [line(MARCH), line(MARCH + DAY), line(MARCH + 8 * DAY)].concat();
    let json_keys = "filter --memory 64KiB --window 7d --json-key k --time-json-key at.ts";
    let expected = line(MARCH) + &line(MARCH + 8 * DAY);
    assert_eq!(directory.prints(json_keys, &log), expected);
    let line = |seconds: u64| format!("a,\"{}\",x\n", rfc3339(seconds, " ", ""));
    let log = [line(MARCH), line(MARCH + DAY), line(MARCH + 8 * DAY)].concat();
    let fields = "filter --memory 64KiB --window 7d --field 1 --time-field 2 --delimiter ,";
    let expected = line(MARCH) + &line(MARCH + 8 * DAY);
    assert_eq!(directory.prints(fields, &log), expected);
}

/// Returns a time in March 2026.
fn rfc3339(seconds: u64, separator: &str, end: &str) -> String {
    let (day, second) = ((seconds - MARCH) / DAY + 1, (seconds - MARCH) % DAY);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("2026-03-{day:02}{separator}{hour:02}:{minute:02}:{second:02}{end}")
}

#[test]
fn a_line_with_a_time_in_2106_does_not_empty_the_store() {
    let directory = WorkingDirectory::new();
    let options = "--memory 64KiB --window 7d --field 2 --time-field 1 --stats json";
    let line = |seconds: u64, key: &str| format!("{seconds} {key}\n");
    let far = line(4_294_967_000, "c");
    let log = [
        line(MARCH, "a"),
        far,
        line(MARCH + 1, "a"),
        line(MARCH + 2, "b"),
    ]
    .concat();
    let expected = format!("{MARCH} a\n4294967000 c\n{} b\n", MARCH + 2);
    for command in [
        format!("filter {options}"),
        format!("-q filter log.dds {options} --dry-run"),
        format!("-q filter log.dds {options}"),
    ] {
        let output = directory.run(&command, &log);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            expected,
            "{command}"
        );
        let message = standard_error(&output);
        let stats = json(message.lines().last().expect("statistics"));
        assert_eq!(
            (&stats["ahead"], &stats["late"]),
            (&1.into(), &0.into()),
            "{command}"
        );
        let is_warned = message.contains("1 line has a time more than a window ahead");
        assert_eq!(is_warned, !command.starts_with("-q"), "{message}");
    }
    assert_eq!(
        directory.prints("filter log.dds --dry-run", &line(MARCH + DAY, "a")),
        ""
    );
    // A run of such lines is a clock that was wrong before, and is followed.
    let next = MARCH + 100 * DAY;
    let lines: String = (0..8).map(|i| line(next + i, "a")).collect();
    assert_eq!(directory.prints("filter log.dds", &lines), line(next, "a"));
}

#[test]
fn the_first_line_of_a_log_may_have_a_time_in_2106() {
    let directory = WorkingDirectory::new();
    let log = format!("x c\n4294967000 c\n{MARCH} a\n{} a\n", MARCH + 8 * DAY);
    let command = "-q filter --memory 64KiB --window 7d --field 2 --time-field 1";
    assert_eq!(
        directory.prints(command, &log),
        log.replacen("4294967000 c\n", "", 1)
    );
    assert_eq!(
        directory
            .prints(&command.replace("filter", "filter log.dds"), &log)
            .lines()
            .count(),
        3
    );
}

#[test]
fn lines_without_a_time_count_at_the_time_before_them() {
    let directory = WorkingDirectory::new();
    let log = format!(
        "time key\n{MARCH} a\n- b\n{} x\n- a\n{} b\n",
        MARCH + 4 * DAY,
        MARCH + 6 * DAY
    );
    let options = "--memory 64KiB --window 7d --field 2 --time-field 1";
    let output = directory.run(&format!("filter {options} --stats json"), &log);
    // `b` was new at the time of `a`, and is a repeat six days later.
    let expected = format!("time key\n{MARCH} a\n- b\n{} x\n", MARCH + 4 * DAY);
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    let message = standard_error(&output);
    let warning = "3 of 6 lines have no readable time, first line 1; they counted at the time \
                   before them, those at the start at the first time after them; check \
                   --time-field 1";
    assert!(message.contains(warning), "{message}");
    let stats = json(message.lines().last().expect("statistics"));
    assert_eq!(stats["lines_without_time"], 3);
    assert_eq!(stats["late"], 0);
    let output = directory.run(&format!("filter {options}"), "a b\nc d\n");
    let message = standard_error(&output);
    assert!(message.contains("no line has a readable time"), "{message}");
    // By the machine's clock, no line is late or lacks a time.
    let output = directory.run("filter --memory 64KiB --window 7d --stats json", "a\nb\n");
    let stats = json(&standard_error(&output));
    assert_eq!(
        (&stats["late"], &stats["lines_without_time"]),
        (&0.into(), &0.into())
    );
}

/// A model of a window with exact sets: what a run prints, given the state of the runs before.
#[derive(Default)]
struct Model {
    step: u64,
    delivered: std::collections::HashMap<u64, u64>,
}

impl Model {
    /// Seven steps of a day. A key that was set in step s is forgotten in step s + 8.
    fn prints(&mut self, lines: &[(u64, u64)]) -> String {
        let mut printed = String::new();
        for &(seconds, key) in lines {
            self.step = self.step.max(seconds / DAY);
            let delivered = self.delivered.get(&key);
            if delivered.is_none_or(|it| self.step - it > 7) {
                self.delivered.insert(key, self.step);
                printed += &format!("{seconds} {key}\n");
            }
        }
        printed
    }
}

#[test]
fn later_runs_with_late_lines_print_what_an_exact_window_prints() {
    let random = Generator::from_seed(5);
    let mut draws = 0;
    let mut draw = |below: u64| {
        draws += 1;
        random.draw(draws) % below
    };
    for case in 0..6 {
        let directory = WorkingDirectory::new();
        let filter = ["window:k=8", "stamped:bits=24"][case % 2];
        let create = "create log.dds --memory 64KiB --window 7d --field 2 --time-field 1 --seed 1";
        directory.prints(&format!("{create} --filter {filter},step={DAY}"), "");
        let mut model = Model::default();
        let mut now = MARCH;
        for _ in 0..4 {
            let mut lines = Vec::new();
            for _ in 0..200 {
                now += draw(DAY / 20);
                // The first line sets the clock.
                let late = match lines.is_empty() {
                    true => 0,
                    false => [0, 0, 0, DAY, 20 * DAY][draw(5) as usize],
                };
                lines.push((now - late, draw(60)));
            }
            // A pause between runs.
            now += draw(3 * DAY);
            let text: String = lines
                .iter()
                .map(|(at, key)| format!("{at} {key}\n"))
                .collect();
            let threads = 1 + case % 3;
            let run = format!("filter log.dds --threads {threads}");
            assert_eq!(
                directory.prints(&run, &text),
                model.prints(&lines),
                "{filter}"
            );
        }
    }
}

#[test]
fn the_number_of_threads_does_not_change_what_is_forgotten() {
    let directory = WorkingDirectory::new();
    let log: String = (0..40_000u64)
        .map(|i| match i % 11 {
            0 => format!("- {}\n", i % 700),
            1 => format!("{} {}\n", MARCH + i * 60 - DAY, i % 900),
            _ => format!("{} {}\n", MARCH + i * 60, i * i % 5000),
        })
        .collect();
    std::fs::write(directory.path("log"), log).expect("written");
    let run = |threads: usize| {
        let options = "--memory 256KiB --window 1d --field 2 --time-field 1 --stats json";
        let command = format!("-q filter log {options} --threads {threads}");
        let output = directory.run(&command, "");
        let mut stats = json(&standard_error(&output));
        for timing in ["seconds", "lines_per_second"] {
            stats[timing] = Value::Null;
        }
        (output.stdout, stats)
    };
    let expected = run(1);
    assert_eq!(expected.1["lines_without_time"], 3637);
    for threads in [2, 3] {
        assert_eq!(run(threads), expected, "{threads} threads");
    }
}

#[test]
fn windows_and_times_that_contradict_the_store_are_refused() {
    let directory = WorkingDirectory::new();
    directory.prints(
        "create log.dds --memory 64KiB --window 7d --time-field 4 --field 7",
        "",
    );
    for accepted in [
        "--window 7d",
        "--window 168h",
        "--time-field 4",
        "--field 7 --window 7d",
    ] {
        directory.prints(&format!("filter log.dds {accepted}"), "");
    }
    directory.prints("create machine.dds --memory 64KiB --window 7d", "");
    directory.prints("create plain.dds --memory 64KiB", "");
    for (command, parts) in [
        (
            "filter log.dds --window 1d",
            ["was created with --window 7d", "--window 1d"],
        ),
        (
            "filter log.dds --dry-run --window 1d",
            ["with --window 7d", "--window 1d"],
        ),
        (
            "filter log.dds --time-field 3",
            ["with --time-field 4", " --field 7 --time-field 3"],
        ),
        (
            "filter log.dds --time-json-key at",
            ["with --time-field 4", "--time-json-key at"],
        ),
        (
            "filter log.dds --time-field 4 --time-format clf",
            ["with --time-field 4,", "--time-format clf"],
        ),
        (
            "contains log.dds --time-field 3 x",
            ["with --time-field 4", "--time-field 3"],
        ),
        (
            "filter machine.dds --time-field 4",
            ["for the time of the machine", "--time-field 4"],
        ),
        (
            "filter plain.dds --window 7d",
            [
                "without a window that is measured in seconds",
                "--window 7d",
            ],
        ),
        (
            "filter --window 7d --filter bloom",
            ["bloom has no window", "window, stamped, apbf"],
        ),
        (
            "filter --window 7d --filter window:clock=count",
            ["is not measured in seconds", "clock="],
        ),
        (
            "create x.dds --window 7d --filter window:span=60",
            ["60 seconds (1 min)", "--window 7d"],
        ),
        ("filter --time-field 4", ["has no window", "--window 7d"]),
        (
            "create x.dds --time-field 4",
            ["has no window", "--window 7d"],
        ),
        (
            "advise --time-field 4 --memory 1MiB",
            ["only for a filter with a window", "--window 7d"],
        ),
        (
            "contains plain.dds --at +1d x",
            ["--at has no meaning", "window, stamped, apbf"],
        ),
        ("filter --window 7", ["--window <SPAN>", "12h or 7d"]),
        (
            "filter --window 7d --time-field 0",
            ["counted from 1", "`0`"],
        ),
        (
            "filter --window 7d --time-format clf",
            ["--time-field N", "--time-json-key PATH"],
        ),
        (
            "contains log.dds --at tomorrow x",
            ["2026-03-01T12:34:56Z", "`tomorrow`"],
        ),
    ] {
        let message = directory.fails(command);
        for part in parts {
            assert!(
                message.contains(part),
                "{command}: {part:?} is not in {message:?}"
            );
        }
    }
    assert!(!directory.path("x.dds").exists());
}
