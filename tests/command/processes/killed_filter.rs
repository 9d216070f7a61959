//! Kills `filter` again and again; its output must contain every line.

use std::collections::HashMap;
use std::fs::{self, File};
use std::process::Stdio;
use std::time::Duration;

use dedupstore::SeenSetBuilder;
use dedupstore::rng::Generator;

use super::{create, dedupstore, open_closed, setting, store_path, succeed};

/// The number of kills; `DEDUPSTORE_KILLS` overrides it.
const CYCLES: u64 = 20;
/// The number of distinct lines; half of `DEDUPSTORE_LINES` overrides it.
const DISTINCT: u64 = 300_000;
/// Memory per line: the expected number of false positives is 0.0004 in total, and 0.003 in five
/// million lines.
const BITS_PER_LINE: u64 = 223;
/// The largest number of lines that `filter` prints before it records them.
const BATCH: u64 = 16 << 10;
const SEED: u64 = 1;

/// Returns the input: each line occurs twice, at a distance.
fn lines(distinct: u64) -> Vec<String> {
    let name = |number: u64| format!("https://harbour.example/ships/{number}\n");
    (0..distinct)
        .flat_map(|number| [name(number), name(number.saturating_sub(1000))])
        .collect()
}

#[test]
fn every_line_is_printed_despite_kills() {
    let (directory, store) = store_path();
    let (input, output) = (
        directory.path().join("input"),
        directory.path().join("output"),
    );
    let cycles = setting("DEDUPSTORE_KILLS", CYCLES);
    let distinct = setting("DEDUPSTORE_LINES", 2 * DISTINCT) / 2;
    let lines = lines(distinct);
    fs::write(&input, lines.concat()).expect("written");
    let memory_bytes = 2 * distinct * BITS_PER_LINE / 8;
    create(&store, &memory_bytes.to_string(), "256KiB");
    let random = Generator::from_seed(7);
    let output_bytes = (distinct * lines[0].len() as u64) as f64;
    let run = |threads: u64| {
        let appended = File::options().create(true).append(true).open(&output);
        dedupstore([&"filter".into(), &store, &input])
            .args(["--threads", &threads.to_string()])
            .stdout(Stdio::from(appended.expect("opened")))
            .stderr(Stdio::null())
            .spawn()
            .expect("started")
    };
    let (mut killed, mut torn) = (0, 0);
    for cycle in 0..cycles {
        let chance = (random.draw(2 * cycle) >> 11) as f64 / (1u64 << 53) as f64;
        let target = (output_bytes * (cycle as f64 + chance) / cycles as f64) as u64;
        let mut child = run(1 + cycle % 4);
        let printed = || fs::metadata(&output).map_or(0, |metadata| metadata.len());
        while printed() < target && child.try_wait().expect("status").is_none() {
            std::thread::sleep(Duration::from_micros(100));
        }
        std::thread::sleep(Duration::from_micros(random.draw(2 * cycle + 1) % 2000));
        child.kill().expect("killed");
        killed += u64::from(!child.wait().expect("ended").success());
        torn += u64::from(is_torn(&output));
    }
    assert!(killed >= cycles / 2, "only {killed} runs were killed");
    assert!(run(2).wait().expect("ended").success());

    let printed = fs::read_to_string(&output).expect("text");
    let mut times: HashMap<&str, u64> = HashMap::new();
    for line in printed.split_inclusive('\n') {
        *times.entry(line).or_default() += 1;
    }
    for line in &lines {
        assert!(times.contains_key(line.as_str()), "{line} was not printed");
    }
    let again: u64 = times.values().map(|times| times - 1).sum();
    eprintln!("{killed} kills, {again} lines printed again, {torn} torn");
    assert!(again <= cycles * BATCH, "{again} lines were printed again");
    let last = succeed([&"filter".into(), &store, &input]);
    assert!(last.stdout.is_empty());

    // The bits of a Bloom filter do not depend on how often a key was observed.
    let spec = "bloom:k=4".parse().expect("a filter");
    let mut expected = SeenSetBuilder::new(&spec)
        .memory_bits(8 * memory_bytes)
        .seed(SEED)
        .build()
        .expect("memory");
    for line in &lines {
        expected.observe(line.trim_end().as_bytes());
    }
    assert!(open_closed(&store).filter_region() == expected.region());
}

/// Returns whether the last line is torn. The next run ends it.
fn is_torn(path: &std::path::Path) -> bool {
    fs::read(path).is_ok_and(|bytes| !bytes.is_empty() && !bytes.ends_with(b"\n"))
}
