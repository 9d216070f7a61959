//! Kills `filter` while its store grows, and `grow` at any moment: nothing recorded is lost.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use dedupstore::rng::Generator;
use dedupstore::store::{ReadOnlyStore, leftovers, verify};

use super::{dedupstore, setting, store_path, succeed};

/// The number of kills; `DEDUPSTORE_KILLS` overrides it.
const KILLS: u64 = 6;
const LINES: u64 = 200_000;

fn line(number: u64) -> String {
    format!("https://harbour.example/ships/{number}\n")
}

/// Creates a store whose first table is small. The seed is fixed, so that every store drops the same
/// few keys.
fn create_growing(store: &Path, size: &str) {
    let store = store.to_str().expect("text");
    let log = ["--log-size", "256KiB", "--seed", "1"];
    let growth = ["--grow-to", size, "--fpr", "0.000001"];
    succeed(["create", store].into_iter().chain(growth).chain(log));
}

#[test]
fn a_store_that_grows_loses_nothing_despite_kills() {
    let (directory, store) = store_path();
    let (input, output) = (
        directory.path().join("input"),
        directory.path().join("output"),
    );
    let lines: String = (0..LINES).map(line).collect();
    fs::write(&input, &lines).expect("written");
    create_growing(&store, "16MiB");
    let undisturbed = directory.path().join("undisturbed.dds");
    create_growing(&undisturbed, "16MiB");
    let expected = succeed([&"filter".into(), &undisturbed, &input]).stdout;
    let expected = String::from_utf8(expected).expect("text");
    let random = Generator::from_seed(9);
    let kills = setting("DEDUPSTORE_KILLS", KILLS);
    let run = || {
        let appended = File::options().create(true).append(true).open(&output);
        dedupstore([&"filter".into(), &store, &input])
            .stdout(Stdio::from(appended.expect("opened")))
            .stderr(Stdio::null())
            .spawn()
            .expect("started")
    };
    let mut killed = 0;
    for kill in 0..kills {
        let target = lines.len() as u64 * kill / kills + random.draw(2 * kill) % 50_000;
        let mut child = run();
        let printed = || fs::metadata(&output).map_or(0, |metadata| metadata.len());
        while printed() < target && child.try_wait().expect("status").is_none() {
            std::thread::sleep(Duration::from_micros(100));
        }
        std::thread::sleep(Duration::from_micros(random.draw(2 * kill + 1) % 2000));
        child.kill().expect("killed");
        killed += u64::from(!child.wait().expect("ended").success());
        assert_eq!(
            verify(&store)
                .expect("read")
                .into_iter()
                .find(|it| it.is_damage()),
            None
        );
    }
    assert!(killed >= kills / 2, "only {killed} runs were killed");
    assert!(run().wait().expect("ended").success());
    let printed = fs::read_to_string(&output).expect("text");
    let printed: HashSet<&str> = printed.split_inclusive('\n').collect();
    assert!(expected.lines().count() as u64 > LINES - 10);
    for line in expected.split_inclusive('\n') {
        assert!(printed.contains(line), "{line}");
    }
    // Every line is recorded now, so none is printed again.
    assert!(
        succeed([&"filter".into(), &store, &input])
            .stdout
            .is_empty()
    );
    let grown = ReadOnlyStore::open(&store).expect("read");
    let growth = grown.filter().growth(grown.registers()).expect("it grows");
    assert!(growth.used_bytes > 1 << 19, "{growth:?}");
}

/// The moments are spread over the time that an undisturbed run takes.
#[test]
fn a_killed_grow_leaves_one_complete_store() {
    let (directory, base) = store_path();
    let input = directory.path().join("input");
    let lines: String = (0..LINES / 4).map(line).collect();
    fs::write(&input, lines).expect("written");
    create_growing(&base, "16MiB");
    succeed([&"filter".into(), &base, &input]);
    let expected = ReadOnlyStore::open(&base).expect("read");
    let store = directory.path().join("grown.dds");
    let copy = || succeed([&"backup".into(), &base, &store]);
    let grow = || {
        let (grow, memory) = ("grow".into(), "--memory".into());
        let mut command = dedupstore([&grow, &store, &memory, &"128MiB".into()]);
        command.stderr(Stdio::null()).spawn().expect("started")
    };
    copy();
    let started = Instant::now();
    assert!(grow().wait().expect("ended").success());
    let whole = started.elapsed();
    let (mut old, mut new, mut left) = (0, 0, 0);
    let kills = setting("DEDUPSTORE_KILLS", KILLS);
    let random = Generator::from_seed(5);
    for kill in 0..kills {
        fs::remove_dir_all(&store).expect("removed");
        copy();
        let mut child = grow();
        let share = (kill as f64 + (random.draw(kill) % 100) as f64 / 100.0) / kills as f64;
        std::thread::sleep(whole.mul_f64(1.1 * share));
        let _ = child.kill();
        child.wait().expect("ended");
        assert_eq!(verify(&store).expect("one complete store"), []);
        let found = ReadOnlyStore::open(&store).expect("read");
        match found.parameters().memory_bits == expected.parameters().memory_bits {
            true => old += 1,
            false => new += 1,
        }
        assert_eq!(found.registers(), expected.registers());
        for number in 0..LINES / 4 {
            let key = line(number);
            assert!(found.contains(key.trim_end()).is_seen(), "{key}");
        }
        // What is left is known as a leftover, and nothing else is there.
        for leftover in leftovers(&store) {
            fs::remove_dir_all(leftover.path).expect("removed");
            left += 1;
        }
        let names = fs::read_dir(directory.path()).expect("there");
        assert_eq!(names.count(), 3, "the input and two stores");
    }
    eprintln!("{old} old stores, {new} new ones, {left} leftovers");
    assert!(
        succeed([&"filter".into(), &store, &input])
            .stdout
            .is_empty()
    );
}

/// The reserve is disk and address space. Memory is used as keys come.
#[cfg(target_os = "linux")]
#[test]
fn a_reserve_of_4_gib_with_a_million_keys_takes_less_than_64_mib_of_memory() {
    const KEYS: u64 = 1_000_000;
    let (_directory, store) = store_path();
    let path = store.to_str().expect("text");
    succeed(["create", path, "--grow-to", "4GiB", "--fpr", "0.1%"]);
    let mut child = dedupstore(["filter", path])
        .stdin(Stdio::piped())
        .spawn()
        .expect("started");
    let mut input = child.stdin.take().expect("piped");
    let writer = std::thread::spawn(move || {
        let lines: String = (0..KEYS).map(line).collect();
        input.write_all(lines.as_bytes()).expect("written");
        input
    });
    let output = BufReader::new(child.stdout.take().expect("piped"));
    // At most one new key in a thousand is reported as seen.
    let printed = output.lines().take((KEYS - KEYS / 1000) as usize);
    let printed = printed.count() as u64;
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("running");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak
        .and_then(|it| it.trim().strip_suffix(" kB"))
        .expect("a number");
    let peak: u64 = peak.trim().parse().expect("a number");
    println!("{printed} keys, at most {} MiB resident", peak >> 10);
    assert!(peak < 64 << 10, "{peak} KiB");
    drop(writer.join().expect("no panic"));
    assert!(child.wait().expect("ended").success());
}
