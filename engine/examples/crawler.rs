//! A crawl loop. A page is recorded after it was fetched: a crash repeats the pages that were
//! being fetched, and loses none.

use std::error::Error;

use dedupstore::store::{Claim, CreateOptions, Store};

/// Stands for the network: returns the links of a page, or fails.
fn fetch(url: &str) -> Result<Vec<String>, &'static str> {
    match url.len() {
        0..40 => Ok(vec![format!("{url}a/"), format!("{url}b/"), url.to_owned()]),
        _ => Err("timeout"),
    }
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let options = CreateOptions::new("bloom:k=4")?.memory("1MiB");
    let mut store = Store::open_or_create(directory.path().join("pages.dds"), &options)?;
    let mut queue = vec!["https://harbour.example/".to_owned()];
    while let Some(url) = queue.pop() {
        let Claim::New(ticket) = store.claim(&url) else {
            continue; // Fetched before, or being fetched.
        };
        match fetch(&url) {
            Ok(links) => {
                queue.extend(links);
                store.commit(ticket)?;
            }
            Err(reason) => {
                eprintln!("{url}: {reason}");
                store.abort(ticket); // Can be claimed again.
            }
        }
    }
    println!("{} pages fetched", store.sequence());
    Ok(store.close()?)
}
