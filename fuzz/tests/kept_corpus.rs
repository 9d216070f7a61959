//! Every target, from its kept corpus with a fixed seed: a short version of `cargo xtask fuzz`.

use std::sync::Mutex;
use std::time::Duration;

use dedupstore_fuzz::{Campaign, TARGETS, Target, corpus, execute, record_panics};

/// The executions of a target that only parses. Those of stores are slower.
const EXECUTIONS: u64 = 8000;
const STORE_EXECUTIONS: u64 = 60;
const STORE_TARGETS: [&str; 6] = [
    "superblock",
    "parameters",
    "frames",
    "mark",
    "image",
    "file_sizes",
];

fn executions(target: &Target, inputs: usize) -> u64 {
    match STORE_TARGETS.contains(&target.name) {
        true => STORE_EXECUTIONS.max(inputs as u64),
        false => EXECUTIONS + inputs as u64,
    }
}

/// Runs a function for every target, on two threads.
fn for_every_target(run: impl Fn(&Target) + Sync) {
    let targets = Mutex::new(TARGETS.iter());
    let work = || {
        loop {
            let next = targets.lock().expect("not poisoned").next();
            match next {
                Some(target) => run(target),
                None => return,
            }
        }
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(work);
        work();
        other.join().expect("no panic");
    });
}

/// Panics are recorded and not printed, so failures are printed here.
fn fail_if_any(failures: Mutex<Vec<String>>) {
    let failures = failures.into_inner().expect("not poisoned");
    failures.iter().for_each(|failure| println!("{failure}"));
    assert!(failures.is_empty());
}

/// Inputs of a campaign are too short to show a time that grows with the square of their length.
#[test]
fn long_inputs_take_time_and_memory_in_proportion() {
    const BYTES: usize = 128 << 10;
    record_panics();
    let failures = Mutex::new(Vec::new());
    for_every_target(|target| {
        // The files of a store have their own sizes.
        if STORE_TARGETS.contains(&target.name) || target.name == "filter_state" {
            return;
        }
        let words = target
            .dictionary
            .iter()
            .map(|word| word.as_bytes().to_vec());
        for unit in (target.seeds)().into_iter().chain(words) {
            let input = unit.repeat(BYTES.div_ceil(unit.len().max(1)));
            if let Err(failure) = execute(target, &input) {
                let text = format!("{}: {failure}\n  {}", target.name, unit.escape_ascii());
                failures.lock().expect("not poisoned").push(text);
            }
        }
    });
    fail_if_any(failures);
}

#[test]
fn hostile_bytes_cause_no_panic_and_no_large_allocation() {
    record_panics();
    let total = Mutex::new(0);
    let failures = Mutex::new(Vec::new());
    for_every_target(|target| {
        let inputs = corpus::load(target).expect("the corpus").len();
        let campaign = Campaign {
            seed: 7,
            executions: executions(target, inputs),
            time: Duration::MAX,
            guided: false,
        };
        let report = campaign.run(target).expect("the corpus");
        *total.lock().expect("not poisoned") += report.executions;
        for (input, failure) in report.failed {
            let text = format!("{}: {failure}\n  {}", target.name, input.escape_ascii());
            failures.lock().expect("not poisoned").push(text);
        }
    });
    fail_if_any(failures);
    let total = total.into_inner().expect("not poisoned");
    assert!(total >= 100_000, "{total} executions");
}
