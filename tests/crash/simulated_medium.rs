//! A simulated disk in memory, with crashes, torn writes and failing calls.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dedupstore::store::{CreateOptions, Medium, StoreFile};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The unit that is written completely or not at all.
const SECTOR: u64 = 512;

/// A disk on which several stores can be opened, one after the other.
#[derive(Clone)]
pub struct SimulatedMedium {
    disk: Arc<Mutex<Disk>>,
}

/// The contents of the disk.
#[derive(Clone)]
pub struct Disk {
    /// What reads return: the operating system's cache.
    cached: [Vec<u8>; 5],
    /// What is on the disk.
    durable: [Vec<u8>; 5],
    /// Writes since the last sync, in order. Any part of them may survive a crash.
    unsynced: Vec<Write>,
    /// The number of calls.
    calls: u64,
    fault: Option<Fault>,
}

#[derive(Clone)]
struct Write {
    file: StoreFile,
    offset: u64,
    bytes: Vec<u8>,
}

/// A call that fails.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The number of the call.
    pub at_call: u64,
    /// How it fails.
    pub kind: FaultKind,
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The power is cut: this call may or may not take effect, and no later one does.
    PowerCut,
    /// This call fails. A sync that fails drops what it should have written.
    Once,
    /// This call and all later ones fail.
    Permanent,
    /// This call fails because no space is left.
    NoSpace,
    /// A write writes half and fails. A sync fails.
    Short,
}

/// Which of the unsynced writes survive a crash.
#[derive(Clone, Copy, Debug)]
pub enum Surviving {
    /// The first n.
    First(usize),
    /// The first n, and the first m sectors of the next.
    Torn(usize, u64),
    /// All but the first n.
    Last(usize),
    /// Each sector with probability one half, by this seed.
    Random(u64),
}

impl SimulatedMedium {
    /// Creates a disk with an empty store.
    pub fn with_store(options: &CreateOptions) -> Self {
        Self::with_store_of(options, 9)
    }

    /// Creates a disk with an empty store of the given identity.
    pub fn with_store_of(options: &CreateOptions, id: u8) -> Self {
        let layout = options.layout().expect("a layout");
        let files = StoreFile::ALL.map(|file| vec![0; layout.file_bytes(file) as usize]);
        let medium = Self::holding(Disk {
            cached: files.clone(),
            durable: files,
            unsynced: Vec::new(),
            calls: 0,
            fault: None,
        });
        options
            .write_initial_files(&medium, [id; 16])
            .expect("filled");
        medium.disk().calls = 0;
        medium
    }

    /// Creates a disk with the given contents.
    pub fn holding(disk: Disk) -> Self {
        SimulatedMedium {
            disk: Arc::new(Mutex::new(disk)),
        }
    }

