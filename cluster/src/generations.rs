//! Slices that forget after a time: one Redis key per slice and step, which expires by itself.
//!
//! A key that is New is recorded in the *generation* of the present step. It is known if any
//! generation of the window has it. Redis deletes a generation when its last keys leave the window
//! (`PEXPIREAT`). A key that is known is not recorded again, so its window runs from the last time that
//! it was New, as in the engine.
//!
//! **The clock** is that of the node that owns the slice: each message begins and ends with `TIME`.
//! The clock of the client only guesses the step; a wrong guess costs one more message.
//!
//! **Exactly one producer is told New**, by plain commands. Only the present generation is written,
//! so the earlier ones can be read first, in a message of their own. Then one `BITFIELD` tests and
//! sets the present generation. A New counts only if `TIME` after that command is still in the step.
//! Otherwise another producer may have read this generation as an earlier one before it was written;
//! then the key is observed again in the next step.
//!
//! The key without a step keeps only the header. It never expires, so a node that has lost its
//! memory is noticed also if a slice has no live generation.

use std::time::Instant;

use dedupstore::sites::{Operation, SiteFailure};
use redis::{Cmd, Value};

use crate::durability::Acknowledgement;
use crate::layout::generation_key;
use crate::router::Reply;
use crate::slices::{SliceRequest, Slices};
use crate::window::Window;

/// How often a batch is tried again because a step has ended meanwhile.
const MOST_ROUNDS: u32 = 16;
/// How many commands record keys in a generation; the last one sets their cells.
const WRITTEN: usize = 4;

/// The window of a store, and what this client knows about the clocks of its slices.
#[derive(Clone, Debug)]
pub(crate) struct Generations {
    pub window: Window,
    clocks: Vec<SliceClock>,
}

/// What is known about the clock of the node of a slice.
#[derive(Clone, Copy, Debug, Default)]
struct SliceClock {
    /// The latest step that was seen. A slice that moves to a node with a slower clock stays there.
    step: u64,
    /// The last time that was read, in milliseconds, and when.
    read: Option<(u64, Instant)>,
}

impl SliceClock {
    /// Returns the step that it probably is.
    fn guess(&self, window: Window) -> u64 {
        let time = self.read.map_or(0, |(milliseconds, at)| {
            milliseconds.saturating_add(at.elapsed().as_millis() as u64)
        });
        self.step.max(window.step_at(time))
    }

    /// Returns the step at a time of the node.
    fn learn(&mut self, window: Window, milliseconds: u64) -> u64 {
        self.read = Some((milliseconds, Instant::now()));
        self.step = self.step.max(window.step_at(milliseconds));
        self.step
    }
}

/// A request that is under way.
struct Progress {
    request: usize,
    /// The earliest generation that must be read, and the present one.
    from: u64,
    newest: u64,
    /// Whether `from` follows from `newest`: nothing has been written yet.
    is_first: bool,
    /// The keys that are not known to be there, by the index of their first cell.
    open: Vec<usize>,
}

impl Generations {
    pub fn new(window: Window, slices: usize) -> Self {
        Generations {
            window,
            clocks: vec![SliceClock::default(); slices],
        }
    }

    /// Returns the generations of a slice that are probably alive.
    pub fn live(&self, site: usize) -> std::ops::RangeInclusive<u64> {
        let newest = self.clocks[site].guess(self.window);
        self.window.oldest(newest)..=newest
    }

    fn learn(&mut self, site: usize, milliseconds: u64) -> u64 {
        self.clocks[site].learn(self.window, milliseconds)
    }
}

impl Slices {
    /// Returns the generations of a slice that are probably alive; none without a window.
    pub(crate) fn live_generations(&self, site: usize) -> Vec<u64> {
        let live = self.generations.as_ref().map(|it| it.live(site));
        live.map_or_else(Vec::new, Iterator::collect)
    }

