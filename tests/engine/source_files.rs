//! The text files of the repository that are not generated.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use dedupstore_tests::root;

/// Returns each file whose name ends in one of `extensions`: its path from the top of the
/// repository, and its content.
pub fn source_files(extensions: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut directories = vec![root()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).expect("readable") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.unwrap_or("").to_owned();
            if path.is_dir() {
                let generated = [
                    "target",
                    "node_modules",
                    "dist",
                    "wasm-bindings",
                    "test-output",
                ];
                let bindings = path.ends_with("web/src/wasm");
                if !name.starts_with('.') && !generated.contains(&name.as_str()) && !bindings {
                    directories.push(path);
                }
            } else if extensions.iter().any(|extension| name.ends_with(extension)) {
                let text = fs::read_to_string(&path).expect("text");
                let relative = path.strip_prefix(root()).expect("below the root");
                found.push((relative.to_path_buf(), text));
            }
        }
    }
    assert!(!found.is_empty());
    found
}

/// Returns the names of all tests below a directory; an empty name is the top of the repository.
pub fn test_names(below: &str) -> HashSet<String> {
    let mut found = HashSet::new();
    for (_, text) in source_files(&[".rs"])
        .into_iter()
        .filter(|(path, _)| path.starts_with(below))
    {
        let names = text.split("#[test]").skip(1);
        let names = names.filter_map(|rest| rest.split("fn ").nth(1)?.split('(').next());
        found.extend(names.map(str::to_owned));
    }
    found
}
