//! What a store says of itself.

use std::path::Path;

use dedupstore::store::{StoreError, StoreFile, check_names, inspect_on};

use super::Wanted;
use super::partial_files::PartialFiles;

/// A look into a store of which only parts are at hand.
pub struct Look {
    name: String,
    unix_seconds: u64,
    /// The directory: names and sizes.
    listing: Vec<(String, u64)>,
    files: Option<PartialFiles>,
}

impl Look {
    pub fn new(name: &str, unix_seconds: u64) -> Result<Self, String> {
        Ok(Look {
            name: name.to_owned(),
            unix_seconds,
            listing: Vec::new(),
            files: None,
        })
    }

    pub fn add(&mut self, name: &str, bytes: u64) {
        self.listing.push((name.to_owned(), bytes));
    }

    /// Nothing as long as something is wanted; an error as the command line tells it.
    pub fn report(&mut self) -> Result<Option<String>, String> {
        let inspected = self.inspect();
        let is_waiting = self.wanted().is_some();
        match inspected {
            Ok(report) => Ok(Some(report)),
            Err(_) if is_waiting => Ok(None),
            Err(error) => Err(error.told_of(&self.name)),
        }
    }

    fn inspect(&mut self) -> Result<String, StoreError> {
        let listing = &self.listing;
        let size = |wanted: &str| listing.iter().find(|(name, _)| name == wanted);
        let files = match &mut self.files {
            Some(files) => files,
            unopened => {
                check_names(Path::new(&self.name), |name| size(name).is_some())?;
                let sizes = StoreFile::ALL.map(|file| size(file.name()).map_or(0, |it| it.1));
                unopened.insert(PartialFiles::new(sizes, self.unix_seconds))
            }
        };
        let inspection = inspect_on(files)?;
        Ok(inspection.report(&self.name, str::to_owned))
    }

    pub fn wanted(&self) -> Option<Wanted> {
        self.files.as_ref()?.wanted()
    }

    pub fn supply(&mut self, bytes: &[u8]) {
        if let Some(files) = &mut self.files {
            files.supply(bytes.to_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use dedupstore::store::CreateOptions;

    use super::*;

    /// A store of a log, with its files whole.
    fn made(memory_bits: u64) -> Vec<(&'static str, Vec<u8>)> {
        let options = CreateOptions::new("stable".parse().expect("a filter"), memory_bits);
        let mut set = options.in_memory(1).expect("small");
        for key in 0..5000u32 {
            set.observe(&(key % 1999).to_le_bytes());
        }
        let primed = options.primed(set, [3; 16], 1000).expect("primed");
        let layout = primed.layout();
        let mut files = StoreFile::ALL
            .map(|file| (file.name(), vec![0; layout.file_bytes(file) as usize]))
            .to_vec();
        for part in primed.parts().expect("encoded") {
            let at = part.offset as usize;
            files[part.file as usize].1[at..at + part.bytes.len()].copy_from_slice(&part.bytes);
        }
        files.push(("lock", Vec::new()));
        files
    }

    /// As the page does it; returns how many bytes it took, too.
    fn look_at(files: &[(&str, Vec<u8>)]) -> (Result<String, String>, usize) {
        let mut look = Look::new("links.dds", 1060).expect("a look");
        for (name, bytes) in files {
            look.add(name, bytes.len() as u64);
        }
        let mut taken = 0;
        for _ in 0..100 {
            match look.report() {
                Ok(Some(report)) => return (Ok(report), taken),
                Err(error) => return (Err(error), taken),
                Ok(None) => {}
            }
            let wanted = look.wanted().expect("something is wanted");
            let (_, bytes) = files.iter().find(|it| it.0 == wanted.file).expect("there");
            let start = wanted.offset as usize;
            taken += wanted.length;
            look.supply(&bytes[start..start + wanted.length]);
        }
        panic!("it never has enough");
    }

    #[test]
    fn it_asks_for_what_it_needs_and_no_more() {
        let files = made(8 << 24);
        let (report, taken) = look_at(&files);
        let report = report.expect("a store");
        assert!(report.starts_with("links.dds\n\nFilter\n  filter         stable:"));
        assert!(report.contains("  observations   5,000\n"), "{report}");
        assert!(report.contains("generation 0, 60 s ago"), "{report}");
        assert!(taken < 4 << 20, "{taken} bytes were taken");
    }

    #[test]
    fn damage_and_missing_files_are_told_as_by_the_command_line() {
        let mut files = made(8 << 16);
        files[0].1[200] ^= 1;
        let told = look_at(&files).0.expect_err("it is damaged");
        assert!(told.starts_with("image.0 is damaged at byte 4092: expected checksum"));
        assert!(told.contains("`dedupstore verify links.dds`"), "{told}");
        let mut files = made(8 << 16);
        files[2].1.truncate(1000);
        let told = look_at(&files).0.expect_err("it is cut off");
        assert!(told.contains("log.0 is damaged at byte 0: expected 1048576 bytes, found 1000"));
        let files = made(8 << 16).split_off(1);
        let told = look_at(&files).0.expect_err("an image is missing");
        assert!(told.starts_with("links.dds is not a store: it has no file `image.0`"));
    }
}
