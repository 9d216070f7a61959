//! What is fuzzed.

/// A function over bytes, and what is needed to find interesting bytes for it.
#[derive(Clone, Copy)]
pub struct Target {
    /// The name, as on the command line and of the corpus's file.
    pub name: &'static str,
    /// Parses the bytes and checks the result. Panics if something is wrong.
    pub run: fn(&[u8]),
    /// Valid inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Words of the format.
    pub dictionary: &'static [&'static str],
    /// The longest input.
    pub max_bytes: usize,
    /// Whether an arithmetic overflow in a debug build is accepted: forged counters wrap around in a
    /// release, and give wrong statistics.
    pub may_overflow: bool,
    /// How many bytes of memory an execution may hold at once besides a multiple of the input.
    pub memory_bytes: usize,
}

/// The memory that an execution may hold per byte of its input: decoded copies, and vectors of
/// ranges that grow by doubling.
pub const MEMORY_PER_BYTE: usize = 64;

impl Target {
    /// Returns the memory that an execution over an input of this length may hold at once.
    pub fn memory_limit(&self, input_bytes: usize) -> usize {
        self.memory_bytes + MEMORY_PER_BYTE * input_bytes
    }
}
