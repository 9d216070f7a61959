//! Conventions of the project that the compiler does not check.

use std::path::Path;

use crate::source_files::source_files;

/// The files that may contain `unsafe` code; see ARCHITECTURE.md.
const UNSAFE_MODULES: &[&str] = &[
    "cli/src/inherited.rs",
    "cli/src/signal_mask.rs",
    "engine/src/prefetch.rs",
    "engine/src/simd.rs",
    "engine/src/simd/avx2.rs",
    "engine/src/simd/avx512.rs",
    "engine/src/simd/choose.rs",
    "engine/src/simd/field.rs",
    "engine/src/simd/neon.rs",
    "engine/src/simd/select.rs",
    "engine/src/store/disk/live_region.rs",
    "engine/src/store/disk/log_window.rs",
    "fuzz/src/allocation.rs",
    "fuzz/src/coverage.rs",
    "tests/benches/contenders/mod.rs",
    "tests/benches/store/rival.rs",
    "tests/engine/conformance.rs",
];
/// A longer file usually holds two concepts.
const LONGEST_FILE_LINES: usize = 500;
const VAGUE_NAMES: &[&str] = &["util", "utils", "helpers", "common", "misc"];

fn is(path: &Path, names: &[&str]) -> bool {
    names.iter().any(|name| path == Path::new(name))
}

#[test]
fn files_are_short_and_named_for_what_they_hold() {
    for (path, text) in source_files(&[".rs", ".ts", ".css", ".html", ".mjs", ".py", ".pyi"]) {
        let lines = text.lines().count();
        assert!(
            lines <= LONGEST_FILE_LINES,
            "{}: {lines} lines",
            path.display()
        );
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or("");
        assert!(
            !VAGUE_NAMES.contains(&stem),
            "{} names no concept",
            path.display()
        );
    }
}

#[test]
fn unsafe_code_is_only_in_listed_files() {
    for (path, text) in source_files(&[".rs"]) {
        let allowed = is(&path, UNSAFE_MODULES) || path.ends_with("tidy.rs");
        let used = text.lines().any(|line| {
            let code = line.split("//").next().unwrap_or("");
            code.contains("unsafe {") || code.contains("unsafe impl") || code.contains("unsafe fn")
        });
        assert!(allowed || !used, "{} has unsafe code", path.display());
    }
}

#[test]
fn engine_server_and_cli_do_not_panic_on_purpose() {
    for (path, text) in source_files(&[".rs"]) {
        let places = ["engine/src", "server/src", "cluster/src", "cli/src"];
        if !places.iter().any(|place| path.starts_with(place)) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or("");
        for (number, line) in code.lines().enumerate() {
            let comment = line.trim_start().starts_with("//");
            let panics = [
                ".unwrap()",
                ".expect(",
                "panic!(",
                "todo!(",
                "unimplemented!(",
            ];
            let found = panics.iter().any(|word| line.contains(word));
            assert!(
                comment || !found,
                "{}:{}: {line}",
                path.display(),
                number + 1
            );
        }
    }
}

/// These macros panic if the stream cannot be written, for example because its reader has ended.
#[test]
fn the_command_line_prints_without_macros_that_panic() {
    for (path, text) in source_files(&[".rs"]) {
        if !(path.starts_with("cli/src") || path.starts_with("server/src")) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or("");
        for (number, line) in code.lines().enumerate() {
            let comment = line.trim_start().starts_with("//");
            let found = ["print!(", "println!("]
                .iter()
                .any(|word| line.contains(word));
            assert!(
                comment || !found,
                "{}:{}: use standard_error or Output: {line}",
                path.display(),
                number + 1
            );
        }
    }
}

/// Files must not contain paths of the machine they were written on.
#[test]
fn files_contain_no_machine_paths() {
    for (path, text) in source_files(&[
        ".rs", ".ts", ".md", ".toml", ".html", ".css", ".mjs", ".yml", ".json", ".py",
    ]) {
        if path.ends_with("tidy.rs") {
            continue;
        }
        for word in ["/work/", "/root/", "/home/", "../shared"] {
            assert!(!text.contains(word), "{} contains {word}", path.display());
        }
    }
}
