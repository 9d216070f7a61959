//! A seen-set that survives crashes.

use std::path::PathBuf;

use dedupstore as engine;
use dedupstore::store::{self, Durability, StoreError};
use dedupstore::{Fingerprint, Observation, Verdict};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyType};

use crate::claim::{Claim, Claimed};
use crate::guarded::Guarded;
use crate::options::{self, New, Size, Sync};
use crate::seen_set::{observation, observations};
use crate::store_hasher::StoreHasher;
use crate::{errors, json, keys, verdict};

/// A seen-set in a directory, which survives kill -9, power loss and restarts.
///
/// `Store(path)` opens a store, or creates it if the path does not exist. Options that are given
/// must agree with an existing store. A store has one writer; other processes read it with
/// `ReadOnlyStore`. Threads can share it. If the store was created with a normalization, URLs are
/// normalized before they are hashed.
///
/// >>> import tempfile, pathlib
/// >>> from dedupstore import Store
/// >>> directory = tempfile.TemporaryDirectory()
/// >>> path = pathlib.Path(directory.name) / "links.dds"
/// >>> with Store(path, memory="1MiB") as store:
/// ...     store.observe("https://harbour.example/").is_new
/// True
/// >>> with Store(path) as store:
/// ...     store.observe("https://harbour.example/").is_new
/// False
#[pyclass(frozen, module = "dedupstore")]
pub struct Store {
    store: Guarded<engine::store::Store>,
    path: PathBuf,
    hasher: StoreHasher,
    filter: String,
    /// Whether the time of observations matters, and is that of the machine.
    timed: bool,
    /// Whether every call waits for the disk.
    syncs_every_call: bool,
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (path, *, filter=None, memory=None, seed=None, window=None, audit=None, log_size=None, max_fpr=None, normalization=None, sync=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keyword arguments")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        filter: Option<String>,
        memory: Option<Size>,
        seed: Option<u64>,
        window: Option<u64>,
        audit: Option<Size>,
        log_size: Option<Size>,
        max_fpr: Option<f64>,
        normalization: Option<String>,
        sync: Option<Sync>,
    ) -> PyResult<Self> {
        let options = New {
            filter,
            memory,
            seed,
            window,
            audit,
            log_size,
            max_fpr,
            normalization,
            shards: None,
        };
        let create = options.options(!path.exists())?;
        let open = options::open_options(sync.as_ref())?;
        let opened = py.detach(|| open.open_or_create(&path, &create));
        Self::opened(path, opened, sync.as_ref())
    }

    /// Opens a store that exists.
    #[classmethod]
    #[pyo3(signature = (path, *, sync=None))]
    fn open(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        path: PathBuf,
        sync: Option<Sync>,
    ) -> PyResult<Self> {
        let open = options::open_options(sync.as_ref())?;
        let opened = py.detach(|| open.open(&path));
        Self::opened(path, opened, sync.as_ref())
    }

