//! A line of ranked fingerprints: the keys of a line that came last.
//!
//! **Promises** that a new key is dropped with a chance of at most fields ÷ (2^bits − 1),
//! about 1 in 100 with the defaults, whatever the stream; and that a repeat is noticed if
//! fewer other keys of its line than it has fields came in between.
//!
//! **Pick it** for a stream that drifts: keys repeat for a while and then no more. Also
//! where repeats lie close together and few errors of either kind are wanted.
//!
//! **How.** A key has a line and a fingerprint of 12 bits; the line holds 42 of them, the
//! last met first. With room for three and the line `a b c`: `d` is New, and the line is
//! `d a b`; `c` was pushed out. `b` again: Seen, and the line is `b d a`.
//!
//! **Source.** Ours. Move-to-front: Sleator, Tarjan, "Amortized efficiency of list update
//! and paging rules", 1985; with fingerprints for keys as in the buffering of Deng and
//! Rafiei, 2006, and one line of memory for a list.

use super::descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
use super::lines::{LINE_BYTES, Lines};
use super::ranking::Ranking;
use super::{BuildError, Filter, FilterSpec, Observation, Registers, Verdict};
use crate::bytes::{read_u64, write_u64};
use crate::fingerprint::Fingerprint;
use crate::region::Region;
use crate::rng::Generator;

const LINE_WORDS: usize = LINE_BYTES / 8;

/// The geometry of lines of ranked fingerprints.
#[derive(Clone, Debug)]
pub struct Recent {
    lines: Lines,
    ranking: Box<Ranking<LINE_WORDS>>,
}

impl Recent {
    /// Where a key's line starts, and the key's value in it.
    #[inline(always)]
    fn claim(&self, fingerprint: Fingerprint) -> (usize, u64) {
        let (at, mut probes) = self.lines.place(fingerprint);
        (at, 1 + probes.next_below(self.ranking.values()))
    }
}

#[inline(always)]
fn words_of(line: &[u8]) -> [u64; LINE_WORDS] {
    let line = &line[..LINE_BYTES];
    std::array::from_fn(|i| read_u64(line, 8 * i))
}

impl Filter for Recent {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "recent",
        title: "Lines of recent fingerprints",
        summary: "Keeps the fingerprints of a line of memory in the order in which they were last \
                  met; a new one pushes the oldest out.",
        promise: "The share of new keys dropped has a bound that holds for ever; a repeat is \
                  noticed if it does not lie too far back.",
        choose_when: "The stream drifts: keys repeat for a while and then no more.",
        errs: Errs::Both,
        needs: Needs {
            tick: false,
            importance: false,
        },
        source: Citation {
            authors: "D. D. Sleator, R. E. Tarjan",
            title: "Amortized efficiency of list update and paging rules",
            year: 1985,
        },
        parameters: &[
            Parameter {
                name: "bits",
                meaning: "bits of a fingerprint; 512 ÷ bits share a line",
                kind: Kind::Integer {
                    min: 4,
                    max: 32,
                    default: 12,
                },
            },
            Parameter {
                name: "insert",
                meaning: "rank at which a new key enters, 0 being the first",
                kind: Kind::Integer {
                    min: 0,
                    max: 127,
                    default: 0,
                },
            },
        ],
    };

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let ranking = Ranking::new(spec.integer("bits") as u32, spec.integer("insert"), false);
        Ok(Recent {
            lines: Lines::fitting(spec, memory_bits)?,
            ranking: Box::new(ranking),
        })
    }

    fn region_bytes(&self) -> u64 {
        self.lines.bytes()
    }

    fn cells(&self) -> u64 {
        self.lines.count() * self.ranking.fields()
    }

    fn recount(&self, region: &[u8]) -> u64 {
        let lines = region.chunks_exact(LINE_BYTES);
        lines
            .map(|line| self.ranking.occupied(&words_of(line)))
            .sum()
    }

    /// The values in a line differ, so each is one more that a new key may equal.
    fn drop_chance(&self, registers: &Registers) -> f64 {
        let held = registers.occupied() as f64 / self.lines.count() as f64;
        (held / self.ranking.values() as f64).min(1.0)
    }

    fn lines_touched(&self) -> u32 {
        1
    }

    fn draws(&self) -> u64 {
        0
    }

    fn seen_leaves_no_trace(&self) -> bool {
        false
    }

    #[inline(always)]
    fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        _: Generator,
        observation: Observation,
    ) -> Verdict {
        let (at, value) = self.claim(observation.fingerprint);
        let line = region.bytes_mut(at..at + LINE_BYTES);
        let mut words = words_of(line);
        let ranked = self.ranking.advance(&mut words, value);
        for (i, word) in words.into_iter().enumerate() {
            write_u64(line, 8 * i, word);
        }
        *registers.occupied_mut() += u64::from(ranked.grew);
        match ranked.found {
            true => Verdict::Seen,
            false => Verdict::New,
        }
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        let (at, value) = self.claim(fingerprint);
        let words = words_of(&region[at..at + LINE_BYTES]);
        match self.ranking.holds(&words, value) {
            true => Verdict::Seen,
            false => Verdict::New,
        }
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        self.lines.prefetch(region, fingerprint);
    }
}
