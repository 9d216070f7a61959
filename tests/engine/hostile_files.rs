//! Files made to mislead: sizes that no machine has, with valid checksums.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dedupstore::store::{
    CreateOptions, Finding, Medium, Severity, StoreError, StoreFile, inspect_on, verify_on,
};
use dedupstore::{AnyFilter, Registers};

const TEBIBYTE: u64 = 1 << 40;

/// The files of a store whose superblock claims a region of one tebibyte, all zeros. Counts the
/// largest read.
struct Forged {
    superblock: Vec<u8>,
    layout: dedupstore::store::Layout,
    largest: Arc<AtomicUsize>,
}

impl Forged {
    /// With `valid_table`, the table of checksums has its checksum, and only the blocks are bad.
    fn new(valid_table: bool) -> Self {
        let options = CreateOptions::new("bloom").expect("a filter");
        let options = options.memory("1MiB").seed(1).log_size("4KiB").audit(0);
        let set = options.in_memory().expect("small");
        let small = options.primed(set, [3; 16], 1000).expect("a store");
        let last = small.parts().expect("encoded").last().expect("a part");
        let mut superblock = last.bytes.to_vec();
        let text = u64::from_le_bytes(superblock[640..648].try_into().expect("eight bytes"));
        let memory = 648 + text as usize;
        superblock[memory..memory + 8].copy_from_slice(&(8 * TEBIBYTE).to_le_bytes());
        superblock[80..88].copy_from_slice(&TEBIBYTE.to_le_bytes());
        if valid_table {
            let mut hasher = crc32fast::Hasher::new();
            hasher.update(&[3; 16]);
            hasher.update(&0u64.to_le_bytes());
            hasher.update(&u64::MAX.to_le_bytes());
            let zeros = vec![0; 1 << 20];
            for _ in 0..TEBIBYTE / 8192 * 4 / zeros.len() as u64 {
                hasher.update(&zeros);
            }
            superblock[76..80].copy_from_slice(&hasher.finalize().to_le_bytes());
        }
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&[0; 32]);
        hasher.update(&superblock[..4092]);
        superblock[4092..].copy_from_slice(&hasher.finalize().to_le_bytes());
        Forged {
            superblock,
            layout: dedupstore::store::Layout {
                region_bytes: TEBIBYTE,
                log_bytes: 4096,
            },
            largest: Arc::default(),
        }
    }
}

impl Medium for Forged {
    fn len(&self, file: StoreFile) -> io::Result<u64> {
        Ok(self.layout.file_bytes(file))
    }

    fn read(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.largest.fetch_max(buffer.len(), Ordering::Relaxed);
        buffer.fill(0);
        if file == StoreFile::Image0 && offset == 0 {
            let length = buffer.len().min(self.superblock.len());
            buffer[..length].copy_from_slice(&self.superblock[..length]);
        }
        Ok(())
    }

    fn write(&self, _: StoreFile, _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self, _: StoreFile) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn unix_seconds(&self) -> u64 {
        1000
    }
}

#[test]
fn verify_of_a_region_of_a_tebibyte_takes_little_memory() {
    for valid_table in [false, true] {
        let forged = Forged::new(valid_table);
        let largest = Arc::clone(&forged.largest);
        let findings = verify_on(forged).expect("read");
        assert!(findings.iter().any(|it| it.severity == Severity::Refused));
        let not_checked = |it: &Finding| it.damage.found.contains("were not checked");
        assert_eq!(findings.iter().any(not_checked), valid_table);
        assert!(findings.len() < 1010, "{} findings", findings.len());
        let largest = largest.load(Ordering::Relaxed);
        assert!(largest <= 2 << 20, "{largest} bytes at once");
    }
}

#[test]
fn inspect_of_a_region_of_a_tebibyte_takes_little_memory() {
    let forged = Forged::new(false);
    let inspected = inspect_on(&forged);
    if let Err(error) = inspected {
        assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
    }
    assert!(forged.largest.load(Ordering::Relaxed) <= 2 << 20);
}

/// A filter with a window indexes cells by its registers.
#[test]
fn registers_that_a_filter_cannot_have_are_refused() {
    let window = "span=600,step=60";
    for filter in ["window", "stamped", "apbf", "growing"] {
        let spec = format!("{filter}:{window}").parse().expect("a filter");
        let filter = AnyFilter::build(&spec, 1 << 20).expect("enough memory");
        let registers = Registers::new(1);
        assert!(filter.accepts(&registers), "{spec}");
        // The base, the end of the sweep, and the remainder of the base.
        for word in [0, 3, 4] {
            let mut forged = registers.clone();
            forged.own_mut()[word] = u64::MAX;
            assert!(!filter.accepts(&forged), "{spec}: word {word}");
        }
        let mut forged = registers.clone();
        *forged.occupied_mut() = filter.cells() + 1;
        assert!(!filter.accepts(&forged), "{spec}");
    }
}