    /// Does what [`exchange_cells`](Slices::exchange_cells) does, in a store with a window.
    pub(crate) fn exchange_in_window(
        &mut self,
        requests: &mut [SliceRequest],
        wait: Option<Acknowledgement>,
    ) {
        let Some(mut generations) = self.generations.take() else {
            return;
        };
        let cells_per_key = self.plan.cells_per_key();
        let start = |(index, request): (usize, &mut SliceRequest)| {
            request.matched = vec![false; request.cells.len()];
            request.acknowledged = wait.is_none();
            request.outcome = Ok(());
            request.sets = 0;
            let live = generations.live(request.site);
            Progress {
                request: index,
                from: *live.start(),
                newest: *live.end(),
                is_first: true,
                open: (0..request.cells.len()).step_by(cells_per_key).collect(),
            }
        };
        let mut left: Vec<Progress> = requests.iter_mut().enumerate().map(start).collect();
        for _ in 0..MOST_ROUNDS {
            if left.is_empty() {
                break;
            }
            let (tested, again) = self.read_generations(&mut generations, requests, left);
            left = again;
            left.extend(self.write_generations(&mut generations, requests, tested, wait));
        }
        for progress in left {
            // Steps end faster than messages arrive.
            requests[progress.request].outcome = Err(SiteFailure::Unavailable);
        }
        for request in requests.iter_mut() {
            if request.outcome.is_err() {
                request.matched.clear();
            }
        }
        self.generations = Some(generations);
    }

    /// Reads the generations before the present one; of requests that only test, that one as well.
    /// Returns what remains to be written, and what must be read again because its step has ended.
    fn read_generations(
        &mut self,
        generations: &mut Generations,
        requests: &mut [SliceRequest],
        left: Vec<Progress>,
    ) -> (Vec<Progress>, Vec<Progress>) {
        let mut commands = Vec::new();
        let mut counts = Vec::with_capacity(left.len());
        for progress in &left {
            let request = &requests[progress.request];
            let before = commands.len();
            commands.push(self.header_command(request.site));
            let steps = steps_to_read(request.operation, progress);
            for step in steps.filter(|_| !progress.open.is_empty()) {
                commands.push(self.cells_command(request, step, &progress.open, false));
            }
            counts.push(commands.len() - before);
        }
        let mut replies = self.send_timed(commands, None).into_iter();
        let (mut tested, mut again) = (Vec::new(), Vec::new());
        for (mut progress, count) in left.into_iter().zip(counts) {
            let replies: Vec<Reply> = replies.by_ref().take(count).collect();
            let request = &mut requests[progress.request];
            let Some(time) = self.check_replies(&replies, request) else {
                continue;
            };
            let newest = generations.learn(request.site, time);
            if newest != progress.newest {
                progress.newest = newest;
                if progress.is_first {
                    progress.from = generations.window.oldest(newest);
                }
                again.push(progress);
                continue;
            }
            self.note_known(request, &mut progress.open, &replies[1..]);
            if request.operation != Operation::Test && !progress.open.is_empty() {
                tested.push(progress);
            }
        }
        (tested, again)
    }

    /// Sets the cells of all open keys in the present generation. Returns what must be observed
    /// again, because the step has ended meanwhile.
    fn write_generations(
        &mut self,
        generations: &mut Generations,
        requests: &mut [SliceRequest],
        left: Vec<Progress>,
        wait: Option<Acknowledgement>,
    ) -> Vec<Progress> {
        let mut commands = Vec::with_capacity(WRITTEN * left.len());
        for progress in &left {
            let request = &mut requests[progress.request];
            request.sets += progress.open.len() as u64;
            commands.push(self.header_command(request.site));
            let (site, step) = (request.site, progress.newest);
            commands.extend(self.generation_commands(generations.window, site, step));
            commands.push(self.cells_command(request, progress.newest, &progress.open, true));
        }
        let mut replies = self.send_timed(commands, wait).into_iter();
        let mut again = Vec::new();
        for mut progress in left {
            let replies: Vec<Reply> = replies.by_ref().take(WRITTEN).collect();
            let request = &mut requests[progress.request];
            if self.check_replies(&replies, request).is_none() {
                continue;
            }
            let (set, ended) = (&replies[WRITTEN - 1], replies[WRITTEN - 1].times.1);
            request.acknowledged = set.acknowledged || wait.is_none();
            if request.operation == Operation::TestAndSet {
                self.note_known(request, &mut progress.open, &replies[WRITTEN - 1..]);
            }
            let newest = generations.learn(request.site, ended);
            if newest > progress.newest && !progress.open.is_empty() {
                progress.from = progress.newest + 1;
                progress.newest = newest;
                progress.is_first = false;
                again.push(progress);
            }
        }
        again
    }

