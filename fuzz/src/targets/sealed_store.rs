//! Stores with forged bytes whose checksums are right, so that the bytes get past the checks.
//!
//! The offsets are those of docs/FORMAT.md.

use std::io;
use std::sync::{Arc, OnceLock};

use dedupstore::store::{CreateOptions, InMemory, Layout, Medium, OpenOptions, StoreFile};

/// The filters of the stores: each kind of state, of log and of region, except those whose inspection
/// computes a prediction for a long time.
pub const FILTERS: [&str; 14] = [
    "bloom:k=3",
    "blocked:k=4",
    "stable:k=2,p=3,max=3",
    "counting:k=3,bits=4",
    "slot",
    "recent",
    "window:k=3,span=600,step=60",
    "stamped:span=600,step=60",
    "apbf:span=100",
    "quotient:bits=9,doublings=5,longest=12",
    "growing",
    "ibf3:k=2,p=3,max=3",
    "reinsert",
    "admit",
];

pub const BLOCK_BYTES: usize = 8192;
pub const SUPERBLOCK_BYTES: usize = 4096;
pub const LOG_START: usize = 512;
const FRAME_HEADER_BYTES: usize = 40;
const REGION_BYTES: usize = 80;
const LOG_BYTES: usize = 96;
/// Larger files would only make executions slow.
const MAX_FILE_PART: u64 = 64 << 10;

/// The files of a store, in the order of [`StoreFile::ALL`].
pub type Files = [Vec<u8>; 5];

/// A medium that the caller keeps.
pub struct Kept(Arc<InMemory>);

impl Medium for Kept {
    fn len(&self, file: StoreFile) -> io::Result<u64> {
        self.0.len(file)
    }

    fn read(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read(file, offset, buffer)
    }

    fn write(&self, file: StoreFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write(file, offset, bytes)
    }

    fn sync(&self, file: StoreFile) -> io::Result<()> {
        self.0.sync(file)
    }

    fn unix_seconds(&self) -> u64 {
        self.0.unix_seconds()
    }
}

/// Returns a valid store: one image with a checkpoint, and a log of some frames after it.
pub fn valid(index: usize) -> &'static Files {
    static STORES: OnceLock<Vec<Files>> = OnceLock::new();
    let stores = STORES.get_or_init(|| FILTERS.iter().map(|filter| create(filter)).collect());
    &stores[index % stores.len()]
}

fn create(filter: &str) -> Files {
    let options = CreateOptions::new(filter).unwrap_or_else(|error| panic!("{filter}: {error}"));
    let options = options.memory("4KiB").seed(7).log_size("4KiB").audit(512);
    let layout = options.layout().expect("small");
    let files = StoreFile::ALL.map(|file| vec![0; layout.file_bytes(file) as usize]);
    let medium = Arc::new(InMemory::holding(files, 1_700_000_000));
    let written = options.write_initial_files(&*medium, [9; 16]);
    written.unwrap_or_else(|error| panic!("{filter}: {error}"));
    let opened = OpenOptions::new()
        .threads(false)
        .open_on(Kept(Arc::clone(&medium)));
    let mut store = opened.expect("just made");
    for key in 0..40u8 {
        if key == 25 {
            store.checkpoint().expect("in memory");
        }
        store.observe([key % 30]).expect("in memory");
    }
    store.sync().expect("in memory");
    // Dropping writes nothing, like a crash.
    drop(store);
    StoreFile::ALL.map(|file| {
        let mut bytes = vec![0; layout.file_bytes(file) as usize];
        medium.read(file, 0, &mut bytes).expect("in memory");
        bytes
    })
}

pub fn read_u32(bytes: &[u8], at: usize) -> u32 {
    bytes[at..]
        .first_chunk()
        .map_or(0, |it| u32::from_le_bytes(*it))
}

pub fn read_u64(bytes: &[u8], at: usize) -> u64 {
    bytes[at..]
        .first_chunk()
        .map_or(0, |it| u64::from_le_bytes(*it))
}

fn write_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn checksum(store: &[u8], era: u64, position: u64, parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(store);
    hasher.update(&era.to_le_bytes());
    hasher.update(&position.to_le_bytes());
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}

/// Returns the file of the newest image.
pub fn newest_image(files: &Files) -> usize {
    usize::from(read_u64(&files[1], 40) > read_u64(&files[0], 40))
}

