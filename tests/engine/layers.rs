//! The engine's layers, checked by reading its sources.
//!
//! ARCHITECTURE.md draws the same picture. Unit tests are exempt: they may use any module.

use std::fs;
use std::path::Path;

use super::source_files::source_files;
use dedupstore_tests::root;

/// The modules of the engine, from the bottom up. A module uses only modules of lower layers.
const LAYERS: &[&[&str]] = &[
    &[
        "prefetch",
        "quantity",
        "region",
        "rng",
        "wasm_xxh3",
        "workers",
    ],
    &["byte_size", "bytes"],
    &["fingerprint", "simd"],
    &["filter", "lines"],
    &["audit", "theory"],
    &["seen_set", "sites"],
    &["lab", "store"],
    &["advise"],
];

/// The operating system: files, threads, clocks, memory maps, randomness.
const SYSTEM: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "Instant",
    "SystemTime",
    "RandomState",
    "memmap2",
    "rayon",
    "rustix",
];

/// Uses of the operating system outside `store/disk`, each with its reason.
const SYSTEM_EXCEPTIONS: &[(&str, &str)] = &[
    // Large regions are anonymous maps, to get huge pages. Not in a WebAssembly build.
    ("region.rs", "memmap2"),
    // Several threads observe one batch. Not in a WebAssembly build.
    ("workers.rs", "rayon"),
];

/// The sources of the engine by their path below `engine/src`, without comments and unit tests.
fn engine_sources() -> Vec<(String, String)> {
    let below = root().join("engine/src");
    source_files(&[".rs"])
        .into_iter()
        .filter_map(|(path, text)| {
            let path = root().join(path);
            let path = path.strip_prefix(&below).ok()?;
            let path = path.to_str()?.replace('\\', "/");
            let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or("");
            let code = code.lines().map(|line| line.split("//").next());
            let code: Vec<&str> = code.map(Option::unwrap_or_default).collect();
            Some((path, code.join("\n")))
        })
        .collect()
}

/// The top-level module that a file belongs to.
fn module_of(path: &str) -> &str {
    let first = path.split('/').next().unwrap_or(path);
    first.trim_end_matches(".rs")
}

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

#[test]
fn modules_use_only_lower_layers() {
    for (path, code) in engine_sources() {
        let module = module_of(&path);
        if module == "lib" {
            continue;
        }
        let layer = layer_of(module).unwrap_or_else(|| panic!("{module} is in no layer"));
        for rest in code.split("crate::").skip(1) {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let used = &rest[..end.unwrap_or(rest.len())];
            if used == module {
                continue;
            }
            let used_layer = layer_of(used)
                .unwrap_or_else(|| panic!("{path} uses crate::{used}, which is in no layer"));
            assert!(used_layer < layer, "{path} uses {used}, which is not below");
        }
    }
}

#[test]
fn only_the_disk_uses_the_operating_system() {
    for (path, code) in engine_sources() {
        if path.starts_with("store/disk/") {
            continue;
        }
        for name in SYSTEM {
            let excepted = SYSTEM_EXCEPTIONS.contains(&(path.as_str(), name));
            assert!(excepted || !code.contains(name), "{path} uses {name}");
        }
    }
}

#[test]
fn only_the_store_re_exports_its_disk() {
    for (path, code) in engine_sources() {
        if path.starts_with("store/disk/") || path == "store/mod.rs" {
            continue;
        }
        assert!(!code.contains("disk::"), "{path} uses store::disk");
    }
}

#[test]
fn the_engine_does_not_depend_on_its_views() {
    let manifest = Path::new("engine/Cargo.toml");
    let manifest = fs::read_to_string(root().join(manifest)).expect("readable");
    let dependencies = manifest.split("[dependencies]").nth(1).expect("a section");
    assert!(!dependencies.contains("dedupstore"), "{dependencies}");
    for (path, code) in engine_sources() {
        assert!(!code.contains("dedupstore_"), "{path} uses a view");
    }
}
