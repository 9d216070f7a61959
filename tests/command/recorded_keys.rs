//! Key options that a store records.

use std::fs;

use dedupstore::store::{CreateOptions, Store};
use serde_json::Value;

use crate::store_commands::WorkingDirectory;

fn inspected(directory: &WorkingDirectory, store: &str) -> Value {
    let object = directory.prints(&format!("inspect {store} --json"), "");
    serde_json::from_str(&object).expect("an object")
}

/// The options are given once: to `create`, or to the run that creates the store.
#[test]
fn later_runs_use_the_key_options_of_the_store() {
    for (options, key, first, same, other) in [
        ("--field 2", "field=2", "1 a\n", "2 a\n", "1 b\n"),
        (
            "--field 2- --delimiter ,",
            "field=2-,delimiter=%2C",
            "1,a,b\n",
            "2,a,b\n",
            "1,a\n",
        ),
        (
            "--json-key $.request.url --normalize whatwg",
            "json=request.url,normalize=whatwg",
            "{\"request\":{\"url\":\"http://a.example\"}}\n",
            "{\"n\":1,\"request\":{\"url\":\"HTTP://A.example/#x\"}}\n",
            "{\"request\":{\"url\":\"http://b.example\"}}\n",
        ),
        (
            "--key-regex GET,(.)",
            "regex=GET%2C(.)",
            "GET,a 1\n",
            "GET,a 2\n",
            "GET,b 1\n",
        ),
        (
            "--normalize crawl --drop-parameter ref --drop-parameter src_*",
            "line,normalize=crawl,drop=ref,drop=src_*",
            "http://a.example/?b&a\n",
            "http://a.example/?a&src_x=1&b&REF=2&utm_source=m\n",
            "http://a.example/?a\n",
        ),
        ("-z", "line,end=nul", "a\nb\0", "a\nb\0", "a\0"),
        ("--crlf", "line,end=crlf", "a\r\n", "a\n", "a\r\r\n"),
    ] {
        let directory = WorkingDirectory::new();
        directory.prints(&format!("create created.dds --memory 64KiB {options}"), "");
        assert_eq!(directory.prints("filter created.dds", first), first);
        let made = format!("-q filter made.dds --memory 64KiB {options}");
        assert_eq!(directory.prints(&made, first), first);
        for store in ["created.dds", "made.dds"] {
            assert_eq!(inspected(&directory, store)["key"], key);
            assert_eq!(directory.prints(&format!("filter {store}"), same), "");
            let looked_up = directory.run(&format!("-q contains {store}"), same);
            assert_eq!(looked_up.status.code(), Some(0), "{options}");
            let dry = directory.prints(&format!("filter {store} --dry-run"), other);
            assert_eq!(dry, other);
            // The same options agree with the store.
            let again = format!("filter {store} {options}");
            assert_eq!(directory.prints(&again, other), other);
        }
    }
}

#[test]
fn key_options_that_contradict_the_store_are_refused() {
    for (created, given, parts) in [
        ("", "--field 7", ["for whole lines", "--field 7"]),
        ("--field 7", "--field 6", ["with --field 7", "--field 6"]),
        (
            "--field 7 --delimiter ,",
            "--field 7 --delimiter ;",
            ["with --field 7 --delimiter ','", "--delimiter ';'"],
        ),
        (
            "--field 7",
            "--json-key a",
            ["with --field 7", "--json-key a"],
        ),
        (
            "--json-key a",
            "--key-regex b*",
            ["with --json-key a", "--key-regex 'b*'"],
        ),
        ("", "-z", ["end with a newline", "--null"]),
        ("-z", "--crlf", ["end with NUL", "--crlf"]),
        (
            "",
            "--normalize crawl",
            ["--normalize none", "--normalize crawl"],
        ),
        (
            "--normalize crawl",
            "--drop-parameter ref",
            [
                "without --drop-parameter",
                "create OTHER.dds --memory 64KiB --normalize crawl --drop-parameter ref",
            ],
        ),
        (
            "--normalize whatwg",
            "--drop-parameter ref",
            ["--drop-parameter needs --normalize crawl", "whatwg"],
        ),
    ] {
        let directory = WorkingDirectory::new();
        let create = format!("create a.dds --memory 64KiB {created}");
        directory.prints(create.trim_end(), "");
        for command in ["filter a.dds", "filter a.dds --dry-run", "contains a.dds"] {
            let message = directory.fails(&format!("{command} {given}"));
            for part in parts {
                assert!(message.contains(part), "{part:?} is not in {message}");
            }
        }
        assert_eq!(inspected(&directory, "a.dds")["log_sequence"], 0);
    }
}

