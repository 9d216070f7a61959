//! The project's chores: `cargo xtask COMMAND`.

mod bench;
mod browser;
mod campaigns;
mod dist;
mod emulate;
mod format;
mod fuzz;
mod install;
mod new_filter;
mod package;
mod page;
mod python;
mod redis_clients;
mod sanitize;
mod step;
mod test;
mod wasm;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask COMMAND

  test          run everything: format, lints, native tests, docs, WebAssembly, page, browser tests,
                tests of the Python package
  bench         [--short]  run the benchmarks and write docs/BENCHMARKS.md; --short takes 3 minutes
                and only prints
  crash         [--states N] [--seed N] [--replay SEED]  run the crash laboratory; N is like 10M
  interleavings [--schedules N] [--seed N] [--replay SEED]  explore the interleavings of the
                threads of stores and servers, with crashes
  sanitize      [thread] [address] [miri]  run tests under sanitizers and Miri; needs nightly Rust
  emulate       run the engine's unit tests of filters and vectors, and the conformance tests, for
                64-bit ARM under qemu
  siege         [--minutes N] [--seed N]  attack the command line: kills, full disks, damaged stores
  serve         COMMAND  attack or measure `serve`: kills, frames, crowd, bench, checkpoint
  cluster-bench  [scale [--OPTION VALUE…]]  measure a store on Redis beside SADD, or print the tables
                of docs/SCALE.md, whose assumptions are the options
  cluster-campaign  [--cases N] [--seed N] [--replay SEED]  kill masters and clients of a store on
                Redis; no acknowledged key may be lost
  fuzz          [TARGET…] [--seconds N] [--help]  feed hostile bytes to every parser
  mutants       [--seed N] [--count N] [--minutes N]  plant mistakes in the engine and count those
                that the native tests notice
  fmt           [--check]  format all sources, also the filters, which `cargo fmt` does not find
  new-filter    NAME  add a filter from the template, and say what is left to do
  golden        NAME  add the golden states and the golden store of a new filter
  filter-pages  write docs/filters
  tradeoff      measure and write docs/TRADEOFFS.md (10 minutes), then write docs/filters
  windows       measure and write docs/WINDOWS.md (half a minute)
  importance    measure and write docs/IMPORTANCE.md (a minute)
  importance-speed  DATE AND MACHINE  time its filters and write that section (2 minutes)
  install       [OPTIONS]  build the page, then install the command (options of `cargo install`)
  playground    [OPTIONS]  build the page, then serve it (options of `dedupstore playground`)
  page          build the page into web/dist
  page-large    [MEGABYTES]  time a large log (500 MB unless given) in the page
  wasm          build the engine for the page into web/src/wasm
  package       make the cargo packages and compile each on its own (5 minutes)
  dist          make the release archive in target/dist
  wheel         make the Python wheel and source distribution in target/wheels, and try them
  clients-test  run clients of Redis in Python and Node.js against `serve`
  python-test   build the Python package and run its tests
  python-bench  measure the Python package
  scrapy-campaign  kill crawls 20 times; no page may be lost (a few minutes)

Missing tools (targets of the compiler, npm packages, a browser, redis-server and clients of Redis,
qemu) are installed if possible.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["test"] => test::run(),
        ["bench", ref options @ ..] => bench::bench(options),
        ["crash", ref options @ ..] => campaigns::crash(options),
        ["interleavings", ref options @ ..] => campaigns::interleavings(options),
        ["sanitize", ref names @ ..] => sanitize::sanitize(names),
        ["emulate"] => emulate::emulate(),
        ["siege", ref options @ ..] => campaigns::siege(options),
        ["serve", ref options @ ..] => campaigns::serve(options),
        ["cluster-bench", ref options @ ..] => campaigns::cluster_bench(options),
        ["cluster-campaign", ref options @ ..] => campaigns::cluster_campaign(options),
        ["fuzz", ref options @ ..] => fuzz::run(options),
        ["mutants", ref options @ ..] => campaigns::mutants(options),
        ["fmt"] => format::write(),
        ["fmt", "--check"] => format::check(),
        ["new-filter", name] => new_filter::run(name),
        ["golden", name] => campaigns::golden(name),
        ["filter-pages"] => campaigns::filter_pages(),
        ["tradeoff", ref options @ ..] => campaigns::tradeoff(options),
        ["windows"] => campaigns::windows(),
        ["importance"] => campaigns::importance(),
        ["importance-speed", ref machine @ ..] => campaigns::importance_speed(machine),
        ["dist"] => dist::build(),
        ["wheel"] => python::wheel(),
        ["python-test"] => python::build_and_test(),
        ["clients-test"] => redis_clients::ensure().and_then(|()| redis_clients::test()),
        ["python-bench"] => python::bench(),
        ["scrapy-campaign"] => python::scrapy_campaign(),
        ["install", ref options @ ..] => install::install(options),
        ["playground", ref options @ ..] => install::playground(options),
        ["package"] => package::build(),
        ["page"] => page::build(),
        ["page-large", ref options @ ..] => test::page_large(options),
        ["wasm"] => wasm::build(),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(format!("expected one of these commands\n\n{USAGE}").into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::from(2)
        }
    }
}
