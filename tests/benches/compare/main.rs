//! Compares our filters with those of other crates, interleaved:
//! `cargo bench -p dedupstore-benches --bench compare [-- [SIZE_MIB …] [SECTION …] [NAME …]]`.
//!
//! There are three sections: `hashed` (keys are hashed before), `urls` (each key is a URL of 64
//! bytes, and hashing it counts) and `threads` (two threads against one). Without any, `hashed`
//! runs. The word `short` means fewer rounds. Names choose contenders.
//!
//! Benchmark libraries run one contender to its end before the next, so a load peak on a shared
//! machine affects only one of them. Here every round runs every contender on the same keys. A ratio
//! is the median over rounds of the ratio in the same round. The baseline, `blocked-limit`, changes
//! one random cache line per key, prefetched into the L1 cache, as is usual. The second row is the
//! lowest cost that we know: prefetched earlier, into the L2 cache.

#[path = "../contenders/mod.rs"]
mod contenders;
mod keys;
mod rounds;
mod two_threads;

use contenders::{Contender, Kind, contenders};
use keys::KEYS_PER_ROUND;
use rounds::{Times, interleaved};

/// What is chosen on the command line.
struct Choice {
    sizes_mib: Vec<u64>,
    sections: Vec<&'static str>,
    rounds: usize,
    names: Vec<String>,
}

const SECTIONS: [&str; 3] = ["hashed", "urls", "threads"];

impl Choice {
    fn of_arguments() -> Self {
        let mut choice = Choice {
            sizes_mib: Vec::new(),
            sections: Vec::new(),
            rounds: 25,
            names: Vec::new(),
        };
        // Cargo adds the option `--bench`.
        for word in std::env::args().skip(1).filter(|word| word != "--bench") {
            let section = SECTIONS.iter().find(|&&section| section == word);
            match (section, word.parse()) {
                (Some(section), _) => choice.sections.push(section),
                (_, Ok(size_mib)) => choice.sizes_mib.push(size_mib),
                _ if word == "short" => choice.rounds = 7,
                _ => choice.names.push(word),
            }
        }
        if choice.sizes_mib.is_empty() {
            choice.sizes_mib = vec![1, 256];
        }
        if choice.sections.is_empty() {
            choice.sections = vec!["hashed"];
        }
        choice
    }
}

fn main() {
    let choice = Choice::of_arguments();
    for &size_mib in &choice.sizes_mib {
        for &section in &choice.sections {
            match section {
                "threads" => {
                    two_threads::compare(size_mib, choice.rounds);
                    two_threads::compare_urls(size_mib, choice.rounds);
                }
                section => compare(size_mib, section == "urls", &choice),
            }
        }
    }
}

fn compare(size_mib: u64, urls: bool, choice: &Choice) {
    let mut contenders = contenders(size_mib << 23, &choice.names);
    let times = interleaved(&mut contenders, choice.rounds, urls);
    let what = match urls {
        true => "URLs of 64 bytes, hashing included",
        false => "hashed keys",
    };
    println!(
        "\n{size_mib} MiB, one thread, {} rounds of {KEYS_PER_ROUND} {what}, about 20 % new",
        choice.rounds
    );
    println!(
        "{:<40} {:>8} {:>8} {:>8} {:>12}",
        "", "ns/key", "minimum", "× limit", "× best peer"
    );
    let best_peer = best(&contenders, &times, Kind::Peer);
    for (contender, own) in contenders.iter().zip(&times) {
        let against_peer = best_peer.map(|peer| own.ratio_to(&times[peer]));
        let loses = contender.kind == Kind::Ours && against_peer.is_some_and(|ratio| ratio > 1.0);
        println!(
            "{:<40} {:>8.2} {:>8.2} {:>8.2} {:>12} {}",
            contender.name,
            own.median(),
            own.minimum(),
            own.ratio_to(&times[0]),
            against_peer.map_or(String::new(), |ratio| format!("{ratio:.2}")),
            if loses { "slower" } else { "" },
        );
    }
}

/// Returns the fastest contender of a kind.
fn best(contenders: &[Contender], times: &[Times], kind: Kind) -> Option<usize> {
    let of_kind = (0..contenders.len()).filter(|&index| contenders[index].kind == kind);
    of_kind.min_by(|&one, &other| times[one].median().total_cmp(&times[other].median()))
}
