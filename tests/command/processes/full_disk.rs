//! Only `create` can fail because the disk is full.

use std::fs::{self, File};
use std::io::Write;

use dedupstore::store::Store;

use super::{SmallDisk, create, dedupstore, open_closed, standard_error, store_path, succeed};

#[test]
fn create_fails_on_a_full_disk_and_leaves_nothing() {
    let (directory, _) = store_path();
    let mount = directory.path().join("disk");
    let Some(_disk) = SmallDisk::mount(&mount, "2m") else {
        return;
    };
    let store = mount.join("links.dds");
    let store = store.to_str().expect("text");
    for command in ["create", "filter"] {
        let output = dedupstore([command, store]).output().expect("started");
        let message = standard_error(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        for part in [store, "No space left", "df -h", "--memory"] {
            assert!(message.contains(part), "{part:?} is not in {message:?}");
        }
        assert_eq!(fs::read_dir(&mount).expect("a file").count(), 0);
    }
}

#[test]
fn filter_works_after_the_disk_has_filled_up() {
    let (directory, _) = store_path();
    let mount = directory.path().join("disk");
    let Some(_disk) = SmallDisk::mount(&mount, "8m") else {
        return;
    };
    let store = mount.join("links.dds");
    create(&store, "1MiB", "64KiB");
    let mut rest = File::create(mount.join("rest")).expect("created");
    let mut chunk = 1 << 20;
    while chunk > 0 {
        if rest.write_all(&vec![1; chunk]).is_err() {
            chunk /= 2;
        }
    }
    let full = File::create(mount.join("more")).and_then(|mut file| file.write_all(&[1; 4096]));
    assert!(full.is_err(), "the disk is full");

    let input = directory.path().join("input");
    let lines: String = (0..400_000).map(|i| format!("{}\n", i % 200_000)).collect();
    fs::write(&input, lines).expect("written");
    for part in 1..=3 {
        succeed([&"filter".into(), &store, &input]);
        assert_eq!(open_closed(&store).sequence(), part * 400_000);
    }
    let opened = Store::open(&store).expect("opened");
    let generation = opened.recovery().generation;
    assert!(generation > 50, "{generation} checkpoints");
}
