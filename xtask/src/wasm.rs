//! The engine for the page: compiled, bound, and made small.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{Outcome, cargo, command, exists, root, run, target_directory};

const TARGET: &str = "wasm32-unknown-unknown";

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
    let generator = Generator::build()?;
    let bound = root().join("web/src/wasm");
    let complete = target_directory().join("complete-bindings");
    compile("engine for the page", &["--no-default-features"])?;
    generator.bind(&bound)?;
    compile(
        "engine with patterns, normalization and stores",
        &["--features", "patterns,normalization"],
    )?;
    generator.bind(&complete)?;
    let script = "dedupstore_wasm.js";
    if fs::read(bound.join(script))? != fs::read(complete.join(script))? {
        return Err("the two engines for the page ask for different bindings".into());
    }
    let module = "dedupstore_wasm_bg.wasm";
    let beside = bound.join("dedupstore_wasm_complete_bg.wasm");
    fs::copy(complete.join(module), &beside)?;
    optimise(&bound.join(module), "-O3")?;
    // Three times as large, and as fast and as small with this as with more.
    optimise(&beside, "-O1")
}

fn compile(what: &str, options: &[&str]) -> Outcome {
    let mut build = cargo(&["build", "--release", "--quiet"]);
    build.args(["--package", "dedupstore-wasm", "--target", TARGET]);
    build.args(options);
    run(what, build)
}

/// What writes the bindings.
struct Generator {
    program: PathBuf,
}

impl Generator {
    /// In a directory of its own: cargo lets one build at a time work in a directory, and
    /// this one need not wait for the tests'.
    fn build() -> Outcome<Self> {
        let directory = target_directory().join("bindings");
        let mut build = cargo(&["build", "--quiet", "--package", "bindings"]);
        build.arg("--target-dir").arg(&directory);
        // It works for two seconds: optimising it would take half a minute.
        build.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
        run("generator of bindings", build)?;
        let file = format!("bindings{EXE_SUFFIX}");
        Ok(Generator {
            program: directory.join("debug").join(file),
        })
    }

    /// Of the engine that was compiled last.
    fn bind(&self, into: &Path) -> Outcome {
        let compiled = target_directory()
            .join(TARGET)
            .join("release/dedupstore_wasm.wasm");
        let mut bind = Command::new(&self.program);
        bind.arg(compiled).arg(into);
        run("bindings", bind)
    }
}

/// By wasm-opt, once the npm packages that hold it are there.
fn optimise(module: &Path, level: &str) -> Outcome {
    let wasm_opt = root().join("web/node_modules/binaryen/bin/wasm-opt");
    if !wasm_opt.exists() {
        return Ok(());
    }
    let mut node = command("node", &[]);
    node.arg(&wasm_opt)
        .args([
            level,
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
