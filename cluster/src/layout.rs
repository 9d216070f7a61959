//! What is recorded about a store under its name.
//!
//! Every client must divide keys in the same way, so the layout is recorded once, when the store is
//! created, and read by all. It is one JSON object, in three copies a third of the hash slots apart:
//! one live copy is enough to open the store.

use dedupstore::FilterSpec;
use dedupstore::HashScheme;
use dedupstore::sites::{FailureRule, Slicing};
use serde_json::{Value, json};

use crate::cell_plan::CellPlan;
use crate::error::ClusterError;
use crate::hash_slot::{SLOTS, slot_of, tag_of};
use crate::window::Window;

/// The version of the layout. A change of the keys, of the cells, or of the meaning of a field is a
/// new version.
const VERSION: u64 = 1;
/// The version of layouts with a window, which programs that know version 1 must not read.
const WINDOW_VERSION: u64 = 2;
/// How many copies of the layout there are.
const COPIES: u16 = 3;
/// The most slices: more than this are no use, and each costs a request per batch.
const MOST_SLICES: u64 = 4096;
/// The bits of the header of a slice.
pub(crate) const HEADER_BITS: u64 = 64;
/// The longest string that Redis allows, in bytes.
const LONGEST_STRING: u64 = 512 << 20;
/// What a slice has beside its cells: its header, and what Redis puts before and after a string.
const OVERHEAD_BYTES: u64 = 48;

/// How several producers are kept from both being told New.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// `atomic`: one command tests and sets. With horizontal slices, exactly one producer is told
    /// New. With vertical slices, each of two can be the first at one of the slices.
    Atomic,
    /// `claim`: a new key is claimed by `SET NX PX` before it is recorded.
    Claim,
}

impl Recording {
    const fn name(self) -> &'static str {
        match self {
            Recording::Atomic => "atomic",
            Recording::Claim => "claim",
        }
    }
}

/// What is recorded about a store under its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// A random number that tells this store from another one of the same name.
    pub id: u64,
    /// The seed of the hash.
    pub seed: u64,
    /// The filter: `slot` or `bloom`.
    pub filter: FilterSpec,
    /// The memory of all slices; with a window, of all its generations together.
    pub memory_bits: u64,
    /// How long a key is remembered; for ever if there is no window.
    pub window: Option<Window>,
    /// How the filter is divided.
    pub slicing: Slicing,
    /// What is decided about a key if slices do not answer.
    pub rule: FailureRule,
    /// How several producers are kept from both being told New.
    pub recording: Recording,
    /// How callers find keys in lines: the text of a rule. Empty if nothing is recorded.
    pub key: String,
    /// When the store was created, in seconds since 1970.
    pub created_unix_seconds: u64,
}

/// The options of a new store.
#[derive(Clone, Debug)]
pub struct CreateOptions {
    /// The filter: `slot:values=V`, where V + 1 is a power of two, or `bloom:k=K`.
    pub filter: FilterSpec,
    /// The memory of all slices; with a window, of all its generations together.
    pub memory_bits: u64,
    /// How long a key is remembered; for ever if there is no window. Needs horizontal slices.
    pub window: Option<Window>,
    /// How the filter is divided.
    pub slicing: Slicing,
    /// What is decided about a key if slices do not answer.
    pub rule: FailureRule,
    /// How several producers are kept from both being told New; the default is atomic for
    /// horizontal slices and claims for the others.
    pub recording: Option<Recording>,
    /// The seed of the hash; random unless given.
    pub seed: Option<u64>,
    /// How callers find keys in lines; only recorded.
    pub key: String,
}

impl CreateOptions {
    /// Returns the memory for cells if the slices take at most so many bytes. The allocator of Redis
    /// gives a string one of few sizes, so the cells of a slice get the largest size that fits, less
    /// what the slice has beside them.
    pub fn bits_in(bytes: u64, slicing: Slicing, window: Option<Window>) -> u64 {
        let generations = window.map_or(1, Window::generations);
        let strings = slicing.sites().unwrap_or(0).saturating_mul(generations);
        let string = bytes.min(u64::MAX / 8) / strings.max(1);
        8 * strings.saturating_mul(allocated_size(string).saturating_sub(OVERHEAD_BYTES))
    }
}

/// Returns the largest size of an allocation that is not larger than this: jemalloc, which Redis
/// and Valkey use, has four sizes from each power of two to the next.
fn allocated_size(bytes: u64) -> u64 {
    let step = (bytes.max(1).next_power_of_two() / 8).max(1);
    let step = if bytes.is_power_of_two() { 1 } else { step };
    bytes / step * step
}

