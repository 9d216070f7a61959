//! The guide's recipes, run as they stand.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use dedupstore_tests::root;

use crate::DEDUPSTORE;

/// The fenced shell blocks, each with the heading above it.
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
fn every_recipe_works_as_it_stands() {
    let guide = std::fs::read_to_string(root().join("docs/GUIDE.md")).expect("kept");
    let recipes = recipes(&guide);
    assert!(recipes.len() >= 9, "{}", recipes.len());
    let programs = Path::new(DEDUPSTORE).parent().expect("a directory");
    let path = std::env::var("PATH").expect("a path");
    for (heading, recipe) in recipes {
        let place = tempfile::TempDir::new().expect("a place");
        let fixtures = place.path().join("fixtures");
        std::os::unix::fs::symlink(root().join("fixtures"), fixtures).expect("linked");
        let output = Command::new("sh")
            .args(["-e", "-c", &recipe])
            .current_dir(place.path())
            .env("PATH", format!("{}:{path}", programs.display()))
            .output()
            .expect("a shell");
        assert!(
            output.status.success(),
            "{heading}:\n{recipe}\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
    }
}
