//! Generates the JavaScript bindings of a WebAssembly module: `bindings MODULE DIRECTORY`.
//!
//! It takes a minute to build, so it is separate from xtask, which must start at once.

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, directory] = &arguments[..] else {
        eprintln!("usage: bindings MODULE DIRECTORY");
        return ExitCode::from(2);
    };
    match bind(module, directory) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{module}: {error:?}");
            ExitCode::FAILURE
        }
    }
}

fn bind(module: &str, directory: &str) -> Result<(), Box<dyn std::error::Error>> {
    Bindgen::new()
        .input_path(module)
        .web(true)?
        .typescript(true)
        .omit_default_module_path(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(directory)?;
    Ok(())
}