impl Layout {
    /// Returns the layout of a new store.
    pub(crate) fn of(options: &CreateOptions, id: u64, now: u64) -> Result<Self, ClusterError> {
        let is_horizontal = matches!(options.slicing, Slicing::Horizontal { .. });
        let default = match is_horizontal {
            true => Recording::Atomic,
            false => Recording::Claim,
        };
        let layout = Layout {
            // The highest bit is left out, so that no header is negative; zero is no header.
            id: (id >> 1) | 1,
            seed: options.seed.unwrap_or(id.rotate_left(32) ^ now),
            filter: options.filter.clone(),
            memory_bits: options.memory_bits,
            window: options.window,
            slicing: options.slicing,
            rule: options.rule,
            recording: options.recording.unwrap_or(default),
            key: options.key.clone(),
            created_unix_seconds: now,
        };
        layout.plan()?;
        Ok(layout)
    }

    /// Returns where the cells of keys are. Fails if the layout is impossible.
    pub(crate) fn plan(&self) -> Result<CellPlan, ClusterError> {
        let impossible = |reason: String| Err(ClusterError::Impossible(reason));
        let sites = self.slicing.sites().unwrap_or(u64::MAX);
        if !(1..=MOST_SLICES).contains(&sites) {
            return impossible(format!(
                "{} has {sites} slices; there must be 1 to {MOST_SLICES}",
                self.slicing
            ));
        }
        let is_horizontal = matches!(self.slicing, Slicing::Horizontal { .. });
        if self.window.is_some() && !is_horizontal {
            return impossible(format!(
                "a store with a window has horizontal slices, not {}; choose horizontal:N",
                self.slicing
            ));
        }
        let generations = self.window.map_or(1, Window::generations);
        let plan = CellPlan::new(&self.filter, self.slicing, self.memory_bits / generations)?;
        let largest = (0..plan.sites()).map(|site| plan.site_bits(site)).max();
        let bytes = (largest.unwrap_or(0) + HEADER_BITS).div_ceil(8) + 1;
        if bytes > LONGEST_STRING {
            let needed = (self.memory_bits / generations / 8).div_ceil(LONGEST_STRING - 9);
            return impossible(format!(
                "a slice would have {bytes} bytes, and a Redis string has at most \
                 {LONGEST_STRING}; divide the memory among at least {needed} slices"
            ));
        }
        Ok(plan)
    }

    /// Returns the number of cells of a key: k of a Bloom filter, 1 of a table of slots.
    pub fn cells_per_key(&self) -> u64 {
        self.plan().map_or(1, |plan| plan.cells_per_key() as u64)
    }

    /// Returns the text that is recorded.
    pub fn to_json(&self) -> String {
        let mut object = json!({
            "dedupstore": self.window.map_or(VERSION, |_| WINDOW_VERSION),
            "id": format!("{:016x}", self.id),
            "scheme": HashScheme::default().id(),
            "seed": self.seed,
            "filter": self.filter.to_string(),
            "memory_bits": self.memory_bits,
            "slices": self.slicing.to_string(),
            "rule": self.rule.to_string(),
            "recording": self.recording.name(),
            "key": self.key,
            "created_unix_seconds": self.created_unix_seconds,
        });
        if let Some(window) = self.window {
            object["step_milliseconds"] = json!(window.step().as_millis() as u64);
            object["steps"] = json!(window.steps());
        }
        object.to_string()
    }