/// `--field 7` says nothing about the delimiter, so the store's is used.
#[test]
fn a_delimiter_need_not_be_repeated() {
    let directory = WorkingDirectory::new();
    directory.prints("create a.dds --memory 64KiB --field 2 -t ,", "");
    assert_eq!(
        directory.prints("filter a.dds --field 2", "1,a b\n"),
        "1,a b\n"
    );
    assert_eq!(directory.prints("filter a.dds", "2,a b\n"), "");
}

/// Programs and early versions recorded no key. Such stores accept any key option, and JSON
/// numbers have the keys that they had.
#[test]
fn a_store_that_records_no_key_accepts_key_options_as_before() {
    let directory = WorkingDirectory::new();
    let options = CreateOptions::default().memory("64KiB");
    let mut store = Store::create(directory.path("a.dds"), &options).expect("created");
    store.observe("7").expect("observed");
    store.close().expect("closed");
    assert_eq!(inspected(&directory, "a.dds")["key"], Value::Null);
    let page = directory.prints("inspect a.dds", "");
    assert!(page.contains("key            not recorded"), "{page}");
    for (options, line) in [
        ("--json-key id", "{\"id\":7}\n"),
        ("--json-key id", "{\"id\":\"7\"}\n"),
        ("--field 2", "x 7\n"),
        ("-z", "7\0"),
        ("--crlf", "7\r\n"),
    ] {
        assert_eq!(
            directory.prints(&format!("filter a.dds {options}"), line),
            ""
        );
    }
    let message = directory.fails("filter a.dds --normalize whatwg");
    assert!(message.contains("--normalize none"), "{message}");
}

#[test]
fn a_key_of_a_newer_version_is_refused() {
    let directory = WorkingDirectory::new();
    let options = CreateOptions::default().memory("64KiB");
    let options = options.normalization("column=7,quotes=rfc4180");
    drop(Store::create(directory.path("a.dds"), &options).expect("created"));
    for command in ["filter a.dds", "contains a.dds a", "explain a.dds a"] {
        let message = directory.fails(command);
        for part in ["column=7,quotes=rfc4180", "Install a newer version"] {
            assert!(message.contains(part), "{part:?} is not in {message}");
        }
    }
    let page = directory.prints("inspect a.dds", "");
    assert!(page.contains("column=7,quotes=rfc4180"), "{page}");
}

#[test]
fn stores_with_different_keys_are_not_merged() {
    let directory = WorkingDirectory::new();
    for (name, options) in [
        ("a.dds", "--field 1"),
        ("b.dds", "--field 2"),
        ("c.dds", "--field 1"),
    ] {
        let create = format!("create {name} --memory 64KiB --filter bloom --seed 1 {options}");
        directory.prints(&create, "");
    }
    let message = directory.fails("merge both.dds a.dds b.dds");
    assert!(
        message.contains("keys differ, field=1 and field=2"),
        "{message}"
    );
    directory.prints("-q merge both.dds a.dds c.dds", "");
    assert_eq!(inspected(&directory, "both.dds")["key"], "field=1");
}

#[test]
fn inspect_describes_the_key() {
    let directory = WorkingDirectory::new();
    for (options, words) in [
        ("", "key            the whole line\n"),
        (
            "--field 1,4-6 -t ,",
            "key            fields 1,4-6, separated by `,`\n",
        ),
        ("--key-regex a(.)", "key            match of a(.)\n"),
        (
            "--json-key /a/b --normalize crawl --drop-parameter x",
            "key            JSON value a.b\n  normalization  crawl, also without the parameter x\n",
        ),
    ] {
        let create = format!("-q create a.dds --memory 64KiB {options}");
        directory.prints(create.trim_end(), "");
        let page = directory.prints("inspect a.dds", "");
        assert!(page.contains(words), "{words} is not in {page}");
        fs::remove_dir_all(directory.path("a.dds")).expect("removed");
    }
}

#[test]
fn the_same_fields_are_accepted_however_they_are_written() {
    let directory = WorkingDirectory::new();
    let create = "--memory 64KiB --filter bloom --seed 1 -t ,";
    directory.prints(&format!("create a.dds {create} --field 1,2"), "");
    directory.prints(&format!("create b.dds {create} --field 1-2"), "");
    directory.prints("filter a.dds --field 1-2", "x,y,1\n");
    let seen = directory.prints("filter -d a.dds --field 1,2", "x,y,2\n");
    assert_eq!(seen, "x,y,2\n");
    assert_eq!(
        inspected(&directory, "a.dds")["key"],
        "field=1+2,delimiter=%2C"
    );
    directory.prints("merge both.dds a.dds b.dds", "");
    let message = directory.fails("filter a.dds --field 2,1");
    assert!(message.contains("with --field 1,2"), "{message}");
}
