//! A block of lines on its way from the input to the output.

use dedupstore::lines::{LineBlock, LineBuffer, Part};

use crate::batch_hasher::{BatchHasher, HashedBatch};
use crate::block_source::{BlockSource, Step};

/// The result of one read: lines, perhaps with their hashed keys.
pub struct HashedBlock {
    pub lines: LineBlock,
    /// What the read has brought.
    pub step: Step,
    /// The number of bytes read from all inputs up to here, before decompression.
    pub consumed_bytes: u64,
    /// The batches of all parts that are lines, and of the unterminated line. Memory is used again,
    /// so there may be more than `hashed`.
    batches: Vec<HashedBatch>,
    /// The number of batches; None if the keys are not hashed yet.
    hashed: Option<usize>,
}

impl Default for HashedBlock {
    fn default() -> Self {
        HashedBlock {
            lines: LineBlock::default(),
            step: Step::End,
            consumed_bytes: 0,
            batches: Vec::new(),
            hashed: None,
        }
    }
}

impl HashedBlock {
    /// Replaces the block by the result of the next read. Lines that are not complete stay in the
    /// buffer.
    pub fn read(&mut self, source: &mut BlockSource, buffer: &mut LineBuffer) {
        self.step = source.read_into(buffer);
        self.consumed_bytes = source.consumed_bytes();
        self.hashed = None;
        match self.step {
            Step::EndOfInput => buffer.take_last_line(&mut self.lines),
            _ => buffer.take_block(&mut self.lines),
        }
    }

    /// Hashes the keys of all lines.
    pub fn hash(&mut self, hasher: &mut BatchHasher) {
        let mut count = 0;
        for part in self.lines.parts() {
            if let Part::Lines(mut lines) = part {
                while hasher.hash(&mut lines, batch(&mut self.batches, &mut count)) {}
            }
        }
        if let Some(line) = self.lines.last_line() {
            hasher.hash_unterminated(line, batch(&mut self.batches, &mut count));
        }
        self.hashed = Some(count);
    }

    /// Returns the lines, and the batches if the keys are hashed.
    pub fn parts(&mut self) -> (&LineBlock, Option<&mut [HashedBatch]>) {
        let batches = self.hashed.map(|count| &mut self.batches[..count]);
        (&self.lines, batches)
    }
}

fn batch<'a>(batches: &'a mut Vec<HashedBatch>, count: &mut usize) -> &'a mut HashedBatch {
    if *count == batches.len() {
        batches.push(HashedBatch::default());
    }
    *count += 1;
    &mut batches[*count - 1]
}
