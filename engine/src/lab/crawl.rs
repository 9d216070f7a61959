//! A synthetic web, and the links that a breadth-first crawler finds in it.
//!
//! Sites have different sizes, a home page, sections and articles. Every page links to the home
//! page and some sections (repeats after short gaps), to its neighbours and to popular articles of
//! the site (longer gaps), and sometimes to another site (long gaps). After every page has been
//! found, the crawler starts again, like a recrawl. The graph is not stored: links and addresses
//! are computed from the page number and the seed.
//!
//! The depth of a page is the number of links from the start of the crawl to where the page was
//! first found. The paper on the importance-aware Bloom filter takes the importance of a page from
//! it: the deeper, the less important.

use std::collections::VecDeque;
use std::io::Write;

use rand::Rng;

use crate::bytes::{bit, set_bit};
use crate::fingerprint::{KeyHasher, reduce};

const FIRST: &[&str] = &[
    "amber", "birch", "cedar", "coral", "delta", "ember", "fern", "granite", "harbour", "indigo",
    "juniper", "kelp", "lantern", "meadow", "north", "opal", "pine", "quarry", "river", "slate",
    "tide", "umber", "velvet", "willow",
];
const SECOND: &[&str] = &[
    "almanac", "archive", "atlas", "bench", "courier", "garden", "gazette", "guide", "journal",
    "kitchen", "ledger", "library", "market", "museum", "notes", "press", "radio", "review",
    "society", "studio", "times", "weekly", "works", "yard",
];
const SECTIONS: &[&str] = &[
    "news", "guides", "reviews", "recipes", "events", "archive", "travel", "science", "opinion",
    "photos",
];
const SUBJECTS: &[&str] = &[
    "ferry-timetables",
    "salt-marshes",
    "sourdough",
    "bicycle-repair",
    "winter-light",
    "small-museums",
    "tidal-power",
    "old-maps",
    "night-trains",
    "stone-walls",
    "river-swimming",
    "bee-keeping",
    "street-markets",
    "letterpress",
    "mountain-huts",
    "rain-gardens",
    "wooden-boats",
    "city-trees",
    "field-recording",
    "lighthouses",
];
const ANGLES: &[&str] = &[
    "a-beginners-guide",
    "explained",
    "in-pictures",
    "revisited",
    "on-a-budget",
    "what-we-learned",
    "the-long-read",
    "questions-answered",
    "in-ten-steps",
    "a-short-history",
    "worth-the-trip",
    "field-notes",
];

/// The depth of a page that was not found yet. Greater depths than the one before are not told
/// apart.
const UNKNOWN: u8 = u8::MAX;

/// A link that a crawl found.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    pub address: &'a [u8],
    /// The number of the page.
    pub page: u64,
    /// The depth of the page, which never changes.
    pub depth: u8,
}

/// A crawl in progress.
#[derive(Debug)]
pub struct Crawl {
    hasher: KeyHasher,
    /// The number of the first page of each site, and the number of pages at the end.
    starts: Vec<u64>,
    met: Vec<u8>,
    /// The depth of each page, or `UNKNOWN`.
    depths: Vec<u8>,
    /// The depth of the pages that the present links lead to.
    depth: u8,
    frontier: VecDeque<u64>,
    links: Vec<u64>,
    next: usize,
    address: Vec<u8>,
}

impl Crawl {
    pub fn new(sites: u64, mean_pages: u64, seed: u64) -> Self {
        let hasher = KeyHasher::new(seed);
        let mut starts = vec![0];
        let mut pages = 0;
        for site in 0..sites {
            // Between a quarter and one and three quarters of the mean.
            let spread = mean_pages * 3 / 2;
            let own = hasher.fingerprint(&site.to_le_bytes()).0;
            pages += (mean_pages / 4 + reduce(own, spread + 1)).max(1);
            starts.push(pages);
        }
        Crawl {
            hasher,
            met: vec![0; pages.div_ceil(8) as usize],
            depths: vec![UNKNOWN; pages as usize],
            depth: 0,
            starts,
            frontier: VecDeque::new(),
            links: Vec::new(),
            next: 0,
            address: Vec::new(),
        }
    }

    /// The number of pages of all sites.
    pub fn pages(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Returns the next link.
    pub fn next_link(&mut self, rng: &mut impl Rng) -> Link<'_> {
        while self.next == self.links.len() {
            let page = match self.frontier.pop_front() {
                Some(page) => page,
                None => self.restart(rng),
            };
            let from = self.find(page, 0);
            self.depth = (from + 1).min(UNKNOWN - 1);
            self.collect_links(page, rng);
        }
        let page = self.links[self.next];
        self.next += 1;
        if set_bit(&mut self.met[..], page) {
            self.frontier.push_back(page);
        }
        self.write_address(page);
        let depth = self.find(page, self.depth);
        Link {
            address: &self.address,
            page,
            depth,
        }
    }

    /// Returns the depth of a page that is found at a depth now.
    fn find(&mut self, page: u64, depth: u8) -> u8 {
        let known = &mut self.depths[page as usize];
        if *known == UNKNOWN {
            *known = depth;
        }
        *known
    }

