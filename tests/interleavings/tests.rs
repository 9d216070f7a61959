//! The exploration of interleavings, limited to the time of a test.

use dedupstore_interleavings::exploration::explore;

#[test]
fn no_interleaving_breaks_a_promise() {
    let started = std::time::Instant::now();
    let from: u64 = std::env::var("FROM").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let n: u64 = std::env::var("N").ok().and_then(|s| s.parse().ok()).unwrap_or(1000);
    if let Ok(m) = std::env::var("MUTANT") {
        for mutant in dedupstore::store::mutant::Mutant::CONCURRENT {
            if format!("{mutant:?}").contains(&m) {
                dedupstore::store::mutant::plant(Some(mutant));
                println!("\n{mutant:?} {:?} {:?}", explore(from..from+n), started.elapsed());
            }
        }
        return;
    }
    let explored = explore(from..from+n);
    println!("\n{explored:?} {:?}", started.elapsed());
    assert!(explored.is_ok());
}
