//! Taking keys out of a store, and raising the limit of a growing one.

use serde_json::Value;

use crate::store_commands::WorkingDirectory;

#[test]
fn keys_are_taken_out_by_argument_and_by_line_and_the_exit_code_says_whether_all_were_there() {
    let directory = WorkingDirectory::new();
    directory.prints(
        "create a.dds --memory 64KiB --filter counting --field 2",
        "",
    );
    directory.prints("filter a.dds", "1 a\n2 b\n3 c\n4 d\n");
    assert_eq!(directory.prints("forget a.dds a", ""), "forgotten\ta\n");
    let output = directory.run("forget a.dds", "9 b\nalone\n9 a\n");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "forgotten\t9 b\nnew\talone\nnew\t9 a\n"
    );
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        message.contains("1 of 3 lines has no such field and was skipped"),
        "{message}"
    );
    // What was taken out is printed again, and nothing else.
    assert_eq!(
        directory.prints("filter a.dds", "1 a\n2 b\n3 c\n4 d\n"),
        "1 a\n2 b\n"
    );
    let text = directory.prints("inspect a.dds", "");
    assert!(text.contains("forgotten      2"), "{text}");
    directory.prints("verify a.dds", "");
}

#[test]
fn forget_prints_json_or_nothing_and_takes_nul_separated_lines() {
    let directory = WorkingDirectory::new();
    directory.prints(
        "create a.dds --memory 64KiB --filter slot:values=65535 -z",
        "",
    );
    directory.prints("filter a.dds", "a\0b\n\0c\0");
    let json = directory.run("forget a.dds --json", "a\0x\0");
    assert_eq!(json.status.code(), Some(1));
    let objects: Vec<Value> = String::from_utf8_lossy(&json.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object"))
        .collect();
    let results: Vec<_> = objects
        .iter()
        .map(|it| (&it["input"], &it["result"]))
        .collect();
    let (a, x) = ("a".into(), "x".into());
    assert_eq!(results, [(&a, &"forgotten".into()), (&x, &"new".into())]);
    let quiet = directory.run("forget -q a.dds", "b\n\0c\0");
    assert_eq!(quiet.status.code(), Some(0));
    assert!(quiet.stdout.is_empty() && quiet.stderr.is_empty());
    assert_eq!(
        directory.prints("filter a.dds", "a\0b\n\0c\0"),
        "a\0b\n\0c\0"
    );
}

#[test]
fn a_store_whose_filter_cannot_forget_is_left_as_it_was() {
    let directory = WorkingDirectory::new();
    directory.prints("create a.dds --memory 64KiB", "");
    let refused = directory.run("forget a.dds a", "");
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr);
    for part in ["blocked cannot forget a key", "counting", "feed the logs"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_store_grows_and_its_limit_is_raised() {
    let directory = WorkingDirectory::new();
    let created = directory.prints("create a.dds --grow-to 1MiB --fpr 0.1%", "");
    for part in ["grows from", "room for", "distinct keys", "0.09"] {
        assert!(created.contains(part), "{created}");
    }
    let lines: String = (0..5000).map(|number| format!("{number}\n")).collect();
    assert_eq!(
        directory.prints("filter a.dds", &lines).lines().count(),
        5000
    );
    let text = directory.prints("inspect a.dds", "");
    assert!(text.contains("that are reserved"), "{text}");
    assert!(text.contains("full after about"), "{text}");
    let small = directory.run("grow a.dds --memory 1MiB", "");
    assert_eq!(small.status.code(), Some(2));
    let message = String::from_utf8_lossy(&small.stderr);
    assert!(message.contains("or more"), "{message}");
    let grown = directory.run("grow a.dds --memory 8MiB", "");
    assert_eq!(grown.status.code(), Some(0));
    let message = String::from_utf8_lossy(&grown.stderr);
    assert!(
        message.contains("when it is full, its false positive rate is"),
        "{message}"
    );
    assert_eq!(directory.prints("filter a.dds", &lines), "");
    directory.prints("verify a.dds", "");
}
