//! A simulated disk in memory, with crashes, torn writes and failing calls.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dedupstore::store::{CreateOptions, LogWindow, Medium, StoreFile};
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
    /// The number of writes.
    writes: u64,
    /// The number of calls.
    calls: u64,
    fault: Option<Fault>,
    /// The longest part of a log that can be mapped; 0 if none can.
    window_bytes: u64,
}

#[derive(Clone)]
struct Write {
    number: u64,
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
            writes: 0,
            calls: 0,
            fault: None,
            window_bytes: 0,
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

    /// Syncs the first writes, so many of all files. Later ones, which came while the sync was under
    /// way, stay unsynced.
    pub fn sync_writes_before(&self, file: StoreFile, writes: u64) -> io::Result<()> {
        let mut disk = self.disk();
        match disk.next_call() {
            None => {
                disk.sync(file, writes);
                Ok(())
            }
            Some(kind) => {
                if kind != FaultKind::PowerCut {
                    disk.lose(file, writes);
                }
                Err(error_of(kind))
            }
        }
    }
}

impl Disk {
    /// Returns the same disk, whose logs can be mapped in parts of at most so many bytes.
    pub fn with_windows(self, window_bytes: u64) -> Self {
        Disk {
            window_bytes,
            ..self
        }
    }

    /// Returns whether logs can be mapped.
    pub fn has_windows(&self) -> bool {
        self.window_bytes > 0
    }

    /// Returns the number of writes.
    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// Returns whether the call that must fail has been made.
    pub fn has_failed(&self) -> bool {
        self.fault.is_some_and(|fault| fault.at_call < self.calls)
    }

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

    /// Reads without counting a call.
    pub fn read_cached(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let bytes = &self.cached[file as usize];
        let part = bytes.get(offset as usize..offset as usize + buffer.len());
        buffer.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
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
            writes: self.writes,
            calls: 0,
            fault: None,
            window_bytes: self.window_bytes,
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
            number: self.writes,
            file,
            offset,
            bytes: bytes.to_vec(),
        });
        self.writes += 1;
    }

    /// Writes parts of a file in order, in one call that may fail.
    fn write_parts<const N: usize>(
        &mut self,
        file: StoreFile,
        parts: [(u64, &[u8]); N],
    ) -> io::Result<()> {
        let fault = self.next_call();
        let first_cut = self
            .fault
            .is_some_and(|fault| self.calls == fault.at_call + 1);
        for (offset, bytes) in parts {
            match fault {
                None => self.write(file, offset, bytes),
                Some(FaultKind::PowerCut) if first_cut => self.write(file, offset, bytes),
                Some(FaultKind::Short) => {
                    self.write(file, offset, &bytes[..bytes.len() / 2]);
                    break;
                }
                Some(_) => {}
            }
        }
        fault.map_or(Ok(()), |kind| Err(error_of(kind)))
    }

    fn sync(&mut self, file: StoreFile, before: u64) {
        let (mine, others): (Vec<Write>, Vec<Write>) = self
            .unsynced
            .drain(..)
            .partition(|write| write.file == file && write.number < before);
        keep_all(&mut self.durable, &mine);
        self.unsynced = others;
    }

    /// Simulates a failed sync: what it should have written stays in the cache but does not
    /// reach the disk, and a later sync does not write it.
    fn lose(&mut self, file: StoreFile, before: u64) {
        self.unsynced
            .retain(|write| write.file != file || write.number >= before);
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
        disk.read_cached(file, offset, buffer)
    }

    fn write(&self, file: StoreFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.disk();
        if offset + bytes.len() as u64 > disk.cached[file as usize].len() as u64 {
            return Err(io::Error::other("a write past the end of a file"));
        }
        disk.write_parts(file, [(offset, bytes)])
    }

    fn sync(&self, file: StoreFile) -> io::Result<()> {
        let writes = self.disk().writes();
        self.sync_writes_before(file, writes)
    }

    fn map_log(
        &self,
        file: StoreFile,
        offset: u64,
        length: u64,
    ) -> Option<io::Result<Box<dyn LogWindow>>> {
        let length = length.min(self.disk().window_bytes);
        if length == 0 {
            return None;
        }
        let filled = self.write(file, offset, &vec![0; length as usize]);
        Some(filled.map(|()| {
            Box::new(SimulatedWindow {
                medium: self.clone(),
                file,
                range: offset..offset + length,
            }) as Box<dyn LogWindow>
        }))
    }

    fn unix_seconds(&self) -> u64 {
        1_000_000_000
    }
}

/// Part of a log that is written by stores. Each store is two writes, because the operating system
/// may write the page between them.
struct SimulatedWindow {
    medium: SimulatedMedium,
    file: StoreFile,
    range: Range<u64>,
}

impl LogWindow for SimulatedWindow {
    fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// A real store does not fail: it succeeds or ends the process. Here it may fail like any call,
    /// and the caller must not use the store after it either.
    fn store(&mut self, offset: u64, frame: &[u8]) -> io::Result<()> {
        let end = offset + frame.len() as u64;
        let inside = self.range.start <= offset && end <= self.range.end;
        if !inside || !offset.is_multiple_of(8) || !end.is_multiple_of(8) {
            return Err(io::Error::other("a store outside the window"));
        }
        let (head, rest) = frame.split_at(8);
        let mut disk = self.medium.disk();
        disk.write_parts(self.file, [(offset + 8, rest), (offset, head)])
    }
}
