//! Every filter of the registry at many parameters. Filters with a window have a grid of their own,
//! because they are right if they forget; so have filters that weigh keys by importance.
//!
//! The list is independent of the adviser's candidates, so that the adviser cannot look better
//! by considering fewer configurations.

use dedupstore::FilterSpec;

/// Returns all configurations.
pub fn grid() -> Vec<FilterSpec> {
    let mut texts = bits();
    texts.extend(fingerprints());
    texts.extend(papers());
    let parsed = texts.iter().map(|text| text.parse());
    parsed.map(|it| it.expect("a filter")).collect()
}

/// Returns all configurations of filters with a window of so many seconds.
pub fn window_grid(span: u64) -> Vec<FilterSpec> {
    let mut texts = Vec::new();
    for k in [1, 2, 3, 4, 5, 6, 8, 10, 13] {
        texts.push(format!("window:k={k},span={span}"));
        texts.push(format!("window:k={k},span={span},layout=blocked"));
    }
    let bits = [4, 6, 8, 10, 12, 14, 16, 20, 24, 32];
    texts.extend(bits.map(|bits| format!("stamped:bits={bits},span={span}")));
    let k = [2, 3, 4, 5, 6, 8, 10, 12, 15];
    texts.extend(k.map(|k| format!("apbf:k={k},span={span}")));
    let parsed = texts.iter().map(|text| text.parse());
    parsed.map(|it| it.expect("a filter")).collect()
}

/// Returns all configurations of filters that weigh keys by importance.
pub fn importance_grid() -> Vec<FilterSpec> {
    /// K and P of the paper's filters.
    const SIZES: [(u64, u64); 4] = [(1, 3), (1, 7), (4, 3), (4, 7)];
    let mut texts: Vec<String> = Vec::new();
    for preset in ["ibf1", "ibf2", "ibf3", "ibf4", "ibf5", "ibf6"] {
        texts.extend(SIZES.map(|(k, p)| format!("{preset}:k={k},p={p},max=4")));
    }
    for share in [10, 25] {
        for order in ["fifo", "random"] {
            let cache = format!("share={share},order={order}");
            texts.extend(SIZES.map(|(k, p)| format!("reinsert:k={k},p={p},max=4,{cache}")));
        }
    }
    texts.extend([1, 2, 3, 4, 6, 8].map(|k| format!("admit:k={k}")));
    let parsed = texts.iter().map(|text| text.parse());
    parsed.map(|it| it.expect("a filter")).collect()
}

/// Filters that set bits and rarely or never clear them.
fn bits() -> Vec<String> {
    let mut texts = Vec::new();
    for k in [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24] {
        texts.push(format!("bloom:k={k}"));
        texts.extend([50, 60, 70, 85, 100].map(|cap| format!("blocked:k={k},cap={cap}")));
    }
    for k in [2, 4, 6, 8] {
        texts.extend([50, 70, 85, 100].map(|cap| format!("split:k={k},cap={cap}")));
    }
    texts.extend([2, 5].map(|k| format!("bloom:k={k},layout=partitioned")));
    texts.extend([1, 2, 3].map(|k| format!("counting:k={k},bits=2")));
    for fpr in [0.0001, 0.001, 0.01, 0.1, 0.3] {
        texts.extend([0, 8192].map(|part| format!("growing:fpr={fpr},part={part}")));
    }
    for k in [1, 2, 3, 4, 6, 9, 12] {
        texts.extend([35, 50, 70].map(|fill| format!("aging:k={k},fill={fill}")));
    }
    texts
}

/// Filters that keep fingerprints. All but `quotient` evict the oldest.
fn fingerprints() -> Vec<String> {
    // A slot with one value is one bit, and the filter is `bloom:k=1`.
    let mut texts: Vec<String> = [2, 3, 5, 7, 10, 15, 22, 31, 63, 127, 255, 1023, 4095, 65_535]
        .map(|values| format!("slot:values={values}"))
        .to_vec();
    for bits in [2, 3, 4, 5, 6, 8, 10, 12, 16, 21, 32] {
        let fields = 64 / bits;
        for insert in [0, fields / 4, fields / 2, 3 * fields / 4] {
            texts.push(format!("word:bits={bits},insert={insert}"));
        }
        texts.push(format!("word:bits={bits},insert={},hit=up", fields / 2));
    }
    for bits in [4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 32] {
        texts.extend([0, 2, 4, 6].map(|insert| format!("recent:bits={bits},insert={insert}")));
    }
    for bits in [1, 2, 4, 6, 9, 11, 13, 16, 20, 28] {
        texts.push(format!("quotient:bits={bits}"));
    }
    for policy in ["lru", "clock"] {
        texts.push(format!("buffer:policy={policy}"));
    }
    texts.extend([0.01, 0.1, 0.4].map(|q| format!("fpbuffer:q={q}")));
    texts
}

/// Filters of the papers.
fn papers() -> Vec<String> {
    let mut texts = Vec::new();
    for k in [1, 2, 3, 4, 6] {
        for name in ["rlbsbf", "bsbf", "bsbfsd", "rsbf"] {
            texts.push(format!("{name}:k={k}"));
        }
    }
    for k in [1, 2, 3, 5] {
        for (p, max) in [(1, 1), (2, 1), (4, 1), (10, 1), (10, 3), (30, 7)] {
            texts.push(format!("stable:k={k},p={p},max={max}"));
        }
    }
    for (r, kept, k) in [(2, 1, 2), (2, 1, 4), (4, 2, 4), (6, 3, 4), (8, 5, 4)] {
        texts.push(format!("sqf:r={r},rr={kept},k={k}"));
        texts.push(format!("dsqf:r={r},rr={kept},k={k}"));
    }
    texts
}
