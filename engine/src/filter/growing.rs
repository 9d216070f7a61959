//! A Bloom filter that grows: it opens a new part when the newest is full, inside a reserve.
//!
//! **Guarantee.** There are no false negatives. With `tighten=on` the false positive rate stays
//! below the wanted one until the whole reserve is used, however many keys come; then it rises, as
//! that of any full Bloom filter does. With a window, keys are forgotten as by `window`, and memory
//! is used in proportion to the keys of one window.
//!
//! **When to use it.** The number of keys is not known, and it may differ by a factor of a thousand.
//! If it is known to within a factor of two, another filter that is made for it needs about half of
//! the memory and touches one cache line instead of one per part.
//!
//! **How it works.** With parts of 8 bits, k = 2 and a threshold of 4 set bits, each key is tested in
//! all parts and is Seen if any of them has both its bits. A new key is inserted into the newest
//! part. If that part already has 4 bits set, a new empty part is opened first, and the key is
//! inserted there.
//!
//! **Papers.** Koloniari, Ntarmos, Pitoura, Souravlias, "One is Enough: Distributed Filtering for
//! Duplicate Elimination", 2011, section 5: growth by density or cardinality, and windows. Almeida,
//! Baquero, Preguiça, Hutchison, "Scalable Bloom Filters", 2007: larger parts with tighter rates.
//!
//! **Departures.** As printed (`tighten=off`), each of L equal parts reaches the wanted rate P, and
//! the filter reaches 1 − (1 − P)^L. By default rates are tightened so that their sum stays below
//! P. Almeida et al. tighten later parts; here earlier parts have the tighter rates, because the
//! reserve bounds the number of parts and most of the memory is in the last ones. Keys are divided
//! among slices that grow at different times (`growth_plan.rs`). The paper checks whether a part
//! has exceeded its threshold; here it is checked before an insertion whether it has reached it.

use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::growing_bits::{GrowingBits, GrownState};
use super::growing_timers::GrowingTimers;
use super::parameter::{Kind, Parameter};
use super::window_clock::WindowClock;
use super::{
    BuildError, CannotGrow, CellLayout, Evidence, Filter, FilterSpec, Observation, Registers,
    Verdict,
};
use crate::bytes::bit;
use crate::fingerprint::Fingerprint;
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of the filter.
#[derive(Clone, Debug)]
pub struct Growing {
    parts: Parts,
    fpr_millionths: u64,
}

#[derive(Clone, Debug)]
enum Parts {
    Bits(GrowingBits),
    Timers(GrowingTimers),
}

/// Evaluates a call for parts of either kind.
macro_rules! parts {
    ($self:ident, $parts:ident => $call:expr) => {
        match &$self.parts {
            Parts::Bits($parts) => $call,
            Parts::Timers($parts) => $call,
        }
    };
}

impl Growing {
    /// Returns the expected state after so many insertions; None if the filter has a window.
    pub(crate) fn state_of(&self, keys: f64) -> Option<GrownState> {
        match &self.parts {
            Parts::Bits(bits) => Some(bits.state_of(keys)),
            Parts::Timers(_) => None,
        }
    }

    pub(super) fn parts_in_use(&self, registers: &Registers) -> u64 {
        parts!(self, parts => parts.parts_in_use(registers))
    }

    pub(super) fn most_parts(&self) -> u64 {
        match &self.parts {
            Parts::Bits(bits) => bits.plan.levels,
            Parts::Timers(timers) => timers.parts,
        }
    }

    /// Returns the wanted false positive rate.
    pub(super) fn wanted_rate(&self) -> f64 {
        self.fpr_millionths as f64 / 1e6
    }

    pub(super) fn keys_left(&self, registers: &Registers) -> f64 {
        parts!(self, parts => parts.keys_left(registers))
    }
}