    /// Connects to a store on a server of `dedupstore serve`, or on Redis or Valkey, with or without
    /// a cluster; returns a `RemoteStore` or a `ClusterStore`, which have the methods of this class.
    /// The address is `redis://host:port/name`, `rediss://` for TLS, or
    /// `redis+unix:///path?store=name`; a password stands before the host (`redis://:password@…`).
    ///
    /// Unless `create` is false, a store that does not exist is created, with the defaults of the
    /// server or of `ClusterStore`. A password that the address lacks is taken from the environment
    /// variable `DEDUPSTORE_PASSWORD`, or from the file that `DEDUPSTORE_PASSWORD_FILE` names.
    /// `timeout`, in seconds, is for connecting and for each reply. `tls` is an `ssl.SSLContext`; without it, the
    /// server's certificate is checked with the authorities of the system, or those in the file
    /// that the environment variable `SSL_CERT_FILE` names.
    #[classmethod]
    #[pyo3(signature = (url, *, create=true, timeout=Some(60.0), tls=None))]
    fn connect<'py>(
        class: &Bound<'py, PyType>,
        url: &str,
        create: bool,
        timeout: Option<f64>,
        tls: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = class.py();
        let options = PyDict::new(py);
        options.set_item("create", create)?;
        options.set_item("timeout", timeout)?;
        options.set_item("tls", tls)?;
        let remote = py.import("dedupstore._connect")?.getattr("connect")?;
        remote.call((url,), Some(&options))
    }

    /// Reports whether a key is new, and records it. A key is bytes, or str as UTF-8. `at`, in
    /// seconds since 1970, is for filters with a window; without it, the time is that of the
    /// machine.
    #[pyo3(signature = (key, *, at=None, importance=0))]
    fn observe(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        at: Option<u64>,
        importance: u16,
    ) -> PyResult<Py<PyAny>> {
        let fingerprint = keys::fingerprint(&self.hasher, key)?;
        let plain = at.is_none() && importance == 0;
        let observe = |store: &mut store::Store| match plain {
            true => store.observe_fingerprint(fingerprint),
            false => store.observe_one(observation(fingerprint, at, importance)),
        };
        let verdict = match self.syncs_every_call {
            true => self.store.long(py, observe)?,
            false => self.store.short(py, observe)?,
        };
        verdict::object(py, self.checked(verdict)?)
    }

    /// Observes many keys in order; returns their verdicts. Several times faster than one by one.
    fn observe_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let py = keys.py();
        let observations = keys::observations(&self.hasher, keys)?;
        verdict::list(py, &self.observed(py, &observations)?)
    }

    /// Observes many fingerprints of this store's hasher, from a buffer of unsigned 64-bit numbers.
    /// Returns one byte per fingerprint: 1 for new, 0 for seen.
    fn observe_fingerprints<'py>(
        &self,
        fingerprints: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let py = fingerprints.py();
        let observations = observations(&keys::from_buffer(fingerprints)?);
        Ok(PyBytes::new(
            py,
            &verdict::bytes(&self.observed(py, &observations)?),
        ))
    }

    /// Reports whether a key was observed before. Records nothing.
    fn contains(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        verdict::object(
            py,
            self.looked_up(py, keys::fingerprint(&self.hasher, key)?)?,
        )
    }

    /// Looks many keys up. Records nothing.
    fn contains_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let py = keys.py();
        let fingerprints = keys::fingerprints(&self.hasher, keys)?;
        verdict::list(py, &self.all_looked_up(py, &fingerprints)?)
    }

    /// Looks many fingerprints up; see `observe_fingerprints`. Records nothing.
    fn contains_fingerprints<'py>(
        &self,
        fingerprints: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let py = fingerprints.py();
        let fingerprints = keys::from_buffer(fingerprints)?;
        Ok(PyBytes::new(
            py,
            &verdict::bytes(&self.all_looked_up(py, &fingerprints)?),
        ))
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self
            .looked_up(py, keys::fingerprint(&self.hasher, key)?)?
            .is_seen())
    }

    /// Returns the fingerprint of a key.
    fn fingerprint(&self, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        Ok(keys::fingerprint(&self.hasher, key)?.0)
    }

    /// Claims a key to work on. Nothing is recorded before `commit`, so that after a crash, what
    /// was not finished can be claimed again.
    fn claim(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Claim> {
        self.claim_fingerprint(py, keys::fingerprint(&self.hasher, key)?.0)
    }

    /// Claims a key by its fingerprint.
    fn claim_fingerprint(&self, py: Python<'_>, fingerprint: u64) -> PyResult<Claim> {
        let fingerprint = Fingerprint(fingerprint);
        let claim = self
            .store
            .short(py, |store| store.claim_fingerprint(fingerprint))?;
        Ok(Claim::new(fingerprint, claim))
    }

    /// Records a claimed key: the work on it is done. Takes the claim, or the fingerprint of a
    /// claimed key.
    fn commit(&self, py: Python<'_>, claim: Claimed<'_>) -> PyResult<()> {
        let committed = match claim {
            Claimed::Claim(claim) => {
                self.store.check_process()?;
                let ticket = claim.get().ticket()?;
                self.store
                    .long(py, |store| store.commit(ticket).map(Some))?
            }
            Claimed::Fingerprint(it) => self.store.long(py, |store| {
                let ticket = store.claimed(Fingerprint(it));
                ticket.map(|ticket| store.commit(ticket)).transpose()
            })?,
        };
        self.checked(committed)?.ok_or_else(not_claimed)
    }

    /// Records many claimed keys, from a buffer of fingerprints; returns their number. Those that
    /// are not claimed are left out.
    fn commit_fingerprints(&self, fingerprints: &Bound<'_, PyAny>) -> PyResult<usize> {
        let py = fingerprints.py();
        let fingerprints = keys::from_buffer(fingerprints)?;
        let committed = self.store.long(py, |store| {
            let tickets = fingerprints.iter().filter_map(|&it| store.claimed(it));
            let tickets: Vec<_> = tickets.collect();
            let count = tickets.len();
            store.commit_all(tickets).map(|()| count)
        })?;
        self.checked(committed)
    }

    /// Ends a claim without recording the key, which can then be claimed again. Takes the claim, or
    /// the fingerprint of a claimed key.
    fn abort(&self, py: Python<'_>, claim: Claimed<'_>) -> PyResult<()> {
        match claim {
            Claimed::Claim(claim) => {
                self.store.check_process()?;
                let ticket = claim.get().ticket()?;
                self.store.short(py, |store| store.abort(ticket))
            }
            Claimed::Fingerprint(it) => {
                let aborted = self.store.short(py, |store| {
                    let ticket = store.claimed(Fingerprint(it));
                    ticket.map(|ticket| store.abort(ticket))
                })?;
                aborted.ok_or_else(not_claimed)
            }
        }
    }

    /// Returns when everything observed so far is in the log's file: killing the process no longer
    /// undoes it. A power cut may; `sync` waits for the disk.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let flushed = self
            .store
            .long(py, |store| store.sync_handle().map(|_| ()))?;
        self.checked(flushed)
    }

    /// Makes everything observed so far durable. Other threads can use the store meanwhile.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        let handle = self.store.long(py, |store| store.sync_handle())?;
        let handle = self.checked(handle)?;
        let synced = py.detach(|| handle.sync());
        self.checked(synced)
    }

    /// The sequence number: how many observations the store has recorded.
    #[getter]
    fn sequence(&self, py: Python<'_>) -> PyResult<u64> {
        self.store.short(py, |store| store.sequence())
    }

    /// The sequence number up to which everything is durable.
    #[getter]
    fn durable_sequence(&self, py: Python<'_>) -> PyResult<u64> {
        self.store.short(py, |store| store.durable_sequence())
    }

    /// Returns when everything up to a sequence number is durable; without one, everything observed
    /// so far. Other threads can use the store meanwhile.
    #[pyo3(signature = (sequence=None))]
    fn wait_durable(&self, py: Python<'_>, sequence: Option<u64>) -> PyResult<()> {
        let (durable, last) = self
            .store
            .short(py, |store| (store.durable_sequence(), store.sequence()))?;
        match durable >= sequence.unwrap_or(last).min(last) {
            true => Ok(()),
            false => self.sync(py),
        }
    }

    /// Writes the state as a new image and returns when it is durable. The next opening is then
    /// fast.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<()> {
        let written = self.store.long(py, |store| store.checkpoint())?;
        self.checked(written)
    }

    /// Removes a key that was new, if the filter can, and records that. Returns whether the key was
    /// there.
    fn forget(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let fingerprint = keys::fingerprint(&self.hasher, key)?;
        let forgotten = self.store.long(py, |store| {
            let mut verdict = [Verdict::New];
            store
                .forget_batch(&[fingerprint], &mut verdict)
                .map(|()| verdict[0])
        })?;
        Ok(self.checked(forgotten)?.is_seen())
    }

    /// Returns what `dedupstore inspect --json` prints; see `dedupstore.inspect`.
    #[pyo3(signature = (*, exact=false))]
    fn inspect<'py>(&self, py: Python<'py>, exact: bool) -> PyResult<Bound<'py, PyAny>> {
        self.store.check_process()?;
        inspect(py, self.path.clone(), exact)
    }

    /// Closes the store: takes a checkpoint, syncs, and reports any error. Every later call fails,
    /// except for this one.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        match self.store.take(py)? {
            Some(store) => {
                let closed = py.detach(|| store.close());
                self.checked(closed)
            }
            None => Ok(()),
        }
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _class: &Bound<'_, PyAny>,
        _exception: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.close(py)
    }

    /// The directory of the store.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// The filter and its parameters.
    #[getter]
    fn filter(&self) -> &str {
        &self.filter
    }

    /// The seed of the hash function.
    #[getter]
    fn seed(&self) -> u64 {
        self.hasher.seed()
    }

    fn __repr__(&self) -> String {
        format!("<Store {} {}>", self.path.display(), self.filter)
    }
}