/// Gives the files the sizes that an image claims, unless that is too large.
pub fn fit_sizes(files: &mut Files, image: usize) {
    let layout = Layout {
        region_bytes: read_u64(&files[image], REGION_BYTES),
        log_bytes: read_u64(&files[image], LOG_BYTES),
    };
    if layout.region_bytes <= MAX_FILE_PART && layout.log_bytes <= MAX_FILE_PART {
        for (bytes, file) in files.iter_mut().zip(StoreFile::ALL) {
            bytes.resize(layout.file_bytes(file) as usize, 0);
        }
    }
}

/// Makes the checksums of an image right: those of its blocks, its table and its superblock.
pub fn seal_image(image: &mut [u8]) {
    let layout = Layout {
        region_bytes: read_u64(image, REGION_BYTES),
        log_bytes: 4096,
    };
    if layout.region_bytes <= MAX_FILE_PART
        && layout.file_bytes(StoreFile::Image0) <= image.len() as u64
    {
        seal_blocks(image, &layout);
    }
    seal_superblock(image);
}

fn seal_blocks(image: &mut [u8], layout: &Layout) {
    let (id, generation) = (image[24..40].to_vec(), read_u64(image, 40));
    let blocks = layout.blocks() as usize;
    let table = layout.table_offset() as usize;
    for block in 0..blocks {
        let start = SUPERBLOCK_BYTES + block * BLOCK_BYTES;
        let bytes = &image[start..start + BLOCK_BYTES];
        let sum = checksum(&id, generation, block as u64, &[bytes]);
        write_u32(image, table + 4 * block, sum);
    }
    const GROWS: u32 = 32;
    let grows = read_u32(image, 16) & GROWS != 0;
    let audit = u64::from(read_u32(image, 112));
    let tail = match audit {
        _ if !grows => blocks,
        0 => blocks,
        audit => layout.region_bytes.saturating_sub(audit) as usize / BLOCK_BYTES,
    };
    let head = match grows {
        true => (read_u32(image, 116) as usize).min(tail),
        false => blocks,
    };
    let entries = |run: std::ops::Range<usize>| &image[table + 4 * run.start..table + 4 * run.end];
    let runs = [entries(0..head), entries(tail..blocks)];
    let sum = checksum(&id, generation, u64::MAX, &runs);
    write_u32(image, 76, sum);
}

/// Makes the checksum of a superblock right.
pub fn seal_superblock(image: &mut [u8]) {
    let sum = checksum(&[0; 16], 0, 0, &[&image[..SUPERBLOCK_BYTES - 4]]);
    write_u32(image, SUPERBLOCK_BYTES - 4, sum);
}

/// Makes the frames of a log right, from the position of an image on: magic, chain, sequence numbers
/// and checksums. Kind, count and lengths stay as they are.
pub fn seal_log(log: &mut [u8], superblock: &[u8]) {
    let id = superblock[24..40].to_vec();
    let mut sequence = read_u64(superblock, 48);
    let epoch = read_u64(superblock, 56);
    let mut at = read_u64(superblock, 64) as usize;
    let mut chain = read_u32(superblock, 72);
    while at + FRAME_HEADER_BYTES <= log.len() {
        let payload = read_u32(log, at + 16) as usize;
        let kind = u16::from_le_bytes([log[at + 12], log[at + 13]]);
        let count = u64::from(u16::from_le_bytes([log[at + 14], log[at + 15]]));
        let end = at + FRAME_HEADER_BYTES + payload;
        if kind == 0 || end > log.len() {
            return;
        }
        log[at..at + 4].copy_from_slice(b"frme");
        write_u32(log, at + 8, chain);
        log[at + 24..at + 32].copy_from_slice(&sequence.to_le_bytes());
        chain = checksum(&id, epoch, at as u64, &[&log[at + 8..end]]);
        write_u32(log, at + 4, chain);
        sequence = sequence.wrapping_add(match kind {
            1 | 6 => payload as u64 / 8,
            2 => payload as u64 / 16,
            4 | 5 => count,
            _ => 0,
        });
        at = end;
    }
}

/// Makes the checksums of both slots of the mark right.
pub fn seal_mark(mark: &mut [u8], superblock: &[u8]) {
    for offset in [0, 4096] {
        let slot = &mut mark[offset..offset + 512];
        slot[..8].copy_from_slice(b"dedupsmk");
        let turn = read_u64(slot, 8);
        let sum = checksum(&superblock[24..40], turn, offset as u64, &[&slot[..508]]);
        write_u32(slot, 508, sum);
    }
}
