//! The engine for the page: compiled, bound, and made small.

use std::fs;
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

/// The engine twice: as the page loads it first, and with what is larger than all the rest,
/// which it loads when it is wanted. One set of bindings serves both.
pub fn build() -> Outcome {
    ensure_target()?;
    let bound = root().join("web/src/wasm");
    let complete = target_directory().join("complete-bindings");
    compile("engine for the page", &[])?;
    bind(&bound)?;
    compile(
        "engine with patterns and normalization",
        &["--features", "patterns,normalization"],
    )?;
    bind(&complete)?;
    let script = "dedupstore_wasm.js";
    if fs::read(bound.join(script))? != fs::read(complete.join(script))? {
        return Err("the two engines for the page ask for different bindings".into());
    }
    let module = "dedupstore_wasm_bg.wasm";
    let beside = bound.join("dedupstore_wasm_complete_bg.wasm");
    fs::copy(complete.join(module), &beside)?;
    optimise(&bound.join(module))?;
    optimise(&beside)
}

fn compile(what: &str, options: &[&str]) -> Outcome {
    let mut build = cargo(&["build", "--release", "--quiet"]);
    build.args(["--package", "dedupstore-wasm", "--target", TARGET]);
    build.args(options);
    run(what, build)
}

fn target_directory() -> std::path::PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => root().join(directory),
        None => root().join("target"),
    }
}

fn bind(into: &Path) -> Outcome {
    let compiled = target_directory()
        .join(TARGET)
        .join("release/dedupstore_wasm.wasm");
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
