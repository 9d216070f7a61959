//! The contenders: baselines, other crates, and every filter of the registry.

mod peers;

pub use peers::locked_split_blocks;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_HINT_T0 as L1_CACHE, _MM_HINT_T1 as L2_CACHE};

use dedupstore::{FilterSpec, Memory, Observation, SeenSetBuilder, Verdict, registry};

#[cfg(not(target_arch = "x86_64"))]
const L1_CACHE: i32 = 0;
#[cfg(not(target_arch = "x86_64"))]
const L2_CACHE: i32 = 1;

/// The first one sweeps cells during half of the rounds.
const WINDOWS: [&str; 2] = [
    "window:k=4,span=60000,layout=blocked",
    "window:k=4,layout=blocked",
];

type Observe = Box<dyn FnMut(&[Observation]) -> usize>;

/// Whose a contender is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A loop that does less than any filter.
    Baseline,
    /// A filter of another crate.
    Peer,
    Ours,
}

/// A filter that distinguishes new keys from known ones.
pub struct Contender {
    pub name: String,
    pub kind: Kind,
    /// Observes keys in order. Returns the number of new keys.
    pub observe: Observe,
}

/// Creates a contender with this many bits of memory.
type Create = Box<dyn Fn(u64) -> Contender>;

/// Returns the baselines, and the contenders whose name contains one of the words; all of them if
/// there are no words.
pub fn contenders(memory_bits: u64, words: &[String]) -> Vec<Contender> {
    let mut known: Vec<(String, Create)> = Vec::new();
    for (name, create) in peers::PEERS {
        known.push((name.to_owned(), Box::new(create)));
    }
    let defaults = registry().iter().copied().map(FilterSpec::with_defaults);
    let windows = WINDOWS.map(|filter| filter.parse().expect("a filter"));
    // The configuration of the published figures.
    let published = "blocked:k=4,cap=70".parse().expect("a filter");
    for spec in defaults.chain(windows).chain([published]) {
        let name = spec.to_string();
        known.push((name, Box::new(move |memory_bits| ours(&spec, memory_bits))));
    }
    let is_chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    let chosen = known.iter().filter(|(name, _)| is_chosen(name));
    let chosen = chosen.map(|(_, create)| create(memory_bits));
    let baselines = [
        blocked_limit("blocked-limit", 16, prefetch::<L1_CACHE>, memory_bits),
        blocked_limit(
            "blocked-limit, prefetched into L2",
            64,
            prefetch::<L2_CACHE>,
            memory_bits,
        ),
    ];
    baselines.into_iter().chain(chosen).collect()
}

/// Reads and changes one random cache line per key, prefetched `ahead` keys before.
fn blocked_limit(
    name: &str,
    ahead: usize,
    prefetch: impl Fn(&[u8], usize) + 'static,
    memory_bits: u64,
) -> Contender {
    let lines = memory_bits / 512;
    let mut memory = Memory::zeroed(lines as usize * 64).expect("enough memory");
    let line_of = move |key: &Observation| {
        let product = u128::from(key.fingerprint.0) * u128::from(lines);
        (product >> 64) as usize * 64
    };
    Contender {
        name: name.to_owned(),
        kind: Kind::Baseline,
        observe: Box::new(move |keys| {
            let bytes = &mut memory[..];
            let mut new = 0;
            for (i, key) in keys.iter().enumerate() {
                if let Some(later) = keys.get(i + ahead) {
                    prefetch(bytes, line_of(later));
                }
                let at = line_of(key) + (key.fingerprint.0 & 63) as usize;
                new += usize::from(bytes[at] == 0);
                bytes[at] |= 1;
            }
            new
        }),
    }
}

#[inline(always)]
fn prefetch<const HINT: i32>(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    // SAFETY: a prefetch does not fault and does not change memory.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<HINT>(bytes.as_ptr().wrapping_add(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box((bytes, at));
}

fn ours(spec: &FilterSpec, memory_bits: u64) -> Contender {
    with_threads(spec, memory_bits, 1)
}

/// Returns a filter of ours that uses so many threads.
pub fn with_threads(spec: &FilterSpec, memory_bits: u64, threads: usize) -> Contender {
    let mut set = SeenSetBuilder::new(spec)
        .memory_bits(memory_bits)
        .threads(threads)
        .seed(1)
        .build()
        .expect("enough memory");
    let mut verdicts = Vec::new();
    Contender {
        name: spec.to_string(),
        kind: Kind::Ours,
        observe: Box::new(move |keys| {
            verdicts.resize(keys.len(), Verdict::New);
            set.observe_batch(keys, &mut verdicts);
            let new = verdicts.iter().filter(|&&verdict| verdict == Verdict::New);
            new.count()
        }),
    }
}
