//! Which code an execution reached, by the counters of SanitizerCoverage.
//!
//! The compiler adds one counter per edge of the control flow, and registers each crate's counters
//! with the functions below, before `main`.

#![allow(unsafe_code)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of the program: the address of the first one and the number, per crate.
static COUNTERS: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

// SAFETY: no other function has this name; the compiler's instrumentation calls it.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *mut u8) {
    let length = stop as usize - start as usize;
    if let Ok(mut counters) = COUNTERS.lock() {
        counters.push((start as usize, length));
    }
}

// SAFETY: no other function has this name; the compiler's instrumentation calls it.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_pcs_init(_start: *const usize, _stop: *const usize) {}

/// The words of counters that are looked at together.
const CHUNK_WORDS: usize = 64;
/// How often all counters are looked at, and not only those near code that was reached before.
const EXECUTIONS_PER_FULL_LOOK: u64 = 1024;

/// The edges that any execution has reached, with how often in powers of two.
pub struct Coverage {
    chunks: Vec<Chunk>,
    /// The indices of the chunks that were ever reached, which are few of all.
    active: Vec<usize>,
    executions: u64,
}

struct Chunk {
    counters: &'static [AtomicU64],
    /// A bit per power of two, for each counter.
    reached: Vec<u8>,
    is_active: bool,
}

impl Coverage {
    pub fn new() -> Self {
        let counters = match COUNTERS.lock() {
            Ok(counters) => counters.clone(),
            Err(_) => Vec::new(),
        };
        let words = counters.into_iter().map(|(start, length)| {
            let skipped = start.next_multiple_of(8) - start;
            let words = length.saturating_sub(skipped) / 8;
            let first = (start + skipped) as *const AtomicU64;
            // SAFETY: the counters are a static array of bytes, `first` is aligned, and the words
            // are inside the array. The instrumented code changes them meanwhile, by plain stores
            // of this one thread; atomic accesses keep the compiler from assuming that they stay
            // the same.
            unsafe { std::slice::from_raw_parts(first, words) }
        });
        let chunks = words.flat_map(|words| words.chunks(CHUNK_WORDS));
        let chunks: Vec<Chunk> = chunks
            .map(|counters| Chunk {
                counters,
                reached: vec![0; 8 * counters.len()],
                is_active: false,
            })
            .collect();
        let mut coverage = Coverage {
            chunks,
            active: Vec::new(),
            executions: 0,
        };
        coverage.record();
        coverage
            .chunks
            .iter_mut()
            .for_each(|chunk| chunk.reached.fill(0));
        coverage
    }

    /// Records what the execution since the last call reached. Returns whether there is something
    /// new.
    pub fn record(&mut self) -> bool {
        let mut is_new = false;
        // The first executions are those of the kept corpus, which find most of the code.
        let is_early = self.executions < EXECUTIONS_PER_FULL_LOOK;
        if is_early || self.executions.is_multiple_of(EXECUTIONS_PER_FULL_LOOK) {
            for (index, chunk) in self.chunks.iter_mut().enumerate() {
                if chunk.record() {
                    is_new = true;
                    if !std::mem::replace(&mut chunk.is_active, true) {
                        self.active.push(index);
                    }
                }
            }
        } else {
            for &index in &self.active {
                is_new |= self.chunks[index].record();
            }
        }
        self.executions += 1;
        is_new
    }

    /// Returns the number of edges that were reached.
    pub fn edges(&self) -> usize {
        let all = self.chunks.iter().flat_map(|chunk| &chunk.reached);
        all.filter(|&&bits| bits != 0).count()
    }
}

impl Chunk {
    /// Clears the counters. Returns whether one has a value that it never had before.
    fn record(&mut self) -> bool {
        let mut is_new = false;
        for (word, reached) in self.counters.iter().zip(self.reached.chunks_exact_mut(8)) {
            let value = word.load(Ordering::Relaxed);
            if value == 0 {
                continue;
            }
            word.store(0, Ordering::Relaxed);
            for (count, reached) in value.to_ne_bytes().into_iter().zip(reached) {
                let bit = class_of(count);
                is_new |= *reached & bit != bit;
                *reached |= bit;
            }
        }
        is_new
    }
}

/// Returns a bit for a count: 1, 2, 3, 4 to 7, 8 to 15, 16 to 31, 32 to 127, or more.
fn class_of(count: u8) -> u8 {
    match count {
        0 => 0,
        1 => 1,
        2 => 2,
        3 => 4,
        4..8 => 8,
        8..16 => 16,
        16..32 => 32,
        32..128 => 64,
        128.. => 128,
    }
}
