//! The simulated disk, with a decision of the schedule before each effect of a call.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dedupstore::store::{LogWindow, Medium, StoreFile};
use dedupstore_tests::crash::simulated_medium::{Fault, FaultKind, SimulatedMedium};
use shuttle::sync::atomic::{AtomicU64, Ordering};

/// A longer write reaches the cache in parts of this length, and other threads read between them.
const PART_BYTES: usize = 4096;
/// How many decisions a reader's pause takes: time for a writer to go on.
const PAUSE: u32 = 200;

/// What happens at a crash.
type CrashFunction = Arc<dyn Fn() + Send + Sync>;

/// The moments of a run at which a disk can change. At some of them the machine crashes: the state is
/// recorded, and the run goes on.
pub struct Moments {
    count: AtomicU64,
    crashes: Vec<u64>,
    record: Mutex<Option<CrashFunction>>,
}

impl Moments {
    /// Counts moments; the machine crashes at those with these numbers.
    pub fn new(crashes: Vec<u64>) -> Arc<Self> {
        Arc::new(Moments {
            count: AtomicU64::new(0),
            crashes,
            record: Mutex::new(None),
        })
    }

    /// Sets what is called at a crash.
    pub fn on_crash(&self, record: CrashFunction) {
        *self.record.lock().unwrap_or_else(PoisonError::into_inner) = Some(record);
    }

    /// Forgets what is called at a crash.
    pub fn end(&self) {
        self.record
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }

    /// Lets other threads run. Crashes if it is time.
    fn next(&self) {
        let number = self.count.fetch_add(1, Ordering::SeqCst);
        if self.crashes.contains(&number) {
            let guard = self.record.lock().unwrap_or_else(PoisonError::into_inner);
            let record = guard.clone();
            // Recording lets other threads run, which may come here.
            drop(guard);
            if let Some(record) = record {
                record();
            }
        }
    }
}

/// A simulated disk whose calls are interleaved with those of other threads.
#[derive(Clone)]
pub struct ScheduledMedium {
    disk: SimulatedMedium,
    moments: Arc<Moments>,
    failing: Option<Arc<FailingCall>>,
}

/// Calls of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Writes to a log.
    WriteOfLog,
    /// Writes to an image.
    WriteOfImage,
    /// Syncs of a log.
    SyncOfLog,
    /// Syncs of a log by the checkpoint thread.
    SyncOfLogByCheckpoint,
    /// Syncs of a log by the sync thread.
    SyncOfLogBySyncThread,
}

impl Calls {
    /// Returns whether a call of the running thread is one of them.
    fn include(self, file: StoreFile, is_sync: bool) -> bool {
        let is_log = matches!(file, StoreFile::Log0 | StoreFile::Log1);
        let is_image = matches!(file, StoreFile::Image0 | StoreFile::Image1);
        match self {
            Calls::WriteOfLog => is_log && !is_sync,
            Calls::WriteOfImage => is_image && !is_sync,
            Calls::SyncOfLog => is_log && is_sync,
            Calls::SyncOfLogByCheckpoint => is_log && is_sync && is_thread("checkpoint"),
            Calls::SyncOfLogBySyncThread => is_log && is_sync && is_thread("sync"),
        }
    }
}

/// Returns whether the running thread is that thread of the store.
fn is_thread(name: &str) -> bool {
    let thread = shuttle::thread::current();
    thread.name().and_then(|it| it.strip_prefix("dedupstore ")) == Some(name)
}

/// A call that fails, once.
pub struct FailingCall {
    /// Which calls are counted.
    pub calls: Calls,
    /// How many such calls succeed before it.
    pub left: std::sync::atomic::AtomicI64,
}

impl ScheduledMedium {
    /// Interleaves the calls of a disk.
    pub fn new(disk: SimulatedMedium, moments: &Arc<Moments>) -> Self {
        ScheduledMedium {
            disk,
            moments: Arc::clone(moments),
            failing: None,
        }
    }

