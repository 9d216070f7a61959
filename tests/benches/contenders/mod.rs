//! What is compared: the yardsticks, peers, and every filter of the registry.

mod peers;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_HINT_T0 as FIRST_CACHE, _MM_HINT_T1 as SECOND_CACHE};

use dedupstore::{FilterSpec, Memory, Observation, SeenSet, Verdict, registry};

#[cfg(not(target_arch = "x86_64"))]
const FIRST_CACHE: i32 = 0;
#[cfg(not(target_arch = "x86_64"))]
const SECOND_CACHE: i32 = 1;

type Observe = Box<dyn FnMut(&[Observation]) -> usize>;

/// Something that tells new keys from known ones.
pub struct Contender {
    pub name: String,
    /// Observes keys in order; returns how many were new.
    pub observe: Observe,
}

/// Makes a contender, once it is known that it takes part.
type Make = Box<dyn Fn(u64) -> Contender>;

/// The yardsticks, and those of the others whose name contains one of the words, or all if
/// there is no word.
pub fn contenders(memory_bits: u64, words: &[String]) -> Vec<Contender> {
    let mut known: Vec<(String, Make)> = Vec::new();
    for (name, make) in peers::PEERS {
        known.push((name.to_owned(), Box::new(make)));
    }
    for &descriptor in registry() {
        let spec = FilterSpec::with_defaults(descriptor);
        let name = spec.to_string();
        known.push((name, Box::new(move |memory_bits| ours(&spec, memory_bits))));
    }
    let takes_part = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    let chosen = known.iter().filter(|(name, _)| takes_part(name));
    let chosen = chosen.map(|(_, make)| make(memory_bits));
    let yardsticks = [
        blocked_limit("blocked-limit", 16, prefetch::<FIRST_CACHE>, memory_bits),
        blocked_limit(
            "blocked-limit, by way of the second cache",
            64,
            prefetch::<SECOND_CACHE>,
            memory_bits,
        ),
    ];
    yardsticks.into_iter().chain(chosen).collect()
}

/// One random line, asked for ahead, read and changed.
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
    // SAFETY: a prefetch neither faults nor changes anything.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<HINT>(bytes.as_ptr().wrapping_add(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box((bytes, at));
}

fn ours(spec: &FilterSpec, memory_bits: u64) -> Contender {
    let mut set = SeenSet::in_memory(spec, memory_bits, 1).expect("enough memory");
    let mut verdicts = Vec::new();
    Contender {
        name: spec.to_string(),
        observe: Box::new(move |keys| {
            verdicts.resize(keys.len(), Verdict::New);
            set.observe_batch(keys, &mut verdicts);
            let new = verdicts.iter().filter(|&&verdict| verdict == Verdict::New);
            new.count()
        }),
    }
}
