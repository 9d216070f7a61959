//! Timers of four bits in one cache line, which vector instructions read and set all at once.
//!
//! The bytes, verdicts and registers are those of `stamp_cells.rs`, which handles timers of other
//! widths and processors without such instructions.

use std::ops::Range;

use super::cache_lines::{CACHE_LINE_BYTES, CacheLines};
use super::stamp_sweep;
use super::stamps::{StampWindow, Stamps};
use super::window_registers::WindowRegisters;
use super::{Registers, Verdict};
use crate::fingerprint::Fingerprint;
use crate::region::Region;
use crate::simd::{LineVectors, VectorWork};

/// The width of a timer that vectors compute with.
pub(super) const TIMER_BITS: u32 = 4;
/// The lowest bit of every timer of a word.
const LOWEST_BITS: u64 = 0x1111_1111_1111_1111;
/// The set of timer values that has only 0.
const EMPTY: u16 = 1;

/// Cache lines of timers of four bits, of which each key has k in one line.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimerLines {
    pub lines: CacheLines,
    pub stamps: Stamps,
    pub k: u32,
}

impl TimerLines {
    /// Observes a key at the present step. If it is New, sweeps what is due before.
    #[inline(always)]
    pub fn observe<V: LineVectors, R: Region + ?Sized>(
        &self,
        vectors: V,
        region: &mut R,
        registers: &mut Registers,
        now: u64,
        fingerprint: Fingerprint,
    ) -> Verdict {
        let is_due = stamp_sweep::is_due(registers, now);
        self.observe_if(is_due, vectors, region, registers, now, fingerprint)
    }

    /// Observes a key at the present step, which is the base, in a part of the region. The caller
    /// sweeps later.
    #[inline(always)]
    pub fn observe_in_rows<V: LineVectors, R: Region + ?Sized>(
        &self,
        vectors: V,
        region: &mut R,
        registers: &mut Registers,
        now: u64,
        fingerprint: Fingerprint,
    ) -> Verdict {
        self.observe_if(false, vectors, region, registers, now, fingerprint)
    }

    /// Observes a key. If it is New and a sweep is due, sweeps before.
    ///
    /// In plain memory a Seen key writes its line unchanged: no branch depends on the verdict
    /// unless a sweep is due.
    #[inline(always)]
    fn observe_if<V: LineVectors, R: Region + ?Sized>(
        &self,
        is_due: bool,
        vectors: V,
        region: &mut R,
        registers: &mut Registers,
        now: u64,
        fingerprint: Fingerprint,
    ) -> Verdict {
        let (at, mut probes) = self.lines.locate(fingerprint);
        let range = at..at + CACHE_LINE_BYTES;
        let in_window = self.stamps.window_at(registers, now).mask() as u16;
        let cells = vectors.cells(self.k, || probes.next_bits());
        let Some(line) = region.bytes()[range.clone()].as_array() else {
            return Verdict::New;
        };
        let mut before = vectors.load(line);
        let outside = vectors.without(cells, vectors.cells_in(before, in_window));
        let is_new = !vectors.is_zero(outside);
        if !is_new && region.untracked().is_none() {
            return Verdict::Seen;
        }
        if is_due && is_new {
            self.advance(vectors, region, registers, now);
            if let Some(line) = region.bytes()[range.clone()].as_array() {
                before = vectors.load(line);
            }
        }
        let set = vectors.and(cells, vectors.splat(if is_new { u64::MAX } else { 0 }));
        let value = vectors.splat(self.stamps.base_value(registers) * LOWEST_BITS);
        let after = vectors.or(vectors.without(before, set), vectors.and(value, set));
        // The timers of a Seen key are not empty.
        let filled = vectors.count(vectors.and(cells, vectors.cells_in(before, EMPTY)));
        if let Some(line) = region.bytes_mut(range).as_mut_array() {
            vectors.store(after, line);
        }
        *registers.occupied_mut() += u64::from(filled / TIMER_BITS);
        WindowRegisters::count_deliveries(registers, u64::from(is_new));
        Verdict::seen_if(!is_new)
    }

