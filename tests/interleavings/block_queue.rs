//! The queue from the writer to the checkpoint thread, alone.
//!
//! In a store, a writer that is not woken when there is room waits until the end of the checkpoint,
//! which wakes it too. So only a consumer that does not end shows whether it is woken in time.

use std::sync::Arc;

use dedupstore::store::explored::{BlockQueue, Copies};
use dedupstore_tests::crash::Failure;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const BLOCK_BYTES: usize = 8;

/// Lets a producer put blocks into a queue that is often full, and takes them out until all have
/// come. No state is crashed: the queue is in memory only.
pub fn run(seed: u64) -> Result<u64, Failure> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let capacity = BLOCK_BYTES * (rng.next_u64() % 4) as usize;
    let runs: Vec<usize> = (0..2 + rng.next_u64() % 8)
        .map(|_| 1 + (rng.next_u64() % 3) as usize)
        .collect();
    let total: usize = runs.iter().sum();
    let queue = Arc::new(BlockQueue::new(capacity));
    let producer = Arc::clone(&queue);
    let producer = shuttle::thread::spawn(move || {
        let mut first = 0;
        for count in runs {
            let blocks = first..first + count as u64;
            let bytes: Vec<u8> = blocks.clone().flat_map(u64::to_le_bytes).collect();
            producer.wait_for_room(bytes.len());
            producer.put(first, &bytes);
            first = blocks.end;
        }
    });
    let (mut next, mut copies) = (0, Copies::default());
    while next < total as u64 {
        if !queue.take(&mut copies) {
            shuttle::thread::yield_now();
            continue;
        }
        let held: usize = copies.runs().map(|(_, bytes)| bytes.len()).sum();
        if held > capacity && copies.runs().count() > 1 {
            return Err(Failure(format!("the queue held {held} bytes")));
        }
        for (first, bytes) in copies.runs() {
            for (block, bytes) in (first..).zip(bytes.chunks_exact(BLOCK_BYTES)) {
                if block != next || bytes != next.to_le_bytes() {
                    return Err(Failure(format!("block {block} came instead of {next}")));
                }
                next += 1;
            }
        }
    }
    let ended = producer.join();
    ended.map_err(|_| Failure("the producer panicked".to_owned()))?;
    Ok(0)
}
