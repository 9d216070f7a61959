//! The engine for the page: compiled, bound, and made small.

use std::path::Path;

use wasm_bindgen_cli_support::Bindgen;

use crate::step::{Outcome, cargo, command, exists, root, run};

pub const TARGET: &str = "wasm32-unknown-unknown";

/// Installs the target where rustup rules; elsewhere the compiler will say what it lacks.
pub fn ensure_target() -> Outcome {
    if !exists("rustup") {
        return Ok(());
    }
    run(
        "wasm32 target",
        command("rustup", &["target", "add", TARGET]),
    )
}

pub fn build() -> Outcome {
    ensure_target()?;
    run(
        "engine for the page",
        cargo(&[
            "build",
            "--release",
            "--quiet",
            "--package",
            "dedupstore-wasm",
            "--target",
            TARGET,
        ]),
    )?;
    let compiled = target_directory()
        .join(TARGET)
        .join("release/dedupstore_wasm.wasm");
    let bound = root().join("web/src/wasm");
    bind(&compiled, &bound)?;
    optimise(&bound.join("dedupstore_wasm_bg.wasm"))
}

fn target_directory() -> std::path::PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => root().join(directory),
        None => root().join("target"),
    }
}

fn bind(compiled: &Path, into: &Path) -> Outcome {
    Bindgen::new()
        .input_path(compiled)
        .web(true)?
        .typescript(true)
        .omit_default_module_path(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(into)?;
    Ok(())
}

/// By wasm-opt, once the npm packages that hold it are there.
fn optimise(module: &Path) -> Outcome {
    let wasm_opt = root().join("web/node_modules/binaryen/bin/wasm-opt");
    if !wasm_opt.exists() {
        return Ok(());
    }
    let mut node = command("node", &[]);
    node.arg(&wasm_opt)
        .args([
            "-O3",
            "--enable-simd",
            "--enable-bulk-memory",
            "--enable-nontrapping-float-to-int",
        ])
        .args([
            "--enable-sign-ext",
            "--enable-mutable-globals",
            "--enable-reference-types",
        ])
        .args(["--enable-multivalue", "--strip-debug", "--strip-producers"])
        .arg("-o")
        .arg(module)
        .arg(module);
    run("wasm-opt", node)
}
