//! Kills `filter` on a store with a window; its clock must survive.

use std::io::{Read, Write};
use std::process::Stdio;

use serde_json::Value;

use super::{dedupstore, store_path, succeed};

const DAY: u64 = 86_400;
/// 2026-03-01T00:00:00Z.
const MARCH: u64 = 1_772_323_200;

#[test]
fn resuming_after_kill_keeps_the_clock() {
    let (_directory, store) = store_path();
    let name = store.to_str().expect("text");
    let options = "--memory 64KiB --window 7d --filter window:step=86400 --field 2 --time-field 1";
    succeed(["create", name].into_iter().chain(options.split(' ')));
    let run = |input: &str, kill: bool| {
        let mut child = dedupstore(["filter", name])
            .stdin(Stdio::piped())
            .spawn()
            .expect("started");
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(input.as_bytes()).expect("written");
        let mut printed = Vec::new();
        let mut stdout = child.stdout.take().expect("piped");
        if kill {
            // The last line is printed, so that everything before it was recorded.
            while !printed.ends_with(b"end\n") {
                let mut byte = [0];
                stdout.read_exact(&mut byte).expect("more");
                printed.push(byte[0]);
            }
            child.kill().expect("killed");
        }
        drop(stdin);
        stdout.read_to_end(&mut printed).expect("read");
        assert_eq!(child.wait().expect("ended").success(), !kill);
        String::from_utf8(printed).expect("text")
    };
    let line = |days: u64, key: &str| format!("{} {key}\n", MARCH + days * DAY);
    let before = line(0, "a") + &line(5, "b");
    let first = run(&before, false);
    assert_eq!(first, before);
    let killed = run(&(line(6, "c") + &line(6, "a") + &line(7, "end")), true);
    assert_eq!(killed, line(6, "c") + &line(7, "end"));

    let inspected = succeed(["inspect", name, "--json"]).stdout;
    let inspected: Value = serde_json::from_slice(&inspected).expect("an object");
    // The last batch was printed and perhaps not recorded.
    let clock = inspected["window"]["present_unix_seconds"].as_u64();
    let last = [MARCH + 5 * DAY, MARCH + 6 * DAY, MARCH + 7 * DAY];
    assert!(last.contains(&clock.expect("a time")), "{inspected}");

    // The same lines again, and the next ones. `a` leaves the window on the eighth day.
    let again = run(&(line(6, "c") + &line(6, "a") + &line(7, "end")), false);
    assert!(!again.contains(" a\n"), "{again}");
    assert_eq!(run(&(line(6, "a") + &line(6, "b")), false), "");
    assert_eq!(run(&(line(8, "a") + &line(8, "b")), false), line(8, "a"));
    // A late line counts at the present step, on which `b` is still in the window.
    assert_eq!(
        run(&(line(1, "b") + &line(13, "b") + &line(14, "b")), false),
        line(13, "b")
    );
}