    /// Makes the present step the base, and sweeps. Not inlined: it would take the registers of the
    /// processor from the loop over a batch.
    #[cold]
    #[inline(never)]
    fn advance<V: LineVectors, R: Region + ?Sized>(
        &self,
        vectors: V,
        region: &mut R,
        registers: &mut Registers,
        now: u64,
    ) {
        vectors.run(Advance {
            timers: self,
            region,
            registers,
            now,
        });
    }
}

/// The work of [`TimerLines::advance`].
struct Advance<'a, R: ?Sized> {
    timers: &'a TimerLines,
    region: &'a mut R,
    registers: &'a mut Registers,
    now: u64,
}

impl<V: LineVectors, R: Region + ?Sized> VectorWork<V> for Advance<'_, R> {
    #[inline(always)]
    fn run(self, vectors: V) {
        let TimerLines { lines, stamps, .. } = self.timers;
        let region = self.region;
        let sweep = |registers: &mut Registers, lines: Range<u64>, window: StampWindow| {
            sweep(vectors, region, registers, lines, window);
        };
        stamp_sweep::advance(stamps, self.registers, lines.count(), self.now, sweep);
    }
}

/// Empties the timers of some cache lines that have left the window.
#[inline(always)]
fn sweep<V: LineVectors, R: Region + ?Sized>(
    vectors: V,
    region: &mut R,
    registers: &mut Registers,
    lines: Range<u64>,
    window: StampWindow,
) {
    if registers.occupied() == 0 {
        return;
    }
    let expired = !(window.mask() as u16 | EMPTY);
    let mut emptied = 0;
    for line in lines {
        let at = line as usize * CACHE_LINE_BYTES;
        let range = at..at + CACHE_LINE_BYTES;
        let Some(line) = region.bytes()[range.clone()].as_array() else {
            return;
        };
        let before = vectors.load(line);
        let removed = vectors.cells_in(before, expired);
        let count = vectors.count(removed);
        if count == 0 {
            continue;
        }
        emptied += u64::from(count / TIMER_BITS);
        if let Some(line) = region.bytes_mut(range).as_mut_array() {
            vectors.store(vectors.without(before, removed), line);
        }
    }
    *registers.occupied_mut() -= emptied;
}

#[cfg(test)]
mod tests {
    use crate::filter::batch::observe_one;
    use crate::filter::window::Window;
    use crate::filter::{Filter, FilterSpec, Observation, Registers, Verdict};
    use crate::fingerprint::KeyHasher;
    use crate::simd::Vectors;

    /// All forms give the same bytes, verdicts and registers, with steps that pass one at a time
    /// and with pauses.
    #[test]
    fn all_vectors_compute_the_same() {
        let hasher = KeyHasher::new(8);
        let keys: Vec<Observation> = (0..30_000u64)
            .map(|i| hasher.fingerprint(&(i * i % 7919).to_le_bytes()).into())
            .collect();
        for (text, bits) in [
            ("k=4,span=1200", 400 * 512),
            ("k=6,span=1300,step=100", 400 * 512),
            ("k=1,span=12", 512),
            ("k=9,span=9000,clock=count", 40 * 512),
            ("k=32,span=2400,clock=deliveries", 40 * 512),
        ] {
            let text = format!("window:{text},layout=blocked");
            let spec: FilterSpec = text.parse().expect("a filter");
            let filter = Window::build(&spec, bits).expect("enough memory");
            assert!(filter.uses_vectors(), "{text}");
            let run = |vectors: Vectors| {
                let filter = filter.with_vectors(vectors);
                let mut region = vec![0; filter.region_bytes() as usize];
                let mut registers = Registers::new(1);
                let observe = |(i, &key): (u64, &Observation)| {
                    registers.advance_clock(i / 40 + i / 9000 * 20);
                    observe_one(&filter, &mut region[..], &mut registers, key)
                };
                let verdicts: Vec<Verdict> = (0..).zip(&keys).map(observe).collect();
                assert_eq!(registers.occupied(), filter.recount(&region), "{text}");
                (verdicts, region, registers)
            };
            let expected = run(Vectors::Portable);
            for vectors in Vectors::all_detected() {
                assert!(run(vectors) == expected, "{text}, {vectors:?}");
            }
        }
        let wider: FilterSpec = "window:span=100,step=1,layout=blocked"
            .parse()
            .expect("a filter");
        assert!(
            !Window::build(&wider, 512)
                .expect("enough memory")
                .uses_vectors()
        );
    }
}
