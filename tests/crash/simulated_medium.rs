//! A disk in memory that does to a store what disks do.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dedupstore::store::{CreateOptions, Medium, StoreFile};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// What is written whole or not at all.
const SECTOR: u64 = 512;

/// A disk that several stores can be opened on, one after the other.
#[derive(Clone)]
pub struct SimulatedMedium {
    disk: Arc<Mutex<Disk>>,
}

/// Its contents.
#[derive(Clone)]
pub struct Disk {
    /// What reads see: the operating system's memory.
    shown: [Vec<u8>; 5],
    /// What is on the disk for sure.
    durable: [Vec<u8>; 5],
    /// Writes since, in order; a crash may keep any part of them.
    unsynced: Vec<Write>,
    /// Calls so far.
    calls: u64,
    fault: Option<Fault>,
}

#[derive(Clone)]
struct Write {
    file: StoreFile,
    offset: u64,
    bytes: Vec<u8>,
}

/// A failure to come.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// At which call.
    pub at_call: u64,
    /// Which failure.
    pub kind: FaultKind,
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The power goes: this call may or may not have happened, and none after it does.
    PowerCut,
    /// An error, this once. A sync that fails forgets what it should have written.
    Once,
    /// An error, from now on.
    ForGood,
    /// No space left, this once.
    NoSpace,
    /// A write that writes half and fails; a sync that fails after half.
    Short,
}

/// Which of the writes that were not synced are on the disk after a crash.
#[derive(Clone, Copy, Debug)]
pub enum Kept {
    /// The first so many.
    First(usize),
    /// The first so many, and so many sectors of the next.
    Torn(usize, u64),
    /// All but the first so many.
    Last(usize),
    /// Each sector by the toss of a coin.
    Coins(u64),
}

impl SimulatedMedium {
    /// A disk with a store that has observed nothing.
    pub fn with_store(options: &CreateOptions) -> Self {
        Self::with_store_named(options, 9)
    }

    /// The same, for a store of another identity.
    pub fn with_store_named(options: &CreateOptions, id: u8) -> Self {
        let layout = options.layout().expect("a layout");
        let files = StoreFile::ALL.map(|file| vec![0; layout.file_bytes(file) as usize]);
        let medium = Self::holding(Disk {
            shown: files.clone(),
            durable: files,
            unsynced: Vec::new(),
            calls: 0,
            fault: None,
        });
        options.fill(&medium, [id; 16]).expect("filled");
        medium.disk().calls = 0;
        medium
    }

    /// A disk with these contents.
    pub fn holding(disk: Disk) -> Self {
        SimulatedMedium {
            disk: Arc::new(Mutex::new(disk)),
        }
    }

    /// The contents.
    pub fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk {
    /// Calls so far.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Arms a failure, or none.
    pub fn set_fault(&mut self, fault: Option<Fault>) {
        self.fault = fault;
    }

    /// How many writes are not synced.
    pub fn unsynced(&self) -> usize {
        self.unsynced.len()
    }

    /// How many sectors a write that is not synced touches.
    pub fn sectors_of(&self, write: usize) -> u64 {
        self.unsynced
            .get(write)
            .map_or(0, |write| sectors(write).count() as u64)
    }

    /// The files as they are shown.
    pub fn files(&self) -> Arc<[Vec<u8>; 5]> {
        Arc::new(self.shown.clone())
    }

    /// Flips a bit, here and on the disk.
    pub fn flip(&mut self, file: StoreFile, bit: u64) {
        for files in [&mut self.shown, &mut self.durable] {
            files[file as usize][(bit / 8) as usize] ^= 1 << (bit % 8);
        }
    }

    /// The superblock of an image, as it is shown.
    pub fn superblock(&self, file: StoreFile) -> &[u8] {
        &self.shown[file as usize][..4096]
    }

    /// Whether both images have a superblock whose checksum is right.
    pub fn has_two_whole_images(&self) -> bool {
        [StoreFile::Image0, StoreFile::Image1].iter().all(|&file| {
            let (content, checksum) = self.shown[file as usize][..4096].split_at(4092);
            let mut hasher = crc32fast::Hasher::new();
            hasher.update(&[0; 32]);
            hasher.update(content);
            hasher.finalize().to_le_bytes() == checksum
        })
    }

    /// The disk after the power has come back.
    pub fn after_crash(&self, kept: Kept) -> Disk {
        let mut files = self.durable.clone();
        let all = self.unsynced.len();
        match kept {
            Kept::First(count) => keep_whole(&mut files, &self.unsynced[..count.min(all)]),
            Kept::Last(count) => keep_whole(&mut files, &self.unsynced[count.min(all)..]),
            Kept::Torn(count, torn) => {
                keep_whole(&mut files, &self.unsynced[..count.min(all)]);
                if let Some(write) = self.unsynced.get(count) {
                    for sector in sectors(write).take(torn as usize) {
                        keep_sector(&mut files, write, sector);
                    }
                }
            }
            Kept::Coins(seed) => {
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
            shown: files.clone(),
            durable: files,
            unsynced: Vec::new(),
            calls: 0,
            fault: None,
        }
    }

    /// The disk after the process, but not the machine, has died.
    pub fn after_kill(&self) -> Disk {
        Disk {
            calls: 0,
            fault: None,
            ..self.clone()
        }
    }

    /// Whether this call fails, and how.
    fn next_call(&mut self) -> Option<FaultKind> {
        let call = self.calls;
        self.calls += 1;
        let fault = self.fault?;
        let fails = match fault.kind {
            FaultKind::PowerCut | FaultKind::ForGood => call >= fault.at_call,
            _ => call == fault.at_call,
        };
        fails.then_some(fault.kind)
    }

    fn write(&mut self, file: StoreFile, offset: u64, bytes: &[u8]) {
        let start = offset as usize;
        self.shown[file as usize][start..start + bytes.len()].copy_from_slice(bytes);
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
        keep_whole(&mut self.durable, &mine);
        self.unsynced = others;
    }

    /// A sync that failed: what it should have written is shown but nowhere, and a later
    /// sync does not know of it.
    fn lose(&mut self, file: StoreFile) {
        self.unsynced.retain(|write| write.file != file);
    }
}

/// The sectors of a file that a write touches.
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

fn keep_whole(files: &mut [Vec<u8>; 5], writes: &[Write]) {
    for write in writes {
        let start = write.offset as usize;
        files[write.file as usize][start..start + write.bytes.len()].copy_from_slice(&write.bytes);
    }
}

fn refused(kind: FaultKind) -> io::Error {
    match kind {
        FaultKind::NoSpace => io::ErrorKind::StorageFull.into(),
        kind => io::Error::other(format!("the disk failed: {kind:?}")),
    }
}

impl Medium for SimulatedMedium {
    fn len(&self, file: StoreFile) -> io::Result<u64> {
        Ok(self.disk().shown[file as usize].len() as u64)
    }

    fn read(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut disk = self.disk();
        if let Some(kind) = disk.next_call() {
            return Err(refused(kind));
        }
        let bytes = &disk.shown[file as usize];
        let part = bytes.get(offset as usize..offset as usize + buffer.len());
        buffer.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write(&self, file: StoreFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.disk();
        if offset + bytes.len() as u64 > disk.shown[file as usize].len() as u64 {
            return Err(io::Error::other("a write past the end: files never grow"));
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
                return Err(refused(kind));
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
                Err(refused(kind))
            }
        }
    }

    fn unix_seconds(&self) -> u64 {
        1_000_000_000
    }
}
