//! The project's own chores: `cargo xtask test` and the parts it is made of.

mod browser;
mod page;
mod step;
mod test;
mod wasm;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask COMMAND

  test   everything: format, lints, native tests, documentation, WebAssembly, page, browser tests
  crash  [--states N] [--seed N]  a long campaign of the crash laboratory; N is like 10M
  tradeoff  measure docs/TRADEOFFS.md (ten minutes) and docs/filters anew
  page   build the page into web/dist
  page-large  [MEGABYTES]  run a log of 500 MB or so many through the page, and time it
  wasm   build the engine for the page into web/src/wasm

What is missing (the wasm target, npm packages, a browser) is installed where it can be.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["test"] => test::run(),
        ["crash", ref options @ ..] => test::crash(options),
        ["tradeoff", ref options @ ..] => test::tradeoff(options),
        ["page"] => page::build(),
        ["page-large", ref options @ ..] => test::page_large(options),
        ["wasm"] => wasm::build(),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(format!("expected one of the commands below\n\n{USAGE}").into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::from(2)
        }
    }
}