    /// Reads the text that is recorded. Returns what is wrong with it otherwise.
    pub fn parse(text: &str) -> Result<Self, String> {
        let object: Value = serde_json::from_str(text)
            .map_err(|_| "it is no JSON; another program may use this key".to_owned())?;
        let number = |name: &str| {
            let value = object.get(name).and_then(Value::as_u64);
            value.ok_or_else(|| format!("`{name}` is missing or no number"))
        };
        let words = |name: &str| {
            let value = object.get(name).and_then(Value::as_str);
            value.ok_or_else(|| format!("`{name}` is missing or no text"))
        };
        let version = number("dedupstore")?;
        if !(VERSION..=WINDOW_VERSION).contains(&version) {
            return Err(format!(
                "it has version {version}, and this program knows the versions {VERSION} to \
                 {WINDOW_VERSION}; use the version of dedupstore that created the store"
            ));
        }
        let scheme = number("scheme")?;
        let known = u32::try_from(scheme).ok().and_then(HashScheme::from_id);
        known.ok_or_else(|| format!("this program does not know the hash scheme {scheme}"))?;
        let id = u64::from_str_radix(words("id")?, 16).ok();
        let layout = Layout {
            id: id
                .filter(|&it| it != 0 && it >> 63 == 0)
                .ok_or("`id` is no identifier")?,
            seed: number("seed")?,
            filter: words("filter")?
                .parse()
                .map_err(|error| format!("{error}"))?,
            memory_bits: number("memory_bits")?,
            window: match version {
                WINDOW_VERSION => {
                    let (step, steps) = (number("step_milliseconds")?, number("steps")?);
                    Some(Window::of_milliseconds(step, steps)?)
                }
                _ => None,
            },
            slicing: words("slices")?
                .parse()
                .map_err(|error| format!("{error}"))?,
            rule: words("rule")?.parse().map_err(|error| format!("{error}"))?,
            recording: match words("recording")? {
                "atomic" => Recording::Atomic,
                "claim" => Recording::Claim,
                other => return Err(format!("this program does not know `{other}`")),
            },
            key: words("key")?.to_owned(),
            created_unix_seconds: number("created_unix_seconds")?,
        };
        layout.plan().map_err(|error| error.to_string())?;
        Ok(layout)
    }
}

impl Recording {
    /// Returns the recording of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        [Recording::Atomic, Recording::Claim]
            .into_iter()
            .find(|it| it.name() == name)
    }
}

impl std::fmt::Display for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A Redis key with its hash slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RedisKey {
    pub text: String,
    pub slot: u16,
}

/// Returns the Redis key of a part of a store, in a given hash slot.
fn redis_key(name: &str, slot: u16, part: &str) -> RedisKey {
    RedisKey {
        text: format!("dds:{{{}}}:{name}:{part}", tag_of(slot)),
        slot,
    }
}

/// Returns the slot at a share of the way around from the slot of a name. Stores begin at
/// different slots, so their first slices are not all on one node.
fn slot_at(name: &str, index: u64, of: u64) -> u16 {
    let distance = index * u64::from(SLOTS) / of;
    ((u64::from(slot_of(name.as_bytes())) + distance) % u64::from(SLOTS)) as u16
}

/// Returns the keys of the copies of the layout.
pub(crate) fn layout_keys(name: &str) -> Vec<RedisKey> {
    let copies = u64::from(COPIES);
    let key = |copy| redis_key(name, slot_at(name, copy, copies), "layout");
    (0..copies).map(key).collect()
}

/// Returns the key of the counters.
pub(crate) fn counter_key(name: &str) -> RedisKey {
    redis_key(name, slot_at(name, 0, 1), "counts")
}

/// Returns the key of a slice.
pub(crate) fn slice_key(name: &str, slice: u64, slices: u64) -> RedisKey {
    redis_key(name, slot_at(name, slice, slices), &slice.to_string())
}

/// Returns the key of a generation of a slice: of what is recorded in one step.
pub(crate) fn generation_key(slice: &RedisKey, step: u64) -> RedisKey {
    RedisKey {
        text: format!("{}@{step}", slice.text),
        slot: slice.slot,
    }
}

