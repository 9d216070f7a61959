//! Removing keys from a filter.

use dedupstore::{FilterSpec, SeenSetBuilder, Verdict};

const SEED: u64 = 9;

/// The counters are wide enough that none reaches its maximum.
#[test]
fn removing_all_new_keys_leaves_an_empty_filter() {
    let spec: FilterSpec = "counting:bits=8".parse().expect("a filter");
    let mut set = SeenSetBuilder::new(&spec)
        .memory_bits(80_000)
        .seed(SEED)
        .build()
        .expect("small");
    let keys: Vec<[u8; 4]> = (0..2000u32).map(u32::to_le_bytes).collect();
    let new: Vec<_> = keys
        .iter()
        .filter(|key| set.observe(*key) == Verdict::New)
        .collect();
    let (removed, kept) = new.split_at(1000);
    for key in removed {
        assert_eq!(set.forget(*key), Ok(Verdict::Seen));
    }
    assert!(kept.iter().all(|key| set.contains(*key) == Verdict::Seen));
    for key in kept {
        assert_eq!(set.forget(*key), Ok(Verdict::Seen));
    }
    assert!(set.region().iter().all(|&byte| byte == 0));
    assert_eq!(set.load(), 0.0);
}

#[test]
fn a_filter_that_cannot_forget_names_those_that_can() {
    let spec: FilterSpec = "bloom".parse().expect("a filter");
    let mut set = SeenSetBuilder::new(&spec)
        .memory_bits(8000)
        .seed(SEED)
        .build()
        .expect("small");
    let error = set.forget(b"a").expect_err("it cannot");
    assert_eq!(
        error.to_string(),
        "bloom cannot forget a key; these filters can: counting, quotient"
    );
}
