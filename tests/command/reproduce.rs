//! `dedupstore reproduce`, at a ten-thousandth of the size of the papers.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use dedupstore_tests::fixture;
use serde_json::Value;

use crate::DEDUPSTORE;

fn reproduce(arguments: &[&str]) -> Output {
    Command::new(DEDUPSTORE)
        .arg("reproduce")
        .args(arguments)
        .args(["--scale", "10000"])
        .output()
        .expect("started")
}

fn printed(arguments: &[&str]) -> String {
    let output = reproduce(arguments);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{message}");
    assert_eq!(message, "", "no progress without a terminal");
    String::from_utf8(output.stdout).expect("text")
}

fn cells(text: &str) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).expect("an object");
    text.lines().map(parse).collect()
}

/// The fixture is the output of this command, which does not depend on machine or threads.
#[test]
fn a_table_is_reproduced_exactly() {
    let expected = std::fs::read_to_string(fixture("reproduce-000-table-9.jsonl")).expect("a file");
    assert_eq!(printed(&["000", "9", "--json", "--threads", "1"]), expected);
    assert_eq!(
        printed(&["000", "table 9", "--json", "--threads", "3"]),
        expected
    );
}

#[test]
fn a_cell_has_all_json_keys() {
    let cells = cells(&printed(&["000", "9", "--row", "512 MB", "--json"]));
    assert_eq!(cells.len(), 12);
    let mut keys = BTreeSet::from([
        "schema",
        "paper",
        "table",
        "row",
        "column",
        "metric",
        "paper_value",
        "measured",
        "deviation",
    ]);
    for cell in &cells {
        if cell.get("note").is_some() {
            keys.insert("note");
        } else {
            keys.remove("note");
        }
        let found = cell.as_object().expect("an object").keys();
        assert_eq!(found.map(String::as_str).collect::<BTreeSet<_>>(), keys);
        assert_eq!(cell["schema"], 1);
        let (paper, measured) = (cell["paper_value"].as_f64(), cell["measured"].as_f64());
        let deviation = measured
            .zip(paper)
            .map(|(measured, paper)| measured / paper - 1.0);
        assert_eq!(cell["deviation"].as_f64(), deviation);
    }
}

/// At this size, a rate has a standard error of one or two percent. The wrong cells deviate by ten
/// to fifteen percent, and by less than five once the bug of the paper is reproduced.
#[test]
fn a_wrong_column_has_a_note() {
    let cells = cells(&printed(&["000", "9", "--row", "512 MB", "--json"]));
    let deviation = |column: &str| -> Vec<f64> {
        let of_column = cells.iter().filter(|cell| cell["column"] == column);
        of_column
            .map(|cell| cell["deviation"].as_f64().expect("a number").abs())
            .collect()
    };
    assert!(deviation("SBF").iter().all(|off| *off > 0.06));
    for column in ["SBF with rand()", "RSBF", "BSBF"] {
        assert!(deviation(column).iter().all(|off| *off < 0.05), "{column}");
    }
    let wrong = cells.iter().find(|cell| cell["column"] == "SBF");
    let note = wrong
        .and_then(|cell| cell["note"].as_str())
        .expect("a note");
    assert!(note.starts_with("wrong in the paper"), "{note}");
}

#[test]
fn the_text_output_is_a_table_with_notes() {
    let text = printed(&["003", "2", "--row", "1 billion (15 %), 64 MB"]);
    assert!(text.starts_with("Paper 003, Table 2\n\nrow"), "{text}");
    assert!(text.contains("SQF hashed"), "{text}");
    assert!(text.contains("[1] an artefact"), "{text}");
}

#[test]
fn unknown_papers_tables_and_rows_are_reported() {
    for (arguments, expected) in [
        (
            vec!["001"],
            "there is no paper `001`; the papers are: 000 (",
        ),
        (
            vec!["004", "7"],
            "paper 004 has no table `7` that can be reproduced; the tables are: Figure 4",
        ),
        (
            vec!["000", "9", "--row", "3 MB"],
            "the table has no cell with that row",
        ),
    ] {
        let output = reproduce(&arguments);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}