/// Returns the key of a claim, in the hash slot of a slice.
pub(crate) fn claim_key(name: &str, slot: u16, fingerprint: u64) -> RedisKey {
    redis_key(name, slot, &format!("claim:{fingerprint:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn options(filter: &str, slicing: &str, memory_bits: u64) -> CreateOptions {
        CreateOptions {
            filter: filter.parse().expect("a filter"),
            memory_bits,
            window: None,
            slicing: slicing.parse().expect("a slicing"),
            rule: FailureRule::Unknown,
            recording: None,
            seed: Some(7),
            key: String::new(),
        }
    }

    #[test]
    fn a_layout_is_read_as_it_was_written() {
        for (filter, slicing) in [
            ("slot:values=65535", "horizontal:16"),
            ("bloom:k=4", "vertical:5"),
            ("bloom:k=4", "diced:4x2"),
        ] {
            let layout = Layout::of(&options(filter, slicing, 1 << 20), u64::MAX, 5);
            let layout = layout.expect("possible");
            assert_eq!(Layout::parse(&layout.to_json()), Ok(layout));
        }
        let mut options = options("bloom:k=4", "horizontal:5", 1 << 20);
        options.window = Window::of_span(std::time::Duration::from_secs(3600)).ok();
        let layout = Layout::of(&options, 9, 5).expect("possible");
        assert!(layout.to_json().contains("\"dedupstore\":2"));
        assert_eq!(Layout::parse(&layout.to_json()), Ok(layout.clone()));
        let error = Layout::parse(&layout.to_json().replace("\"steps\":8", "\"steps\":0"));
        assert!(error.expect_err("none").contains("1 to 64 steps"));
    }

    #[test]
    fn another_version_or_damage_is_named() {
        let layout = Layout::of(&options("bloom:k=4", "vertical:5", 1 << 20), 9, 5);
        let text = layout.expect("possible").to_json();
        for (from, to, reason) in [
            ("\"dedupstore\":1", "\"dedupstore\":3", "version 3"),
            (
                "\"dedupstore\":1",
                "\"dedupstore\":2",
                "`step_milliseconds`",
            ),
            ("\"scheme\":1", "\"scheme\":9", "scheme 9"),
            ("vertical:5", "vertical:0", "slices"),
            ("bloom:k=4", "stable", "stable"),
            ("\"seed\":7", "\"seed\":true", "`seed`"),
            ("{", "[", "no JSON"),
            ("unknown", "whatever", "whatever"),
            ("1048576", "0", ""),
        ] {
            let error = Layout::parse(&text.replacen(from, to, 1)).expect_err(from);
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn impossible_layouts_say_why() {
        let impossible = |filter: &str, slicing: &str, bits: u64| {
            let layout = Layout::of(&options(filter, slicing, bits), 9, 5);
            layout.expect_err("impossible").to_string()
        };
        let error = impossible("slot:values=65535", "horizontal:2", 16 << 33);
        assert!(error.contains("at least 33 slices"), "{error}");
        let error = impossible("slot:values=65535", "vertical:4", 1 << 20);
        assert!(error.contains("horizontal"), "{error}");
        let error = impossible("slot:values=10", "horizontal:4", 1 << 20);
        assert!(error.contains("power of two"), "{error}");
        let error = impossible("stable", "horizontal:4", 1 << 20);
        assert!(error.contains("slot") && error.contains("bloom"), "{error}");
        let error = impossible("bloom:k=4", "horizontal:5000", 1 << 20);
        assert!(error.contains("1 to 4096"), "{error}");
        let mut vertical = options("bloom:k=4", "vertical:5", 1 << 20);
        vertical.window = Window::of_span(std::time::Duration::from_secs(3600)).ok();
        let error = Layout::of(&vertical, 9, 5).expect_err("impossible");
        assert!(error.to_string().contains("horizontal:N"), "{error}");
    }

    #[test]
    fn slices_fit_into_what_the_allocator_gives() {
        for (bytes, size) in [
            (0, 0),
            (50_000, 49_152),
            (57_343, 49_152),
            (57_344, 57_344),
            (65_535, 57_344),
            (65_536, 65_536),
            (62_500_000, 58_720_256),
        ] {
            assert_eq!(allocated_size(bytes), size);
        }
        let slicing = Slicing::Horizontal { slices: 16 };
        let bits = |bytes| CreateOptions::bits_in(bytes, slicing, None);
        assert_eq!(bits(64 << 20), 8 * ((64 << 20) - 16 * OVERHEAD_BYTES));
        assert_eq!(bits(800_000), 8 * 16 * (49_152 - OVERHEAD_BYTES));
        assert_eq!((bits(100), bits(0)), (0, 0));
    }

    #[test]
    fn slices_spread_evenly_over_the_hash_slots() {
        for name in ["links", "pages", "a{b}c", "x}y"] {
            for (slices, nodes) in [(16u64, 6u64), (16, 3), (100, 7), (4, 4)] {
                let mut per_node = vec![0u64; nodes as usize];
                for slice in 0..slices {
                    let key = slice_key(name, slice, slices);
                    assert_eq!(slot_of(key.text.as_bytes()), key.slot);
                    per_node[(u64::from(key.slot) * nodes / u64::from(SLOTS)) as usize] += 1;
                }
                let (least, most) = (per_node.iter().min(), per_node.iter().max());
                assert!(most <= least.map(|it| it + 1).as_ref(), "{per_node:?}");
            }
            let copies = layout_keys(name);
            assert_eq!(copies.len(), 3);
            assert!(
                copies
                    .iter()
                    .all(|key| slot_of(key.text.as_bytes()) == key.slot)
            );
        }
        let claim = claim_key("links", 77, 5);
        assert_eq!(slot_of(claim.text.as_bytes()), 77);
    }
}