impl Filter for Growing {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "growing",
        title: "Growing Bloom filter",
        summary: "Opens a new Bloom filter inside a reserved memory whenever the newest one is \
                  full; a key is tested in all of them.",
        promise: "There are no false negatives, and the false positive rate stays below `fpr` \
                  until the reserve is used up, unless `tighten=off`.",
        choose_when: "The number of keys is not known, not even its order of magnitude.",
        errors: PossibleErrors::FalsePositives,
        needs: Needs::NONE,
        origin: Origin::Literature,
        source: Citation::KOLONIARI_2011,
        advised_because: Descriptor::FEWEST_ERRORS,
        drawing: Drawing {
            before: &["#.##|#.....#."],
            after: &["#.##|#..#..##"],
            caption: "A new key sets its bits in the newest part. When that is full, a larger part \
                      is opened behind it. A key is Seen if one part has all its bits.",
        },
        parameters: &[
            Parameter {
                name: "fpr",
                meaning: "the wanted false positive rate",
                kind: Kind::Decimal {
                    min_millionths: 1,
                    max_millionths: 500_000,
                    default_millionths: 1000,
                },
            },
            Parameter::integer(
                "k",
                "bits set for each key; 0 means as many as are best for the rate",
                0..=32,
                0,
            ),
            Parameter::choice(
                "by",
                "whether a part is full by its set bits (density) or by its keys (cardinality)",
                &["density", "cardinality"],
            ),
            Parameter::choice(
                "tighten",
                "whether the rates of all parts together stay below the wanted rate; if not, each \
                 part reaches it, and all have the same size",
                &["on", "off"],
            ),
            Parameter::integer(
                "part",
                "the cells of the first part, or of each if all have the same size; 0 means 524,288, \
                 or an eighth of the memory if all have the same size",
                0..=1 << 40,
                0,
            ),
            Parameter::choice(
                "layout",
                "whether the bits of a key in a part are in one cache line, or anywhere, which is \
                 slower and needs less memory",
                &["blocked", "shared"],
            ),
            Parameter::integer(
                "span",
                "how long a key is remembered, in units of the clock; 0 means for ever",
                0..=1 << 40,
                0,
            ),
            WindowClock::STEP,
            WindowClock::CLOCK,
        ],
    };

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let parts = match spec.integer("span") {
            0 => Parts::Bits(GrowingBits::build(spec, memory_bits)?),
            _ => Parts::Timers(GrowingTimers::build(spec, memory_bits)?),
        };
        Ok(Growing {
            parts,
            fpr_millionths: spec.millionths("fpr"),
        })
    }

    fn accepts(&self, registers: &Registers) -> bool {
        match &self.parts {
            Parts::Bits(_) => true,
            Parts::Timers(timers) => timers.accepts(registers),
        }
    }

    fn region_bytes(&self) -> u64 {
        parts!(self, parts => parts.region_bytes())
    }

    fn used_bytes(&self, registers: &Registers) -> u64 {
        parts!(self, parts => parts.used_bytes(registers))
    }

    fn cells(&self) -> u64 {
        parts!(self, parts => parts.cells())
    }

    fn recount(&self, region: &[u8]) -> u64 {
        match &self.parts {
            Parts::Bits(bits) => bits.recount(region),
            Parts::Timers(timers) => {
                let in_use = (0..timers.cells()).filter(|&at| timers.cell(region, at) != 0);
                in_use.count() as u64
            }
        }
    }

    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        parts!(self, parts => parts.false_positive_rate(registers))
    }

    fn window(&self) -> Option<&WindowClock> {
        match &self.parts {
            Parts::Bits(_) => None,
            Parts::Timers(timers) => Some(&timers.clock),
        }
    }

    /// One cache line per part, when all parts are open.
    fn cache_lines_touched(&self) -> u32 {
        let per_part = match &self.parts {
            Parts::Bits(bits) if bits.plan.row_cells == 1 => bits.plan.parts[0].k,
            Parts::Timers(timers) if !timers.is_blocked() => timers.k(),
            _ => 1,
        };
        self.most_parts() as u32 * per_part
    }

    fn seen_leaves_state_unchanged(&self) -> bool {
        true
    }

    /// A part that is opened later was never used, and reads as zeros without being loaded.
    fn observe_reads_only_evidence(&self) -> bool {
        matches!(self.parts, Parts::Bits(_))
    }

    #[inline(always)]
    fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        _: Generator,
        observation: Observation,
    ) -> Verdict {
        let fingerprint = observation.fingerprint;
        parts!(self, parts => parts.observe(region, registers, fingerprint))
    }

    fn contains(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) -> Verdict {
        parts!(self, parts => parts.contains(region, registers, fingerprint))
    }

    fn cell_layout(&self) -> CellLayout {
        parts!(self, parts => parts.cell_layout())
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        match &self.parts {
            Parts::Bits(_) => bit(region, index).into(),
            Parts::Timers(timers) => timers.cell(region, index),
        }
    }

    fn evidence(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) -> Evidence {
        parts!(self, parts => parts.evidence(region, registers, fingerprint))
    }

    /// The union of two full parts would have more false positives than promised.
    fn merge(
        &self,
        _: &mut [u8],
        _: &mut Registers,
        _: &[u8],
        _: &Registers,
    ) -> Result<(), &'static str> {
        Err(match self.window() {
            Some(_) => "its cells count time by its own clock, and two clocks differ",
            None => {
                "its parts are full, and the union of two full parts has more false positives than \
                 it promises"
            }
        })
    }

    /// Only parts whose size is given stay the same in a larger reserve.
    fn grown(&self, spec: &FilterSpec, memory_bits: u64) -> Result<(FilterSpec, u64), CannotGrow> {
        let (Parts::Bits(bits), false) = (&self.parts, spec.is_choice("tighten", "on")) else {
            return Err(CannotGrow::Fixed(
                "the sizes and the rates of its parts follow from the memory that is reserved",
            ));
        };
        let larger = GrowingBits::build(spec, memory_bits)
            .ok()
            .filter(|larger| larger.plan.parts.len() > bits.plan.parts.len());
        match larger {
            Some(larger) if larger.plan.parts.starts_with(&bits.plan.parts) => {
                Ok((spec.clone(), memory_bits))
            }
            Some(_) => Err(CannotGrow::Fixed(
                "its parts are a share of the memory; those with a given size (`part`) can be more",
            )),
            None => Err(CannotGrow::NeedsMemory {
                minimum_bits: 8 * self.region_bytes() * (self.most_parts() + 1) / self.most_parts(),
            }),
        }
    }

    #[inline(always)]
    fn prefetch(&self, _: &[u8], _: Generator, _: Fingerprint) {}

    /// Which parts are open depends on the registers.
    #[inline(always)]
    fn prefetch_dependent(
        &self,
        region: &[u8],
        registers: &Registers,
        _: Generator,
        fingerprint: Fingerprint,
    ) {
        parts!(self, parts => parts.prefetch(region, registers, fingerprint));
    }
}

