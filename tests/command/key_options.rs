//! Options that choose the key of a line: fields, JSON values, line ends, families of URLs.

use crate::run_command::{assert_fails, assert_prints, run, standard_error};

#[test]
fn fields_are_written_as_cut_writes_them() {
    for (fields, line, same, other) in [
        ("1-3", "a,b,c,d", "a,b,c,x", "a,b,x,d"),
        ("2-", "a,b,c,d", "x,b,c,d", "a,b,c"),
        ("-2", "a,b,c", "a,b,x", "a,x,c"),
        ("1,4-6", "a,b,c,d,e,f", "a,x,x,d,e,f,x", "a,b,c,d,e,x"),
    ] {
        let lines = format!("{line}\n{same}\n{other}\n");
        let expected = format!("{line}\n{other}\n");
        let arguments = ["filter", "--field", fields, "-t", ","];
        assert_prints(&arguments, lines.as_bytes(), expected.as_bytes());
    }
    for (fields, part) in [
        ("0", "counted from 1"),
        ("3-1", "write 1-3"),
        ("1-x", "found `1-x`"),
        ("", "as in 7, 1,7, 1-3 or 2-"),
    ] {
        assert_fails(&["filter", "--field", fields], &[part]);
    }
}

#[test]
fn a_key_that_no_line_has_is_reported_with_the_number_of_lines() {
    let lines = "a b\n".repeat(10_000);
    let output = run(&["filter", "--field", "7"], lines.as_bytes());
    assert_eq!(output.stdout, lines.as_bytes());
    let message = standard_error(&output);
    for part in [
        "none of the 10,000 lines has such a field",
        "check --field 7",
    ] {
        assert!(message.contains(part), "{part:?} is not in {message}");
    }
    let output = run(&["filter", "--field", "2"], b"a b\na\na c\n");
    assert!(standard_error(&output).contains("1 of 3 lines has no such field"));
    let output = run(&["filter", "--json-key", "a"], b"{}\n");
    assert!(standard_error(&output).contains("the only line has no such value"));
}

#[test]
fn with_crlf_a_carriage_return_is_not_part_of_the_key_and_is_printed() {
    let lines = b"1,a\r\n2,a\n3,b\n4,b\r\n5,c\r";
    let by_field = ["filter", "--field", "2", "-t", ","];
    assert_prints(&by_field, lines, lines);
    let arguments = [&by_field[..], &["--crlf"]].concat();
    assert_prints(&arguments, lines, b"1,a\r\n3,b\n5,c\r");
    assert_prints(&["filter", "--crlf"], b"a\r\na\nb\n", b"a\r\nb\n");
    assert_fails(&["filter", "--crlf", "-z"], &["cannot be used with"]);
}

/// What is not JSON has no key, and is printed like every line without a key.
#[test]
fn json_keys_are_those_that_jq_sees() {
    let of = |path: &str, lines: &str| {
        let output = run(
            &["-q", "filter", "-d", "--json-key", path],
            lines.as_bytes(),
        );
        String::from_utf8(output.stdout).expect("text")
    };
    let url = "{\"url\":\"x\"}\n";
    for not_json in [
        "{\"url\":\"x\"\n",
        "{\"url\":x}\n",
        "{\"url\":\"x\"}}\n",
        "{\"url\":\"x\",}\n",
    ] {
        assert_eq!(
            of("url", &format!("{url}{not_json}{not_json}")),
            "",
            "{not_json}"
        );
    }
    // The number is not the string, and the last member of a name counts.
    assert_eq!(of("a", "{\"a\":1}\n{\"a\":\"1\"}\n"), "");
    assert_eq!(
        of("a", "{\"a\":1}\n{\"a\":2,\"a\":1}\n"),
        "{\"a\":2,\"a\":1}\n"
    );
    for path in ["a.b", ".a.b", "$.a.b", "/a/b", "$['a'].b"] {
        let lines = "{\"a\":{\"b\":1}}\n{\"a\":{\"b\":1},\"c\":2}\n";
        assert_eq!(of(path, lines), "{\"a\":{\"b\":1},\"c\":2}\n", "{path}");
    }
    for (path, part) in [
        ("$", "the whole line is the key"),
        ("a[*]", "several values"),
        ("$..a", "cannot be parsed"),
    ] {
        assert_fails(&["filter", "--json-key", path], &[part]);
    }
}

#[test]
fn crawl_treats_a_family_of_urls_as_one_key() {
    let family = concat!(
        "http://a.example/x?b=2&a=1\n",
        "HTTP://A.example:80/x?a=1&b=2#top\n",
        "http://a.example/x?a=1&utm_source=m&b=2&fbclid=z\n",
        "http://a.example/x;jsessionid=0A1B?a=1&b=2&PHPSESSID=q\n",
        "http://a.example/x?a=1&b=2&ref=mail\n",
    );
    let lines: Vec<&str> = family.split_inclusive('\n').collect();
    let first_and_last = format!("{}{}", lines[0], lines[4]);
    let crawl = ["filter", "--normalize", "crawl"];
    assert_prints(&crawl, family.as_bytes(), first_and_last.as_bytes());
    let without_ref = [&crawl[..], &["--drop-parameter", "REF"]].concat();
    assert_prints(&without_ref, family.as_bytes(), lines[0].as_bytes());
    // What whatwg leaves apart.
    assert_prints(
        &["filter", "--normalize", "whatwg"],
        family.as_bytes(),
        [lines[0], lines[1], lines[2], lines[3], lines[4]]
            .concat()
            .as_bytes(),
    );
    assert_fails(&["filter", "--drop-parameter", "a"], &["--normalize crawl"]);
    let bad = ["filter", "--normalize", "crawl", "--drop-parameter", "a=b"];
    assert_fails(&bad, &["the name of a parameter"]);
}

#[test]
fn urls_that_are_not_utf_8_are_normalized() {
    assert_prints(
        &["filter", "--normalize", "whatwg"],
        b"HTTP://A.example/\xE9#top\nhttp://a.example/%E9\n\xE9\n\xE8\n",
        b"HTTP://A.example/\xE9#top\n\xE9\n\xE8\n",
    );
}