    /// Lets a call fail.
    pub fn failing(mut self, call: FailingCall) -> Self {
        self.failing = Some(Arc::new(call));
        self
    }

    /// Lets the call that follows fail if it is time.
    fn before_call(&self, file: StoreFile, is_sync: bool) {
        let Some(failing) = &self.failing else { return };
        let is_counted = failing.calls.include(file, is_sync);
        if is_counted && failing.left.fetch_sub(1, Ordering::SeqCst) == 0 {
            let mut disk = self.disk.disk();
            let at_call = disk.calls();
            let kind = FaultKind::Once;
            disk.set_fault(Some(Fault { at_call, kind }));
        }
    }

    /// Returns the disk.
    pub fn disk(&self) -> &SimulatedMedium {
        &self.disk
    }
}

impl Medium for ScheduledMedium {
    fn len(&self, file: StoreFile) -> io::Result<u64> {
        self.disk.len(file)
    }

    fn read(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.moments.next();
        self.disk.read(file, offset, buffer)
    }

    fn write(&self, file: StoreFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
        for (part, at) in bytes.chunks(PART_BYTES).zip((offset..).step_by(PART_BYTES)) {
            self.moments.next();
            self.before_call(file, false);
            self.disk.write(file, at, part)?;
        }
        Ok(())
    }

    /// Makes durable what was written before the call, and nothing that was written meanwhile.
    fn sync(&self, file: StoreFile) -> io::Result<()> {
        self.moments.next();
        let writes = self.disk.disk().writes();
        self.moments.next();
        self.before_call(file, true);
        self.disk.sync_writes_before(file, writes)
    }

    fn map_log(
        &self,
        file: StoreFile,
        offset: u64,
        length: u64,
    ) -> Option<io::Result<Box<dyn LogWindow>>> {
        self.moments.next();
        let window = self.disk.map_log(file, offset, length)?;
        Some(window.map(|window| {
            Box::new(ScheduledWindow {
                medium: self.clone(),
                file,
                range: window.range(),
            }) as Box<dyn LogWindow>
        }))
    }

    fn unix_seconds(&self) -> u64 {
        self.disk.unix_seconds()
    }

    fn pause(&self, _time: Duration) {
        (0..PAUSE).for_each(|_| shuttle::thread::yield_now());
    }
}

/// Part of a log as memory: other threads may read between the two parts of a store.
struct ScheduledWindow {
    medium: ScheduledMedium,
    file: StoreFile,
    range: Range<u64>,
}

impl LogWindow for ScheduledWindow {
    fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    fn store(&mut self, offset: u64, frame: &[u8]) -> io::Result<()> {
        let (head, rest) = frame.split_at(8);
        self.medium.write(self.file, offset + 8, rest)?;
        self.medium.write(self.file, offset, head)
    }
}

/// The same disk for readers: a failing call of the writer does not fail for them, and theirs are
/// not counted.
#[derive(Clone)]
pub struct ReadersMedium(pub ScheduledMedium);

impl Medium for ReadersMedium {
    fn len(&self, file: StoreFile) -> io::Result<u64> {
        self.0.len(file)
    }

    fn read(&self, file: StoreFile, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        for (part, at) in buffer
            .chunks_mut(PART_BYTES)
            .zip((offset..).step_by(PART_BYTES))
        {
            self.0.moments.next();
            self.0.disk.disk().read_cached(file, at, part)?;
        }
        Ok(())
    }

    fn write(&self, _: StoreFile, _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::Error::other("a reader wrote"))
    }

    fn sync(&self, _: StoreFile) -> io::Result<()> {
        Err(io::Error::other("a reader synced"))
    }

    fn unix_seconds(&self) -> u64 {
        self.0.unix_seconds()
    }

    fn pause(&self, time: Duration) {
        self.0.pause(time);
    }
}
