//! `cargo xtask new-filter NAME`: adds a filter that compiles, and says what is left to do.

use std::fs;
use std::path::Path;

use crate::step::{Outcome, root};

const FILTERS: &str = "engine/src/filter";
const LIST: &str = "engine/src/filter/mod.rs";
const THEORY: &str = "engine/src/theory/mod.rs";
/// A working filter that is compiled only in tests.
const TEMPLATE: &str = "engine/src/filter/skeleton.rs";

/// Writes the file of a filter from the template, and adds it to the list of filters and to
/// `theory::predict`.
pub fn run(name: &str) -> Outcome {
    let file = format!("{FILTERS}/{name}.rs");
    check_name(name)?;
    if root().join(&file).exists() {
        return Err(format!("{file} exists already").into());
    }
    let type_name = type_name(name);
    let filter = from_template(&read(TEMPLATE)?, name, &type_name);
    let list = with_list_line(&read(LIST)?, name, &type_name).ok_or(format!(
        "{LIST} has no list `filters! {{ … }}` to add the filter to"
    ))?;
    let theory = with_theory_arm(&read(THEORY)?, &type_name).ok_or(format!(
        "{THEORY} has no `match &filter {{ … }}` to add the filter to"
    ))?;
    write(&file, &filter)?;
    write(LIST, &list)?;
    write(THEORY, &theory)?;
    println!("{}", next_steps(name, &file));
    Ok(())
}

fn next_steps(name: &str, file: &str) -> String {
    format!(
        "created {file}: write the algorithm and replace every TODO
added a line to {LIST}
added `no formula` to `predict` in {THEORY}

Next:
  1. Write an oracle and add it to `oracle` in tests/engine/oracles/mod.rs.
  2. If there is a formula for the error rates, return it from `predict` and add a row to
     EXPECTED in tests/engine/theory.rs.
  3. Add configurations to tools/src/tradeoff/grid.rs.
  4. Run `cargo test -p dedupstore-tests --test engine`. It checks the filter against its
     oracle and says what is missing.
  5. When the algorithm is final, run
       cargo xtask golden {name}
       cargo xtask filter-pages
       cargo xtask tradeoff          (10 minutes)
       cargo xtask fmt"
    )
}

/// Filter names are part of the file format and of the command line.
fn check_name(name: &str) -> Outcome {
    let starts_with_letter = name.starts_with(|first: char| first.is_ascii_lowercase());
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    match starts_with_letter && name.chars().all(is_plain) {
        true => Ok(()),
        false => Err(format!(
            "a filter name consists of lowercase letters and digits and starts with a letter; \
             found `{name}`"
        )
        .into()),
    }
}

fn type_name(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    first.to_ascii_uppercase() + rest
}

/// Returns the template with the names replaced, without the comment about the template.
fn from_template(template: &str, name: &str, type_name: &str) -> String {
    let paragraphs = template
        .split("\n\n")
        .filter(|paragraph| !paragraph.starts_with("// This file is the template"));
    let text = paragraphs.collect::<Vec<_>>().join("\n\n");
    text.replace("Skeleton", type_name)
        .replace("skeleton", name)
}

/// The first engine of the page has no such filter, so its size does not depend on their number.
const CONDITION: &str = "#[cfg(feature = \"all-filters\")]";

/// Adds a line at the end of `filters! { … }`.
fn with_list_line(source: &str, name: &str, type_name: &str) -> Option<String> {
    let line = format!("    {CONDITION}\n    {name}::{type_name},\n");
    insert_before_end(source, "filters! {\n", "}\n", &line)
}

/// Adds an arm at the end of the match of `predict`.
fn with_theory_arm(source: &str, type_name: &str) -> Option<String> {
    let arm = format!("        {CONDITION}\n        AnyFilter::{type_name}(_) => return None,\n");
    insert_before_end(source, "    Some(match &filter {\n", "    })\n", &arm)
}

/// Inserts a text before the first line `end` after `start`.
fn insert_before_end(source: &str, start: &str, end: &str, text: &str) -> Option<String> {
    let from = source.find(start)? + start.len();
    let at = from + source[from..].find(&format!("\n{end}"))? + 1;
    let (before, after) = source.split_at(at);
    Some(format!("{before}{text}{after}"))
}

fn read(file: &str) -> Outcome<String> {
    let read = fs::read_to_string(root().join(Path::new(file)));
    read.map_err(|error| format!("cannot read {file}: {error}").into())
}

fn write(file: &str, text: &str) -> Outcome {
    let written = fs::write(root().join(Path::new(file)), text);
    written.map_err(|error| format!("cannot write {file}: {error}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_can_be_added_to_the_present_sources() {
        let list = read(LIST).expect("the list");
        let added = with_list_line(&list, "novel", "Novel").expect("the list of filters");
        let line = format!(",\n    {CONDITION}\n    novel::Novel,\n}}\n");
        assert!(added.contains(&line));
        let theory = read(THEORY).expect("the formulas");
        let added = with_theory_arm(&theory, "Novel").expect("the match over filters");
        let arm = format!(
            "),\n        {CONDITION}\n        AnyFilter::Novel(_) => return None,\n    }})\n}}\n"
        );
        assert!(added.contains(&arm));
        let template = read(TEMPLATE).expect("the template");
        let filter = from_template(&template, "novel", "Novel");
        assert!(filter.contains("pub struct Novel {") && filter.contains("name: \"novel\""));
        assert!(!filter.contains("template") && !filter.to_lowercase().contains("skeleton"));
    }

    #[test]
    fn names_are_lowercase_words() {
        for name in ["cuckoo", "ibf3"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "3ibf", "Cuckoo", "two-choices", "two_choices", "a b"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
