//! Builds the engine for the page: compiles it, generates bindings, optimizes it.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{self, Outcome, cargo, command, root, run, target_directory};

const TARGET: &str = "wasm32-unknown-unknown";

/// Installs the target if it is missing.
pub fn ensure_target() -> Outcome {
    step::ensure_target(TARGET)
}

/// Builds the engine twice: the small module that the page loads first, and the complete one
/// that it loads on demand, with patterns, normalization and stores. Both use the same bindings.
pub fn build() -> Outcome {
    ensure_target()?;
    let generator = Generator::build()?;
    let bindings = root().join("web/src/wasm");
    let complete = target_directory().join("complete-bindings");
    compile("engine for the page", &["--no-default-features"])?;
    generator.bind(&bindings)?;
    compile(
        "engine with patterns, normalization and stores",
        &["--features", "patterns,normalization"],
    )?;
    generator.bind(&complete)?;
    let script = "dedupstore_wasm.js";
    if fs::read(bindings.join(script))? != fs::read(complete.join(script))? {
        return Err("the two engines for the page need different bindings".into());
    }
    let module = "dedupstore_wasm_bg.wasm";
    let complete_module = bindings.join("dedupstore_wasm_complete_bg.wasm");
    fs::copy(complete.join(module), &complete_module)?;
    optimize(&bindings.join(module), "-O3")?;
    // Higher levels make this module neither faster nor smaller, and take longer.
    optimize(&complete_module, "-O1")
}

/// Checks the code that is compiled for the page only.
pub fn lint() -> Outcome {
    let mut lints = cargo(&["clippy", "--quiet", "--package", "dedupstore-wasm"]);
    lints.args(["--target", TARGET, "--", "-D", "warnings"]);
    run("lints of the engine for the page", lints)
}

fn compile(what: &str, options: &[&str]) -> Outcome {
    let mut build = cargo(&["build", "--release", "--quiet"]);
    build.args(["--package", "dedupstore-wasm", "--target", TARGET]);
    build.args(options);
    run(what, build)
}

/// The program that generates the bindings.
struct Generator {
    program: PathBuf,
}

impl Generator {
    /// Builds the generator in its own target directory, so that it does not wait for the
    /// build of the tests.
    fn build() -> Outcome<Self> {
        let directory = target_directory().join("bindings");
        let mut build = cargo(&["build", "--quiet", "--package", "bindings"]);
        build.arg("--target-dir").arg(&directory);
        // It runs for two seconds; optimizing it would take half a minute.
        build.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
        run("bindings generator", build)?;
        let file = format!("bindings{EXE_SUFFIX}");
        Ok(Generator {
            program: directory.join("debug").join(file),
        })
    }

    /// Generates the bindings of the engine that was compiled last.
    fn bind(&self, into: &Path) -> Outcome {
        let compiled = target_directory()
            .join(TARGET)
            .join("release/dedupstore_wasm.wasm");
        let mut bind = Command::new(&self.program);
        bind.arg(compiled).arg(into);
        run("bindings", bind)
    }
}

/// Optimizes a module in place with wasm-opt. Does nothing if its npm package is missing.
fn optimize(module: &Path, level: &str) -> Outcome {
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