    /// Returns the contents.
    pub fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk {
    /// Returns the number of calls.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Sets the call that fails, or none.
    pub fn set_fault(&mut self, fault: Option<Fault>) {
        self.fault = fault;
    }

    /// Returns the number of unsynced writes.
    pub fn unsynced(&self) -> usize {
        self.unsynced.len()
    }

    /// Returns the number of sectors that an unsynced write changes.
    pub fn sectors_of(&self, write: usize) -> u64 {
        self.unsynced
            .get(write)
            .map_or(0, |write| sectors(write).count() as u64)
    }

    /// Returns the files as reads see them.
    pub fn files(&self) -> Arc<[Vec<u8>; 5]> {
        Arc::new(self.cached.clone())
    }

    /// Flips a bit, in the cache and on the disk.
    pub fn flip(&mut self, file: StoreFile, bit: u64) {
        for files in [&mut self.cached, &mut self.durable] {
            files[file as usize][(bit / 8) as usize] ^= 1 << (bit % 8);
        }
    }

    /// Returns the superblock of an image as reads see it.
    pub fn superblock(&self, file: StoreFile) -> &[u8] {
        &self.cached[file as usize][..4096]
    }

    /// Returns whether both superblocks have a correct checksum.
    pub fn has_two_valid_superblocks(&self) -> bool {
        [StoreFile::Image0, StoreFile::Image1].iter().all(|&file| {
            let (content, checksum) = self.cached[file as usize][..4096].split_at(4092);
            let mut hasher = crc32fast::Hasher::new();
            hasher.update(&[0; 32]);
            hasher.update(content);
            hasher.finalize().to_le_bytes() == checksum
        })
    }

    /// Returns the disk after a power cut.
    pub fn after_crash(&self, surviving: Surviving) -> Disk {
        let mut files = self.durable.clone();
        let all = self.unsynced.len();
        match surviving {
            Surviving::First(count) => keep_all(&mut files, &self.unsynced[..count.min(all)]),
            Surviving::Last(count) => keep_all(&mut files, &self.unsynced[count.min(all)..]),
            Surviving::Torn(count, torn) => {
                keep_all(&mut files, &self.unsynced[..count.min(all)]);
                if let Some(write) = self.unsynced.get(count) {
                    for sector in sectors(write).take(torn as usize) {
                        keep_sector(&mut files, write, sector);
                    }
                }
            }
            Surviving::Random(seed) => {
                let mut rng: Xoshiro256PlusPlus = rand::SeedableRng::seed_from_u64(seed);
                for write in &self.unsynced {
                    for sector in sectors(write) {
                        if rng.next_u64() & 1 == 0 {
                            keep_sector(&mut files, write, sector);
                        }
                    }
                }
            }
        }
        Disk {
            cached: files.clone(),
            durable: files,
            unsynced: Vec::new(),
            calls: 0,
            fault: None,
        }
    }

    /// Returns the disk after the process was killed and the machine kept running.
    pub fn after_kill(&self) -> Disk {
        Disk {
            calls: 0,
            fault: None,
            ..self.clone()
        }
    }

    /// Counts a call. Returns how it fails, or None.
    fn next_call(&mut self) -> Option<FaultKind> {
        let call = self.calls;
        self.calls += 1;
        let fault = self.fault?;
        let fails = match fault.kind {
            FaultKind::PowerCut | FaultKind::Permanent => call >= fault.at_call,
            _ => call == fault.at_call,
        };
        fails.then_some(fault.kind)
    }

    fn write(&mut self, file: StoreFile, offset: u64, bytes: &[u8]) {
        let start = offset as usize;
        self.cached[file as usize][start..start + bytes.len()].copy_from_slice(bytes);
        self.unsynced.push(Write {
            file,
            offset,
            bytes: bytes.to_vec(),
        });
    }

    fn sync(&mut self, file: StoreFile) {
        let (mine, others): (Vec<Write>, Vec<Write>) = self
            .unsynced
            .drain(..)
            .partition(|write| write.file == file);
        keep_all(&mut self.durable, &mine);
        self.unsynced = others;
    }

    /// Simulates a failed sync: what it should have written stays in the cache but does not
    /// reach the disk, and a later sync does not write it.
    fn lose(&mut self, file: StoreFile) {
        self.unsynced.retain(|write| write.file != file);
    }
}

/// Returns the sectors of a file that a write changes.
fn sectors(write: &Write) -> std::ops::Range<u64> {
    let end = write.offset + write.bytes.len() as u64;
    write.offset / SECTOR..end.div_ceil(SECTOR)
}

fn keep_sector(files: &mut [Vec<u8>; 5], write: &Write, sector: u64) {
    let write_end = write.offset + write.bytes.len() as u64;
    let from = (sector * SECTOR).max(write.offset);
    let to = ((sector + 1) * SECTOR).min(write_end);
    let part = &write.bytes[(from - write.offset) as usize..(to - write.offset) as usize];
    files[write.file as usize][from as usize..to as usize].copy_from_slice(part);
}

fn keep_all(files: &mut [Vec<u8>; 5], writes: &[Write]) {
    for write in writes {
        let start = write.offset as usize;
        files[write.file as usize][start..start + write.bytes.len()].copy_from_slice(&write.bytes);
    }
}

fn error_of(kind: FaultKind) -> io::Error {
    match kind {
        FaultKind::NoSpace => io::ErrorKind::StorageFull.into(),
        kind => io::Error::other(format!("the disk failed: {kind:?}")),
    }
}

impl Medium for SimulatedMedium {
    fn len(&self, file: StoreFile) -> io::Result<u64> {
        Ok(self.disk().cached[file as usize].len() as u64)
    }

    fn read(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut disk = self.disk();
        if let Some(kind) = disk.next_call() {
            return Err(error_of(kind));
        }
        let bytes = &disk.cached[file as usize];
        let part = bytes.get(offset as usize..offset as usize + buffer.len());
        buffer.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write(&self, file: StoreFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.disk();
        if offset + bytes.len() as u64 > disk.cached[file as usize].len() as u64 {
            return Err(io::Error::other("a write past the end of a file"));
        }
        match disk.next_call() {
            None => disk.write(file, offset, bytes),
            Some(kind) => {
                let first_cut = disk
                    .fault
                    .is_some_and(|fault| disk.calls == fault.at_call + 1);
                match kind {
                    FaultKind::PowerCut if first_cut => disk.write(file, offset, bytes),
                    FaultKind::Short => disk.write(file, offset, &bytes[..bytes.len() / 2]),
                    _ => {}
                }
                return Err(error_of(kind));
            }
        }
        Ok(())
    }

    fn sync(&self, file: StoreFile) -> io::Result<()> {
        let mut disk = self.disk();
        match disk.next_call() {
            None => {
                disk.sync(file);
                Ok(())
            }
            Some(kind) => {
                if kind != FaultKind::PowerCut {
                    disk.lose(file);
                }
                Err(error_of(kind))
            }
        }
    }

    fn unix_seconds(&self) -> u64 {
        1_000_000_000
    }
}
