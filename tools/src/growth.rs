//! Measures how filters grow: memory in use, lookups and errors against the number of keys.

use dedupstore::{FilterSpec, Observation, SeenSet, SeenSetBuilder, Verdict};

/// How many keys that were never observed are looked up at each point.
const PROBES: u64 = 400_000;

/// Bits per key of a Bloom filter that is made for the right number of keys: 1/ln 2 · log2(1/P).
pub fn bloom_bits_per_key(rate: f64) -> f64 {
    -rate.log2() / std::f64::consts::LN_2
}

/// A filter in a reserve, and the numbers of keys at which it is measured.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The filter, in its text form.
    pub filter: String,
    /// The reserve in bytes.
    pub reserve_bytes: u64,
    /// The last number of keys.
    pub most_keys: u64,
}

/// The state with a number of keys.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The number of distinct keys so far.
    pub keys: u64,
    /// The memory in use, divided by the keys.
    pub bits_per_key: f64,
    /// The largest such number after any batch since the point before.
    pub most_bits_per_key: f64,
    /// The largest number of parts that a lookup tests.
    pub parts: u64,
    /// The share of keys that were never observed and are reported as Seen.
    pub fpr: f64,
    /// The false positive rate that the filter states about itself.
    pub stated_fpr: f64,
}

/// Feeds distinct keys and measures at 1, 2 and 5 times every power of ten from a thousand on, and
/// at the end. Calls `done` after each point.
pub fn run(campaign: &Campaign, mut done: impl FnMut(&Point)) -> Vec<Point> {
    let spec: FilterSpec = campaign.filter.parse().expect("a filter");
    let builder = SeenSetBuilder::new(&spec).memory_bits(8 * campaign.reserve_bytes);
    let mut set = builder.seed(1).build().expect("enough memory");
    let round = (3..).flat_map(|power| [1, 2, 5].map(|digit| digit * 10u64.pow(power)));
    let round = round.take_while(|&keys| keys < campaign.most_keys);
    let mut points = Vec::new();
    let mut keys = 0;
    for end in round.chain([campaign.most_keys]) {
        let most_bits_per_key = feed(&mut set, keys..end);
        keys = end;
        let growth = set
            .filter()
            .growth(set.registers())
            .expect("a growing filter");
        let point = Point {
            keys,
            bits_per_key: 8.0 * growth.used_bytes as f64 / keys as f64,
            most_bits_per_key,
            parts: growth.parts,
            fpr: probe(&set, points.len() as u64),
            stated_fpr: set.false_positive_rate(),
        };
        done(&point);
        points.push(point);
    }
    points
}

/// Feeds keys. Returns the largest number of bits per key after a batch.
fn feed(set: &mut SeenSet, keys: std::ops::Range<u64>) -> f64 {
    const BATCH: usize = 1024;
    let mut most = 0.0f64;
    let mut observations: Vec<Observation> = Vec::with_capacity(BATCH);
    let mut verdicts = vec![Verdict::New; BATCH];
    let mut next = keys.start;
    while next < keys.end {
        let end = keys.end.min(next + BATCH as u64);
        observations.clear();
        let fingerprints = (next..end).map(|key| set.hasher().fingerprint(&key.to_le_bytes()));
        observations.extend(fingerprints.map(Observation::from));
        set.observe_batch(&observations, &mut verdicts[..observations.len()]);
        next = end;
        let used = set.filter().used_bytes(set.registers());
        most = most.max(8.0 * used as f64 / end as f64);
    }
    most
}

/// Looks up keys that are different at every point, and that are never observed.
fn probe(set: &SeenSet, point: u64) -> f64 {
    let first = u64::MAX - (point + 1) * PROBES;
    let seen = (first..first + PROBES).filter(|key| set.contains(key.to_le_bytes()).is_seen());
    seen.count() as f64 / PROBES as f64
}

/// Returns a line of the table.
pub fn row(point: &Point, rate: f64) -> String {
    format!(
        "| {} | {:.1} | {:.2} | {:.2} | {} | {:.4} % | {:.4} % |",
        point.keys,
        point.bits_per_key,
        point.bits_per_key / bloom_bits_per_key(rate),
        point.most_bits_per_key / bloom_bits_per_key(rate),
        point.parts,
        100.0 * point.fpr,
        100.0 * point.stated_fpr,
    )
}

/// The head of the table.
pub const HEAD: &str = "\
| keys | bits per key in use | × Bloom | × Bloom at most | parts | FPR measured | FPR stated |
|---|---|---|---|---|---|---|";