impl Store {
    fn opened(
        path: PathBuf,
        opened: Result<store::Store, StoreError>,
        sync: Option<&Sync>,
    ) -> PyResult<Self> {
        let store = opened.map_err(|error| errors::of_store(&path, &error))?;
        let durability = sync.map(Sync::durability).transpose()?;
        Ok(Store {
            hasher: StoreHasher::new(store.hasher(), &store.parameters().normalization)?,
            filter: store.spec().to_string(),
            timed: store.filter().needs().tick,
            syncs_every_call: durability == Some(Durability::Every),
            store: Guarded::with_files("store", store),
            path,
        })
    }

    fn checked<T>(&self, result: Result<T, StoreError>) -> PyResult<T> {
        result.map_err(|error| errors::of_store(&self.path, &error))
    }

    fn observed(&self, py: Python<'_>, observations: &[Observation]) -> PyResult<Vec<Verdict>> {
        let timed = self.timed;
        let verdicts = self.store.long(py, |store| {
            if timed {
                store.advance_clock(now());
            }
            let mut verdicts = vec![Verdict::New; observations.len()];
            store
                .observe_batch(observations, &mut verdicts)
                .map(|()| verdicts)
        })?;
        self.checked(verdicts)
    }

    fn looked_up(&self, py: Python<'_>, fingerprint: Fingerprint) -> PyResult<Verdict> {
        self.store
            .short(py, |store| store.contains_fingerprint(fingerprint))
    }

    fn all_looked_up(
        &self,
        py: Python<'_>,
        fingerprints: &[Fingerprint],
    ) -> PyResult<Vec<Verdict>> {
        self.store.long(py, |store| {
            let verdicts = fingerprints
                .iter()
                .map(|&it| store.contains_fingerprint(it));
            verdicts.collect()
        })
    }
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |it| it.as_secs())
}

fn not_claimed() -> PyErr {
    errors::invalid("the key is not claimed")
}

/// Returns what `dedupstore inspect --json` prints: filter, sizes, counts, load, predicted and
/// measured error rates. Reads only; a writer may have the store open. With `exact`, the log is
/// replayed into memory, and all figures are those of now.
#[pyfunction]
#[pyo3(signature = (path, *, exact=false))]
pub fn inspect<'py>(py: Python<'py>, path: PathBuf, exact: bool) -> PyResult<Bound<'py, PyAny>> {
    let inspected = py.detach(|| match exact {
        true => store::inspect_exactly(&path),
        false => store::inspect(&path),
    });
    let inspection = inspected.map_err(|error| errors::of_store(&path, &error))?;
    json::to_python(py, &json::value(&inspection)?)
}
