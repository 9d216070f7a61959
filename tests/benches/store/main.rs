//! Measures the cost of durability:
//! `cargo bench -p dedupstore-benches --bench store [-- SIZE_MIB [SECTION …] [FILTER …]]`.
//!
//! There are seven sections, and each prints its target: `sustained`, `audit`, `rivals`, `stall`,
//! `opening`, `recovery`, `single`. Contenders run in turn, round by round, on the same keys, because the
//! machine may be busy. CPU time is printed where that matters; it is measured on Linux only. Files
//! are in cargo's target directory, which must be on a disk, not in memory. With the word `long`,
//! `audit` continues to a billion keys; with `short`, it ends after ten million.

mod audit;
mod measure;
mod opening;
mod recovery;
mod rival;
mod rivals;
mod single;
mod stall;
mod sustained;

type Section = fn(u64);

const SECTIONS: [(&str, Section); 7] = [
    ("sustained", sustained::run),
    ("audit", audit::run),
    ("rivals", rivals::run),
    ("stall", stall::run),
    ("opening", opening::run),
    ("recovery", recovery::run),
    ("single", single::run),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let size_mib = arguments.iter().find_map(|argument| argument.parse().ok());
    let size_mib = size_mib.unwrap_or(1024);
    let chosen = |name: &str| arguments.iter().any(|argument| argument == name);
    let all = !SECTIONS.iter().any(|(name, _)| chosen(name));
    for (name, run) in SECTIONS {
        if all || chosen(name) {
            run(size_mib);
        }
    }
}
