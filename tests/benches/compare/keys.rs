//! The keys of a round.

use dedupstore::{KeyHasher, Observation};

pub const KEYS_PER_ROUND: usize = 400_000;
/// URLs are hashed in groups of so many, which stay in the first-level cache.
const GROUP: usize = 256;
pub const URL_BYTES: usize = 64;

/// The keys of a round, as hashes or as URLs.
pub enum Keys {
    Hashed(Vec<Observation>),
    Urls(Vec<[u8; URL_BYTES]>),
}

impl Keys {
    /// Returns the keys of a round. About 20 % are new: 30 % come from the range of this round, the
    /// others from the ranges of all rounds so far. There are a thousand keys per second.
    pub fn of_round(round: u64, urls: bool) -> Self {
        if urls {
            return Keys::Urls(urls_of_round(round));
        }
        let (hasher, numbers) = (KeyHasher::new(1), numbers_of_round(round));
        let hashed = (0..).zip(numbers).map(|(i, number)| Observation {
            tick: ((round * KEYS_PER_ROUND as u64 + i) / 1000) as u32,
            ..hasher.fingerprint(&number.to_le_bytes()).into()
        });
        Keys::Hashed(hashed.collect())
    }

    /// Passes all keys to `observe`, hashed. Returns the sum of what it returns.
    pub fn feed(&self, mut observe: impl FnMut(&[Observation]) -> usize) -> usize {
        let urls = match self {
            Keys::Hashed(keys) => return observe(keys),
            Keys::Urls(urls) => urls,
        };
        let hasher = KeyHasher::new(1);
        let mut hashed = Vec::with_capacity(GROUP);
        let mut new = 0;
        for group in urls.chunks(GROUP) {
            hashed.clear();
            hashed.extend(
                group
                    .iter()
                    .map(|url| Observation::from(hasher.fingerprint(url))),
            );
            new += observe(&hashed);
        }
        new
    }
}

/// Returns the URLs of a round.
pub fn urls_of_round(round: u64) -> Vec<[u8; URL_BYTES]> {
    numbers_of_round(round).map(url_of).collect()
}

fn numbers_of_round(round: u64) -> impl Iterator<Item = u64> {
    let hasher = KeyHasher::new(1);
    let fresh = KEYS_PER_ROUND as u64 * 3 / 10;
    let number_of = move |i: u64| match i % 10 {
        0..3 => round * fresh + i,
        _ => hasher.fingerprint(&i.to_le_bytes()).0 % ((round + 1) * fresh),
    };
    (0..KEYS_PER_ROUND as u64).map(number_of)
}

fn url_of(number: u64) -> [u8; URL_BYTES] {
    let site = number % 10_007;
    let text = format!("https://site-{site:05}.example/archive/pages/entry-{number:016}.html");
    let mut url = [b' '; URL_BYTES];
    let length = text.len().min(URL_BYTES);
    url[..length].copy_from_slice(&text.as_bytes()[..length]);
    url
}
