//! Looking up keys without recording them.

use serde_json::Value;

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