    /// Checks answers, of which the first is the header, and notes if the slice has failed. Returns
    /// when the earliest of them was given, if the request goes on. A slice without its header is
    /// only set, which is how it is rebuilt.
    fn check_replies(&self, replies: &[Reply], request: &mut SliceRequest) -> Option<u64> {
        let header = replies.first().and_then(|reply| reply.value.as_ref());
        let all_answered = replies.iter().all(|reply| reply.value.is_some());
        match header {
            Some(Value::Array(values)) if all_answered => {
                if values[..] != [Value::Int(self.id as i64)] {
                    request.outcome = Err(SiteFailure::Empty);
                }
            }
            _ => request.outcome = Err(SiteFailure::Unavailable),
        }
        let earliest = replies.iter().map(|reply| reply.times.0).min();
        match (request.outcome, request.operation) {
            (Ok(()), _) | (Err(SiteFailure::Empty), Operation::Set) => earliest,
            _ => None,
        }
    }

    /// Notes which of the open keys are known, because one of the generations that answered has them,
    /// and keeps the others open. Each answer is about all keys that were open when it was asked for.
    fn note_known(&self, request: &mut SliceRequest, open: &mut Vec<usize>, replies: &[Reply]) {
        let cells_per_key = self.plan.cells_per_key();
        for reply in replies {
            let Some(Value::Array(found)) = &reply.value else {
                continue;
            };
            for (&first, found) in open.iter().zip(found.chunks(cells_per_key)) {
                let cells = first..first + cells_per_key;
                let mut expected = request.cells[cells.clone()].iter().zip(found);
                let is_equal =
                    expected.all(|(&(_, value), found)| *found == Value::Int(value as i64));
                if is_equal && found.len() == cells_per_key {
                    request.matched[cells].fill(true);
                }
            }
        }
        open.retain(|&first| !request.matched[first]);
    }

    /// Reads the header of a slice.
    fn header_command(&self, site: usize) -> (u16, Cmd) {
        let key = &self.keys[site];
        let mut command = redis::cmd("BITFIELD");
        command.arg(&key.text).arg("GET").arg("i64").arg(0);
        (key.slot, command)
    }

    /// Creates a generation unless it is there, and sets when it is forgotten. It gets its full
    /// length at once: a string that grows gets up to twice the memory that it needs.
    fn generation_commands(&self, window: Window, site: usize, step: u64) -> [(u16, Cmd); 2] {
        let key = generation_key(&self.keys[site], step);
        // One byte behind the cells, as in a slice without a window.
        let last_byte = self.plan.site_bits(site).div_ceil(8);
        let mut create = redis::cmd("SETRANGE");
        create.arg(&key.text).arg(last_byte).arg(&b"\0"[..]);
        let mut expire = redis::cmd("PEXPIREAT");
        expire.arg(&key.text).arg(window.end_of(step));
        [(key.slot, create), (key.slot, expire)]
    }

    /// Reads or sets the cells of keys in a generation.
    fn cells_command(
        &self,
        request: &SliceRequest,
        step: u64,
        open: &[usize],
        set: bool,
    ) -> (u16, Cmd) {
        let key = generation_key(&self.keys[request.site], step);
        let mut command = redis::cmd("BITFIELD");
        command.arg(&key.text);
        for &first in open {
            for &(offset, value) in &request.cells[first..first + self.plan.cells_per_key()] {
                let word = if set { "SET" } else { "GET" };
                command.arg(word).arg(&self.cell_type).arg(offset);
                if set {
                    command.arg(value);
                }
            }
        }
        (key.slot, command)
    }
}

/// Returns the generations that a request reads before it writes.
fn steps_to_read(operation: Operation, progress: &Progress) -> std::ops::Range<u64> {
    match operation {
        Operation::Test => progress.from..progress.newest + 1,
        Operation::TestAndSet => progress.from..progress.newest,
        // What is set needs no test; only the time is read.
        Operation::Set => progress.newest..progress.newest,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_that_goes_back_does_not_change_the_step() {
        let window = Window::in_steps(Duration::from_secs(8), 8).expect("long enough");
        let mut clock = SliceClock::default();
        assert_eq!(clock.guess(window), 0);
        assert_eq!(clock.learn(window, 5_500), 5);
        assert_eq!(clock.learn(window, 4_900), 5);
        assert_eq!(clock.guess(window), 5);
        assert_eq!(clock.learn(window, 7_000), 7);
    }
}
