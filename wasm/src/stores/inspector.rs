//! Inspects a store of which only some bytes are at hand.

use std::path::Path;

use dedupstore::store::{StoreError, StoreFile, check_names, inspect_on};
use dedupstore_view::{error_message, inspection_report};

use super::MissingBytes;
use super::partial_files::PartialFiles;

/// The inspection of one store.
pub struct Inspector {
    name: String,
    unix_seconds: u64,
    /// Names and sizes of the files in the directory.
    listing: Vec<(String, u64)>,
    files: Option<PartialFiles>,
}

impl Inspector {
    pub fn new(name: &str, unix_seconds: u64) -> Result<Self, String> {
        Ok(Inspector {
            name: name.to_owned(),
            unix_seconds,
            listing: Vec::new(),
            files: None,
        })
    }

    /// Adds a file of the directory.
    pub fn add_file(&mut self, name: &str, bytes: u64) {
        self.listing.push((name.to_owned(), bytes));
    }

    /// Returns the report, or fails with the command line's error. None if bytes are
    /// missing.
    pub fn report(&mut self) -> Result<Option<String>, String> {
        let inspected = self.inspect();
        let is_incomplete = self.missing_bytes().is_some();
        match inspected {
            Ok(report) => Ok(Some(report)),
            Err(_) if is_incomplete => Ok(None),
            Err(error) => Err(error_message(&self.name, &error)),
        }
    }

    fn inspect(&mut self) -> Result<String, StoreError> {
        let listing = &self.listing;
        let size = |wanted: &str| listing.iter().find(|(name, _)| name == wanted);
        let files = match &mut self.files {
            Some(files) => files,
            unopened => {
                check_names(Path::new(&self.name), |name| Ok(size(name).is_some()))?;
                let sizes = StoreFile::ALL.map(|file| size(file.name()).map_or(0, |it| it.1));
                unopened.insert(PartialFiles::new(sizes, self.unix_seconds))
            }
        };
        let inspection = inspect_on(files)?;
        Ok(inspection_report(
            &inspection,
            &self.name,
            None,
            str::to_owned,
        ))
    }

    /// The bytes that `report` needs; None if it needs none.
    pub fn missing_bytes(&self) -> Option<MissingBytes> {
        self.files.as_ref()?.missing()
    }

    /// Supplies the missing bytes.
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

    /// Creates a store that has observed 5,000 keys; returns its files.
    fn store_files(memory_bits: u64) -> Vec<(&'static str, Vec<u8>)> {
        let options = CreateOptions::new("stable")
            .expect("a filter")
            .memory_bits(memory_bits)
            .seed(1);
        let mut set = options.in_memory().expect("small");
        for key in 0..5000u32 {
            set.observe((key % 1999).to_le_bytes());
        }
        let initial = options.primed(set, [3; 16], 1000).expect("a store");
        let layout = initial.layout();
        let mut files = StoreFile::ALL
            .map(|file| (file.name(), vec![0; layout.file_bytes(file) as usize]))
            .to_vec();
        for part in initial.parts().expect("encoded") {
            let at = part.offset as usize;
            files[part.file as usize].1[at..at + part.bytes.len()].copy_from_slice(&part.bytes);
        }
        files.push(("lock", Vec::new()));
        files
    }

    /// Inspects a store as the page does; also returns the number of bytes supplied.
    fn inspect(files: &[(&str, Vec<u8>)]) -> (Result<String, String>, usize) {
        let mut inspector = Inspector::new("links.dds", 1060).expect("an inspector");
        for (name, bytes) in files {
            inspector.add_file(name, bytes.len() as u64);
        }
        let mut supplied = 0;
        for _ in 0..100 {
            match inspector.report() {
                Ok(Some(report)) => return (Ok(report), supplied),
                Err(error) => return (Err(error), supplied),
                Ok(None) => {}
            }
            let missing = inspector.missing_bytes().expect("bytes are missing");
            let (_, bytes) = files.iter().find(|it| it.0 == missing.file).expect("there");
            let start = missing.offset as usize;
            supplied += missing.length;
            inspector.supply(&bytes[start..start + missing.length]);
        }
        panic!("the inspection does not end");
    }

    #[test]
    fn an_inspection_reads_only_a_small_part_of_a_store() {
        let files = store_files(8 << 24);
        let (report, supplied) = inspect(&files);
        let report = report.expect("a store");
        assert!(report.starts_with("links.dds\n\nFilter\n  filter         stable:"));
        assert!(report.contains("  observations   5,000\n"), "{report}");
        assert!(report.contains("generation 0, 60 s ago"), "{report}");
        assert!(supplied < 4 << 20, "{supplied} bytes were supplied");
    }

    #[test]
    fn damage_and_missing_files_are_reported_in_the_words_of_the_command_line() {
        let mut files = store_files(8 << 16);
        files[0].1[200] ^= 1;
        let error = inspect(&files).0.expect_err("image.0 is damaged");
        assert!(error.starts_with("links.dds: image.0 is corrupt at byte 4092: expected checksum"));
        assert!(error.contains("`dedupstore verify links.dds`"), "{error}");
        let mut files = store_files(8 << 16);
        files[2].1.truncate(1000);
        let error = inspect(&files).0.expect_err("log.0 is cut off");
        assert!(error.contains("log.0 is corrupt at byte 0: expected 1048576 bytes, found 1000"));
        let files = store_files(8 << 16).split_off(1);
        let error = inspect(&files).0.expect_err("image.0 is missing");
        assert!(error.starts_with("links.dds lacks the file `image.0`"));
    }
}
