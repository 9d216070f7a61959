//! `filter` killed again and again, and the reader of its output, who must miss nothing.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use dedupstore::SeenSet;
use dedupstore::rng::Generator;

use super::{create, dedupstore, open_closed, place, setting, succeed};

/// Or as many as `DEDUPSTORE_KILLS` says.
const CYCLES: u64 = 20;
/// Or half of what `DEDUPSTORE_LINES` says.
const DISTINCT: u64 = 300_000;
/// Memory a line: so much that 0.0004 false positives are expected in all, and 0.003 in five
/// million lines.
const BITS_A_LINE: u64 = 223;
/// Lines that `filter` prints before it records them.
const BATCH: u64 = 16 << 10;
const SEED: u64 = 1;

/// Each line comes twice, the second time some way behind the first.
fn lines(distinct: u64) -> Vec<String> {
    let name = |number: u64| format!("https://harbour.example/ships/{number}\n");
    (0..distinct)
        .flat_map(|number| [name(number), name(number.saturating_sub(1000))])
        .collect()
}

#[test]
fn every_line_comes_out_whatever_is_killed() {
    let (directory, store) = place();
    let (input, output) = (
        directory.path().join("input"),
        directory.path().join("output"),
    );
    let cycles = setting("DEDUPSTORE_KILLS", CYCLES);
    let distinct = setting("DEDUPSTORE_LINES", 2 * DISTINCT) / 2;
    let lines = lines(distinct);
    fs::write(&input, lines.concat()).expect("written");
    let memory_bytes = 2 * distinct * BITS_A_LINE / 8;
    create(&store, &memory_bytes.to_string(), "256KiB");
    let random = Generator::from_seed(7);
    let whole = (distinct * lines[0].len() as u64) as f64;
    let run = || {
        let appended = File::options().create(true).append(true).open(&output);
        dedupstore([&"filter".into(), &store, &input])
            .stdout(Stdio::from(appended.expect("opened")))
            .stderr(Stdio::null())
            .spawn()
            .expect("started")
    };
    let (mut killed, mut torn) = (0, 0);
    for cycle in 0..cycles {
        let chance = (random.draw(2 * cycle) >> 11) as f64 / (1u64 << 53) as f64;
        let target = (whole * (cycle as f64 + chance) / cycles as f64) as u64;
        let mut child = run();
        let printed = || fs::metadata(&output).map_or(0, |metadata| metadata.len());
        while printed() < target && child.try_wait().expect("known").is_none() {
            std::thread::sleep(Duration::from_micros(100));
        }
        std::thread::sleep(Duration::from_micros(random.draw(2 * cycle + 1) % 2000));
        child.kill().expect("killed");
        killed += u64::from(!child.wait().expect("ended").success());
        torn += u64::from(end_the_last_line(&output));
    }
    assert!(killed >= cycles / 2, "{killed} runs were cut short");
    assert!(run().wait().expect("ended").success());

    let printed = fs::read_to_string(&output).expect("text");
    let mut times: HashMap<&str, u64> = HashMap::new();
    for line in printed.split_inclusive('\n') {
        *times.entry(line).or_default() += 1;
    }
    for line in &lines {
        assert!(times.contains_key(line.as_str()), "{line} never came out");
    }
    let again: u64 = times.values().map(|times| times - 1).sum();
    eprintln!("{killed} kills, {again} lines printed again, {torn} torn");
    assert!(again <= cycles * BATCH, "{again} lines came again");
    let nothing = succeed([&"filter".into(), &store, &input]);
    assert!(nothing.stdout.is_empty());

    // A Bloom filter's bits do not depend on how often a key came.
    let spec = "bloom:k=4".parse().expect("a filter");
    let mut expected = SeenSet::in_memory(&spec, 8 * memory_bytes, SEED).expect("memory");
    for line in &lines {
        expected.observe(line.trim_end().as_bytes());
    }
    assert!(open_closed(&store).filter_region() == expected.region());
}

/// A kill may tear what was being written; a careful reader starts a new line.
fn end_the_last_line(path: &std::path::Path) -> bool {
    let torn = fs::read(path).is_ok_and(|bytes| !bytes.is_empty() && !bytes.ends_with(b"\n"));
    if torn {
        let mut file = File::options().append(true).open(path).expect("opened");
        file.write_all(b"\n").expect("ended");
    }
    torn
}