#[cfg(test)]
mod tests {
    use super::super::AnyFilter;
    use crate::lab::{NoClock, Simulation, StreamSpec};
    use crate::{FilterSpec, SeenSet};

    /// Runs a filter over 100,000 observations of 16,850 keys. Returns the number of parts at the
    /// end and the false positive rate over the stream.
    fn run(filter: &str, memory_bits: u64) -> (u64, f64) {
        let stream: StreamSpec = "shuffle:16.85".parse().expect("a stream");
        let spec: FilterSpec = filter.parse().expect("a filter");
        let mut keys = stream.open(100_000, 1);
        let mut simulation = Simulation::for_stream(&keys, 1);
        simulation.add_filter(&spec, memory_bits).expect("small");
        while let Some(arrival) = keys.next_arrival() {
            simulation.push_arrival(&arrival, &NoClock);
        }
        simulation.flush(&NoClock);
        let board = simulation.runs()[0].scoreboard().now();
        assert_eq!(board.false_negatives, 0, "{filter}");
        let set = simulation.runs()[0].set();
        let growth = set
            .filter()
            .growth(set.registers())
            .expect("a growing filter");
        (
            growth.parts,
            board.false_positives as f64 / board.distinct as f64,
        )
    }

    /// The paper's sizes: ten filters of 14,300 bits in place of one of 143,000.
    #[test]
    fn as_printed_ten_parts_exceed_the_wanted_rate_and_tightened_ones_do_not() {
        let printed = "growing:fpr=0.02,k=4,tighten=off,part=14300,layout=shared";
        for by in ["density", "cardinality"] {
            let (parts, rate) = run(&format!("{printed},by={by}"), 20 * 14_300);
            assert_eq!(parts, 10, "{by}");
            assert!((rate - 0.085).abs() < 0.009, "{by}: {rate}");
        }
        for layout in ["blocked", "shared"] {
            for by in ["density", "cardinality"] {
                let filter = format!("growing:fpr=0.02,part=14300,layout={layout},by={by}");
                let (_, rate) = run(&filter, 20 * 14_300);
                assert!(rate < 0.02, "{filter}: {rate}");
            }
        }
    }

