//! Errors carry data: their paths, their sources and what to do about them.

use std::error::Error;
use std::fs;

use dedupstore::store::{CreateOptions, Place, Remedy, SharedStore, Store, StoreError};
use tempfile::TempDir;

fn small() -> CreateOptions {
    CreateOptions::new("bloom:k=4")
        .expect("a filter")
        .memory("64KiB")
}

/// A store is created in a temporary directory, which means nothing to the caller.
#[test]
fn an_error_while_creating_names_the_path_that_was_given() {
    let directory = TempDir::new().expect("a directory");
    let file = directory.path().join("file");
    fs::write(&file, "").expect("written");
    let path = file.join("links.dds");
    let one = Store::create(&path, &small()).map(|_| ());
    let shared = SharedStore::create(&path, &small()).map(|_| ());
    for error in [one, shared].map(|created| created.expect_err("a file is no directory")) {
        let StoreError::Io { place, source, .. } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(place, &Place::Path(path.clone()));
        assert!(error.to_string().contains(&source.to_string()), "{error}");
        let source = error.source().expect("the error of the system");
        assert!(source.is::<std::io::Error>());
    }
}

#[test]
fn a_missing_store_and_a_missing_directory_are_different_errors() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("links.dds");
    let opened = Store::open(&path).map(|_| ()).expect_err("nothing there");
    assert!(matches!(opened, StoreError::NotFound { .. }), "{opened}");
    assert_eq!(opened.remedy(), Remedy::CreateStore { path: path.clone() });
    let created = Store::create(path.join("a.dds"), &small()).map(|_| ());
    let created = created.expect_err("no directory");
    assert_eq!(created.remedy(), Remedy::CreateDirectory { path });
}

#[test]
fn a_name_that_is_too_long_is_not_called_corrupt() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("n".repeat(300));
    let error = Store::create(path, &small()).map(|_| ());
    assert_eq!(error.expect_err("too long").remedy(), Remedy::ShortenPath);
}

#[test]
fn a_shared_store_is_not_opened_as_a_store_and_the_error_names_a_shard() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("shared.dds");
    let store = SharedStore::create(&path, &small().shards(2)).expect("created");
    store.close().expect("closed");
    let error = Store::open(&path).map(|_| ()).expect_err("it is shared");
    let shard = path.join("shard.000.dds");
    assert_eq!(
        error.remedy(),
        Remedy::OpenShard {
            path: shard.clone()
        }
    );
    assert!(Store::open(shard).is_ok());
    let single = directory.path().join("single.dds");
    drop(Store::create(&single, &small()).expect("created"));
    let error = SharedStore::open(&single).map(|_| ());
    let error = error.expect_err("it is not shared").to_string();
    assert!(
        error.ends_with("is not a store: it has no file `shards`"),
        "{error}"
    );
}
