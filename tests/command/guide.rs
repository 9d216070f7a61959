//! Runs the recipes of docs/GUIDE.md.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use dedupstore_tests::root;

use crate::DEDUPSTORE;

/// Returns the fenced shell blocks, each with its heading.
fn recipes(text: &str) -> Vec<(String, String)> {
    let mut recipes: Vec<(String, String)> = Vec::new();
    let (mut heading, mut inside) = (String::new(), false);
    for line in text.lines() {
        match line {
            "```sh" => {
                inside = true;
                recipes.push((heading.clone(), String::new()));
            }
            "```" => inside = false,
            line if inside => {
                if let Some((_, recipe)) = recipes.last_mut() {
                    *recipe += &format!("{line}\n");
                }
            }
            line => {
                if let Some(title) = line.strip_prefix("## ") {
                    heading = title.to_owned();
                }
            }
        }
    }
    recipes
}

#[test]
fn the_guide_lists_every_parameter_that_crawl_drops() {
    let guide = std::fs::read_to_string(root().join("docs/GUIDE.md")).expect("a file");
    let rule = guide
        .lines()
        .find(|line| line.starts_with("2. These query"));
    let listed = rule.expect("the rule").split(". `sid` is dropped").next();
    let listed: Vec<&str> = listed
        .expect("a list")
        .split('`')
        .skip(1)
        .step_by(2)
        .collect();
    assert_eq!(listed, dedupstore::lines::CRAWL_DROPPED);
}

#[test]
fn recipes_can_be_pasted_in_one_directory() {
    let guide = std::fs::read_to_string(root().join("docs/GUIDE.md")).expect("a file");
    let mut used: Vec<(String, String)> = Vec::new();
    for (heading, recipe) in recipes(&guide) {
        let words = recipe.split(|c: char| c.is_whitespace() || "/\"'`".contains(c));
        for name in words.filter(|word| word.ends_with(".dds")) {
            let other = used.iter().find(|(used, _)| used == name);
            let is_same = other.is_none_or(|(_, by)| *by == recipe);
            assert!(is_same, "{heading}: another recipe uses {name}");
            used.push((name.to_owned(), recipe.clone()));
        }
    }
    assert!(used.len() > 20, "{}", used.len());
}

#[test]
fn every_recipe_succeeds() {
    let guide = std::fs::read_to_string(root().join("docs/GUIDE.md")).expect("a file");
    let recipes = recipes(&guide);
    assert!(recipes.len() >= 9, "{}", recipes.len());
    let programs = Path::new(DEDUPSTORE).parent().expect("a directory");
    let path = std::env::var("PATH").expect("a path");
    for (heading, recipe) in recipes {
        let directory = tempfile::TempDir::new().expect("a directory");
        let fixtures = directory.path().join("fixtures");
        std::os::unix::fs::symlink(root().join("fixtures"), fixtures).expect("linked");
        let output = Command::new("sh")
            .args(["-e", "-c", &recipe])
            .current_dir(directory.path())
            .env("PATH", format!("{}:{path}", programs.display()))
            .output()
            .expect("started");
        assert!(
            output.status.success(),
            "{heading}:\n{recipe}\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
    }
}