    /// The estimate from the counts, summed over fresh keys, is the number of false positives.
    #[test]
    fn the_estimated_rate_is_the_measured_one() {
        for (filter, memory_bits) in [
            ("growing:fpr=0.05,part=8192", 1 << 20),
            ("growing:fpr=0.05,part=8192,by=cardinality", 1 << 20),
            ("growing:fpr=0.05,part=8192,layout=shared", 1 << 20),
            (
                "growing:fpr=0.02,k=4,tighten=off,part=20000,layout=shared",
                1 << 19,
            ),
            ("growing:fpr=0.05,span=6000,clock=count", 1 << 19),
            (
                "growing:fpr=0.05,span=6000,clock=count,by=cardinality",
                1 << 19,
            ),
            (
                "growing:fpr=0.05,span=6000,clock=count,layout=shared",
                1 << 19,
            ),
        ] {
            let builder = SeenSet::builder(filter).expect("a filter");
            let mut set = builder
                .memory_bits(memory_bits)
                .build()
                .expect("enough memory");
            let (mut estimated, mut seen) = (0.0, 0.0);
            for key in 0..60_000u64 {
                if key % 20 == 0 {
                    estimated += 20.0 * set.false_positive_rate();
                }
                seen += f64::from(u8::from(set.observe(key.to_le_bytes()).is_seen()));
            }
            println!("{filter}: {seen}, {estimated}");
            assert!((seen - estimated).abs() < 4.0 * f64::sqrt(seen) + 0.02 * seen);
        }
    }

    /// From a thousand keys to a million, without saying how many: the rate of keys that were never
    /// observed stays below the wanted one, and nothing behind the used bytes is touched.
    #[test]
    fn the_wanted_rate_holds_all_the_way() {
        let builder = SeenSet::builder("growing:fpr=0.01").expect("a filter");
        let mut set = builder.memory("4MiB").build().expect("enough memory");
        let (mut inserted, mut probe) = (0u64, 0u64);
        for end in [
            1000, 10_000, 30_000, 100_000, 200_000, 400_000, 700_000, 1_000_000,
        ] {
            for key in inserted..end {
                set.observe(key.to_le_bytes());
            }
            inserted = end;
            let mut seen = 0;
            for _ in 0..20_000 {
                probe += 1;
                seen += u32::from(set.contains((probe << 40).to_le_bytes()).is_seen());
            }
            // Four standard errors above the wanted rate.
            assert!(seen < 200 + 4 * 14, "{end}: {seen}");
            let AnyFilter::Growing(_) = set.filter() else {
                panic!("a growing filter");
            };
            let used = set.filter().used_bytes(set.registers());
            assert!(set.region()[used..].iter().all(|&byte| byte == 0));
            println!(
                "{end}: {seen} of 20,000, {:?}",
                set.filter().growth(set.registers())
            );
        }
    }
}
