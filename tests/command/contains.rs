//! Looking up keys without recording them.

use std::ffi::OsStr;
use std::process::Command;

use serde_json::Value;

use crate::DEDUPSTORE;
use crate::run_command::run;
use crate::store_commands::WorkingDirectory;

fn objects(text: &str) -> Vec<Value> {
    let object = |line| serde_json::from_str(line).expect("an object");
    text.lines().map(object).collect()
}

#[test]
fn a_line_is_treated_as_filter_treats_it_and_an_argument_is_the_key() {
    let directory = WorkingDirectory::new();
    directory.prints(
        "create a.dds --memory 64KiB --field 2 --normalize whatwg",
        "",
    );
    directory.prints("filter a.dds", "1 http://a.example/\n");
    let lines = "2 HTTP://A.example\n3 http://b.example/\nalone\n";
    let looked_up = directory.run("contains a.dds", lines);
    assert_eq!(looked_up.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&looked_up.stdout),
        "seen\t2 HTTP://A.example\nnew\t3 http://b.example/\nnew\talone\n"
    );
    let message = String::from_utf8_lossy(&looked_up.stderr);
    assert!(
        message.contains("1 of 3 lines has no such field and was reported as new"),
        "{message}"
    );
    assert_eq!(
        directory.prints("contains a.dds HTTP://A.example", ""),
        "seen\tHTTP://A.example\n"
    );
}

#[test]
fn quiet_prints_nothing_and_the_exit_code_answers() {
    let directory = WorkingDirectory::new();
    directory.prints("-q filter a.dds --memory 64KiB", "a\nb\n");
    for (arguments, input, code) in [
        ("contains -q a.dds a b", "", 0),
        ("contains -q a.dds a x", "", 1),
        ("-q contains a.dds", "a\nb\n", 0),
        ("contains a.dds -q", "x\nb\n", 1),
        ("contains -q a.dds --json", "x", 1),
        ("contains -q a.dds", "", 0),
    ] {
        let output = directory.run(arguments, input);
        assert_eq!(output.status.code(), Some(code), "{arguments}");
        assert!(
            output.stdout.is_empty() && output.stderr.is_empty(),
            "{arguments}"
        );
    }
    let output = directory.run("contains -q absent.dds a", "");
    assert_eq!(output.status.code(), Some(2));
    assert!(!output.stderr.is_empty());
}

#[test]
fn json_has_one_object_per_key_or_line() {
    let directory = WorkingDirectory::new();
    directory.prints(
        "-q filter a.dds --memory 64KiB --json-key id",
        "{\"id\":7}\n",
    );
    let lines = "{\"id\":7,\"n\":1}\n{\"id\":\"7\"}\nno\n";
    let output = directory.run("-q contains a.dds", lines);
    assert_eq!(output.status.code(), Some(1));
    let output = directory.run("contains a.dds --json", lines);
    let found = objects(&String::from_utf8_lossy(&output.stdout));
    let of = |key: &str| found.iter().map(|it| it[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("verdict"), ["seen", "new", "new"]);
    assert_eq!(of("key"), [Value::from("7"), "7".into(), Value::Null]);
    assert_eq!(found[0]["input"], "{\"id\":7,\"n\":1}");
    assert_eq!(of("schema"), [1, 1, 1]);
    let output = directory.run("contains a.dds --json 7 8", "");
    let found = objects(&String::from_utf8_lossy(&output.stdout));
    assert_eq!(
        (&found[0]["input"], &found[0]["verdict"]),
        (&"7".into(), &"seen".into())
    );
    assert_eq!(found[1]["verdict"], "new");
}

/// A user who types 7 may mean the number or the string.
#[test]
fn an_argument_stands_for_the_json_number_and_for_the_string() {
    let directory = WorkingDirectory::new();
    directory.prints(
        "-q filter a.dds --memory 64KiB --json-key id",
        "{\"id\":7}\n{\"id\":\"8\"}\n",
    );
    assert_eq!(
        directory.prints("contains a.dds 7 8", ""),
        "seen\t7\nseen\t8\n"
    );
    for key in ["7", "8"] {
        let page = directory.prints(&format!("explain a.dds {key}"), "");
        assert!(page.contains("verdict      seen"), "{page}");
    }
    let page = directory.prints("explain a.dds 9", "");
    assert!(page.contains("verdict      new"), "{page}");
}

#[test]
fn null_separates_input_and_output() {
    let directory = WorkingDirectory::new();
    directory.prints("-q filter a.dds --memory 64KiB -z", "a\nb\0");
    let output = directory.run("contains a.dds", "a\nb\0c");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "seen\ta\nb\0new\tc\0"
    );
    directory.prints("-q filter b.dds --memory 64KiB", "a\n");
    let message = directory.fails("contains b.dds -z");
    assert!(message.contains("end with a newline"), "{message}");
}

#[cfg(unix)]
#[test]
fn json_shows_keys_that_are_not_utf_8_without_a_loss() {
    let directory = WorkingDirectory::new();
    directory.prints("create a.dds --memory 64KiB --field 2", "");
    let store = directory.path("a.dds");
    let store = store.to_str().expect("text");
    let input = b"x a\xff\nx a\xfe\n\xff plain\n";
    run(&["-q", "filter", store], b"x a\xff\n");
    let output = run(&["contains", "--json", store], input);
    assert_eq!(output.status.code(), Some(1));
    let found = objects(str::from_utf8(&output.stdout).expect("text"));
    let shown = |at: usize| {
        let part = |name: &str| found[at][name].as_str().map(str::to_owned);
        (part("input_bytes"), part("key_bytes"), part("verdict"))
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(shown(0), (some("782061ff"), some("61ff"), some("seen")));
    assert_eq!(shown(1), (some("782061fe"), some("61fe"), some("new")));
    assert_eq!(shown(2), (some("ff20706c61696e"), None, some("new")));
    assert_eq!(found[2]["key"], "plain");
    let explain = Command::new(DEDUPSTORE)
        .args(["explain", "--json", store])
        .arg(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(
            b"a\xff",
        ))
        .output()
        .expect("started");
    let explained = objects(str::from_utf8(&explain.stdout).expect("text"));
    assert_eq!(explained[0]["verdict"], "seen");
    assert_eq!(explained[0]["key_bytes"], "61ff");
    assert_eq!(explained[0]["normalized_bytes"], "61ff");
    let plain = directory.run("contains a.dds --json", "x y\n");
    let plain = objects(str::from_utf8(&plain.stdout).expect("text"));
    let object = plain[0].as_object().expect("an object");
    assert!(!object.keys().any(|name| name.ends_with("_bytes")));
}

/// It prints nothing, so it needs no output.
#[cfg(unix)]
#[test]
fn quiet_needs_no_standard_output() {
    let directory = WorkingDirectory::new();
    directory.prints("-q filter a.dds --memory 64KiB", "a\nb\n");
    let store = directory.path("a.dds");
    for (command, code) in [
        ("\"$0\" contains -q \"$1\" a >&-", 0),
        ("\"$0\" contains -q \"$1\" x >&-", 1),
        ("echo a | \"$0\" contains -q \"$1\" >&-", 0),
        ("echo x | \"$0\" contains -q \"$1\" > /dev/full", 1),
        // The reader ends before the line comes.
        (
            "set -o pipefail; (sleep 0.3; echo x) | \"$0\" contains -q \"$1\" | true",
            1,
        ),
    ] {
        let status = Command::new("bash")
            .args(["-c", command, DEDUPSTORE])
            .arg(&store)
            .status();
        assert_eq!(status.expect("started").code(), Some(code), "{command}");
    }
}