    /// Returns a page to start from: a home page that was not found yet. If there is none, marks
    /// all pages as not found and picks a site at random.
    fn restart(&mut self, rng: &mut impl Rng) -> u64 {
        let home_not_found = |met: &[u8], starts: &[u64]| {
            let homes = &starts[..starts.len() - 1];
            homes.iter().copied().find(|&home| !bit(met, home))
        };
        if let Some(home) = home_not_found(&self.met, &self.starts) {
            return home;
        }
        self.met.fill(0);
        let site = reduce(rng.next_u64(), self.starts.len() as u64 - 1);
        self.starts[site as usize]
    }

    fn site_of(&self, page: u64) -> usize {
        self.starts.partition_point(|&start| start <= page) - 1
    }

    fn collect_links(&mut self, page: u64, rng: &mut impl Rng) {
        self.links.clear();
        self.next = 0;
        let site = self.site_of(page);
        let (home, size) = (self.starts[site], self.starts[site + 1] - self.starts[site]);
        let mut below = |range: u64| reduce(rng.next_u64(), range);
        self.links.push(home);
        let sections = (size - 1).min(SECTIONS.len() as u64);
        self.links.extend((1..=sections.min(5)).map(|i| home + i));
        for _ in 0..2 + below(6) {
            let reach = 1 + below(24);
            self.links.push(home + (page - home + reach) % size);
        }
        for _ in 0..below(4) {
            // The smallest of three: pages with low numbers are popular.
            let popular = below(size).min(below(size)).min(below(size));
            self.links.push(home + popular);
        }
        if below(5) == 0 {
            let other = below(self.starts.len() as u64 - 1) as usize;
            let other_size = self.starts[other + 1] - self.starts[other];
            let target = below(other_size).min(below(other_size));
            self.links.push(self.starts[other] + target);
        }
    }

    fn write_address(&mut self, page: u64) {
        let site = self.site_of(page);
        let local = page - self.starts[site];
        let pick =
            |words: &[&'static str], number: u64| words[(number % words.len() as u64) as usize];
        let own = self.hasher.fingerprint(&page.to_be_bytes()).0;
        let out = &mut self.address;
        out.clear();
        let number = site as u64;
        let (first, second) = (FIRST.len() as u64, SECOND.len() as u64);
        // Writing into a Vec cannot fail.
        let _ = write!(
            out,
            "https://{}{}-{}",
            if number.is_multiple_of(3) { "www." } else { "" },
            pick(FIRST, number + number / first),
            pick(SECOND, number),
        );
        let _ = match number / (first * second) {
            0 => write!(out, ".example/"),
            more => write!(out, "{more}.example/"),
        };
        let sections = SECTIONS.len() as u64;
        let section = pick(SECTIONS, local + number);
        let _ = match local {
            0 => Ok(()),
            1.. if local <= sections => write!(out, "{section}/"),
            _ if own.is_multiple_of(11) => write!(out, "{section}/?page={local}"),
            _ => write!(
                out,
                "{section}/{}/{:02}/{}-{}-{local}",
                2015 + own / 7 % 11,
                1 + own / 77 % 12,
                pick(SUBJECTS, own / 924),
                pick(ANGLES, own / 18_480),
            ),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn links(sites: u64, pages: u64, count: usize) -> Vec<(String, u64)> {
        let mut crawl = Crawl::new(sites, pages, 5);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        (0..count)
            .map(|_| {
                let link = crawl.next_link(&mut rng);
                let address = String::from_utf8(link.address.to_vec());
                (address.expect("text"), link.page)
            })
            .collect()
    }

    #[test]
    fn pages_and_addresses_are_one_to_one() {
        let mut page_of: HashMap<String, u64> = HashMap::new();
        let mut address_of: HashMap<u64, String> = HashMap::new();
        for (address, page) in links(700, 40, 100_000) {
            assert_eq!(*page_of.entry(address.clone()).or_insert(page), page);
            assert_eq!(*address_of.entry(page).or_insert(address.clone()), address);
        }
        assert!(page_of.len() > 10_000, "{}", page_of.len());
    }

    #[test]
    fn every_page_is_found_before_the_crawl_restarts() {
        let pages = Crawl::new(4, 50, 5).pages();
        let mut met: Vec<u64> = links(4, 50, 20_000).into_iter().map(|(_, p)| p).collect();
        met.sort_unstable();
        met.dedup();
        assert_eq!(met.len() as u64, pages);
    }

    /// Of a crawl from one home page: links of the home page have depth 1, and pages far from it
    /// are found deeper.
    #[test]
    fn a_page_keeps_the_depth_at_which_it_was_found() {
        let mut crawl = Crawl::new(1, 2000, 5);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut depth_of: HashMap<u64, u8> = HashMap::new();
        let mut deepest = 0;
        // Before the crawl starts again.
        for position in 0..10_000 {
            let link = crawl.next_link(&mut rng);
            let first = !depth_of.contains_key(&link.page);
            assert_eq!(*depth_of.entry(link.page).or_insert(link.depth), link.depth);
            // Breadth first: the depth of newly found pages never falls.
            assert!(
                !first || link.page == 0 || link.depth >= deepest,
                "{position}"
            );
            deepest = deepest.max(link.depth);
        }
        assert_eq!(depth_of[&0], 0, "the home page");
        assert!((4..50).contains(&deepest), "{deepest}");
    }

    #[test]
    fn the_smallest_web_works() {
        assert_eq!(links(1, 1, 5).len(), 5);
    }
}
