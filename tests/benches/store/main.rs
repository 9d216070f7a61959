//! What durability costs:
//! `cargo bench -p dedupstore-benches --bench store [-- SIZE_MIB [SECTION …] [FILTER …]]`.
//!
//! Six sections, each with its target beside its figures: `sustained`, `audit`, `rivals`,
//! `stall`, `opening`, `recovery`. Contenders run in turn, round by round, on the same keys, as the
//! machine may be busy with other things; processor time is given where that matters. The
//! files lie in cargo's target directory, so that the disk is a real one. Processor time
//! is known on Linux only. `audit` goes on to a billion keys if `long` is said as well.

mod audit;
mod measure;
mod opening;
mod recovery;
mod rival;
mod rivals;
mod stall;
mod sustained;

type Section = fn(u64);

const SECTIONS: [(&str, Section); 6] = [
    ("sustained", sustained::run),
    ("audit", audit::run),
    ("rivals", rivals::run),
    ("stall", stall::run),
    ("opening", opening::run),
    ("recovery", recovery::run),
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
