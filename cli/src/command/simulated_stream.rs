//! The synthetic stream of `simulate`.

use std::num::NonZero;
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use dedupstore::lab::{BatchedStream, Clock, Simulation, StreamBatch, StreamSpec};

/// Few messages, so that threads rarely wait for each other; small enough for a cache.
const BATCHES_PER_MESSAGE: usize = 16;
const MESSAGES_AHEAD: usize = 4;

/// Runs the filters over a stream. If there are several processors, another thread prepares the
/// next keys meanwhile.
pub fn over_stream(
    mut simulation: Simulation,
    stream: StreamSpec,
    count: u64,
    seed: u64,
) -> Simulation {
    let clock = WallClock::start();
    let keys = || BatchedStream::new(stream.open(count, seed), seed);
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    if processors > 1 && run_ahead(keys(), |batch| simulation.push_batch(batch, &clock)) {
        return simulation;
    }
    let (mut keys, mut batch) = (keys(), StreamBatch::default());
    while keys.fill(&mut batch) {
        simulation.push_batch(&mut batch, &clock);
    }
    simulation
}

/// Passes all batches to `consume`, while another thread prepares the next ones. Returns false if
/// the system refuses to start a thread.
fn run_ahead(mut keys: BatchedStream, mut consume: impl FnMut(&mut StreamBatch)) -> bool {
    let (full, messages) = sync_channel::<Vec<StreamBatch>>(MESSAGES_AHEAD);
    let (used, empty) = sync_channel::<Vec<StreamBatch>>(MESSAGES_AHEAD + 2);
    let prepare = move || {
        loop {
            let mut message = empty.try_recv().unwrap_or_default();
            message.resize_with(BATCHES_PER_MESSAGE, StreamBatch::default);
            let filled = message.iter_mut().map(|batch| keys.fill(batch));
            let filled = filled.take_while(|&is_filled| is_filled).count();
            message.truncate(filled);
            if full.send(message).is_err() || filled < BATCHES_PER_MESSAGE {
                return;
            }
        }
    };
    let thread = std::thread::Builder::new().name("dedupstore stream".to_owned());
    if thread.spawn(prepare).is_err() {
        return false;
    }
    for mut message in messages {
        message.iter_mut().for_each(&mut consume);
        // If there is no room, the memory is given back.
        let _ = used.try_send(message);
    }
    true
}

/// The clock that measures how long filters take.
pub(super) struct WallClock(Instant);

impl WallClock {
    pub fn start() -> Self {
        WallClock(Instant::now())
    }
}

impl Clock for WallClock {
    fn now_ns(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}
