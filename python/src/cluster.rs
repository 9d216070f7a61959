//! A store on Redis Cluster, Valkey or one Redis. `dedupstore/_cluster.py` makes the class for users
//! of it, which hashes keys.

use std::collections::HashMap;
use std::time::Duration;

use dedupstore::sites::{FailureRule, SiteVerdict, Slicing};
use dedupstore::{DEFAULT_MEMORY, Fingerprint};
use dedupstore_cluster::{
    Access, Acknowledgement, Claimed, ClusterAddress, ClusterError, ClusterStore, CreateOptions,
    Degrade, ServerKind, Window,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::guarded::Guarded;
use crate::options::{self, Size};
use crate::{errors, keys};

/// As many keys are asked about at a time.
const BATCH: usize = 4096;
const FILTER: &str = "slot:values=65535";
const SLICES: u64 = 16;
/// How long to wait for copies.
const COPY_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection to a store in slices.
#[pyclass(frozen, module = "dedupstore")]
pub struct Cluster {
    connected: Guarded<Connected>,
    address: ClusterAddress,
    #[pyo3(get)]
    filter: String,
    #[pyo3(get)]
    seed: u64,
    #[pyo3(get)]
    key: String,
}

struct Connected {
    store: ClusterStore,
    claims: HashMap<u64, Claimed>,
}

fn parsed(url: &str) -> PyResult<(ClusterAddress, Access)> {
    let address: ClusterAddress = url.parse().map_err(of_cluster)?;
    let access = Access::of(&address).map_err(of_cluster)?;
    Ok((address, access))
}

fn of_cluster(error: ClusterError) -> PyErr {
    errors::of_cluster(&error)
}

/// Returns what answers at an address: "serve" or "redis".
#[pyfunction]
pub fn server_kind(py: Python<'_>, url: &str) -> PyResult<&'static str> {
    let (address, access) = parsed(url)?;
    match py.detach(|| ServerKind::of(&address, &access)) {
        Ok(ServerKind::Serve) => Ok("serve"),
        Ok(ServerKind::Redis) => Ok("redis"),
        Err(error) => Err(of_cluster(error)),
    }
}

#[pymethods]
impl Cluster {
    #[new]
    #[pyo3(signature = (url, *, create, timeout, memory, filter, window, slices, rule, replicas, on_disk, normalization))]
    #[expect(clippy::too_many_arguments, reason = "they are keyword arguments")]
    fn new(
        py: Python<'_>,
        url: &str,
        create: bool,
        timeout: Option<f64>,
        memory: Option<Size>,
        filter: Option<String>,
        window: Option<u64>,
        slices: Option<String>,
        rule: Option<String>,
        replicas: Option<u32>,
        on_disk: bool,
        normalization: Option<String>,
    ) -> PyResult<Self> {
        let (address, mut access) = parsed(url)?;
        if let Some(seconds) = timeout {
            let wait = Duration::try_from_secs_f64(seconds)
                .map_err(|_| errors::invalid(format!("{seconds} is no timeout in seconds")))?;
            access.answer_timeout = wait;
            access.connect_timeout = wait;
        }
        let window = window
            .map(|seconds| Window::of_span(Duration::from_secs(seconds)))
            .transpose()
            .map_err(|reason| errors::invalid(format!("window: {reason}")))?;
        let slicing = slices.map_or(Ok(Slicing::Horizontal { slices: SLICES }), parsed_slicing)?;
        let memory = match memory.as_ref() {
            Some(size) => size.parse()?.bytes(),
            None => DEFAULT_MEMORY.bytes(),
        };
        let wanted = CreateOptions {
            filter: options::filter(filter.as_deref().unwrap_or(FILTER))?,
            memory_bits: CreateOptions::bits_in(memory, slicing, window),
            window,
            slicing,
            rule: match rule {
                Some(text) => text
                    .parse::<FailureRule>()
                    .map_err(|error| errors::invalid(format!("rule: {error}")))?,
                None => FailureRule::Unknown,
            },
            recording: None,
            seed: None,
            key: normalization.unwrap_or_default(),
        };
        let opened = py.detach(|| match ClusterStore::open(&address, access.clone()) {
            Err(ClusterError::NotFound { .. }) if create => {
                match ClusterStore::create(&address, access.clone(), &wanted) {
                    // Another process was faster.
                    Err(ClusterError::Exists { .. }) => ClusterStore::open(&address, access),
                    created => created,
                }
            }
            opened => opened,
        });
        let mut store = opened.map_err(of_cluster)?;
        if replicas.is_some() || on_disk {
            let wait = Acknowledgement {
                replicas: replicas.unwrap_or(0),
                on_disk,
                timeout: COPY_TIMEOUT,
            };
            store.set_acknowledgement(Some(wait), Degrade::Count);
        }
        let layout = store.layout();
        Ok(Cluster {
            filter: layout.filter.to_string(),
            seed: layout.seed,
            key: layout.key.clone(),
            address,
            connected: Guarded::with_files(
                "store on Redis",
                Connected {
                    store,
                    claims: HashMap::new(),
                },
            ),
        })
    }

    /// Observes fingerprints. Returns one byte each: 1 for new, 0 for seen, 2 for new because no
    /// slice answered.
    fn observe<'py>(&self, fingerprints: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        self.decide(fingerprints, |store, keys, verdicts| {
            store.observe_batch(keys, verdicts)
        })
    }

    /// Looks fingerprints up; answers as `observe` does.
    fn contains<'py>(&self, fingerprints: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        self.decide(fingerprints, |store, keys, verdicts| {
            store.contains_batch(keys, verdicts)
        })
    }

    /// Sets how many seconds claims last, and their owner.
    fn set_claims(&self, py: Python<'_>, seconds: f64, owner: u64) -> PyResult<()> {
        let lifetime = Duration::try_from_secs_f64(seconds)
            .map_err(|_| errors::invalid(format!("{seconds} is no time in seconds")))?;
        self.connected.short(py, |connected| {
            connected.store.set_claims(lifetime, Some(owner));
        })
    }

    /// Claims a fingerprint. Returns 1 if it is new, 0 if it is recorded, -1 if it is claimed.
    fn claim(&self, py: Python<'_>, fingerprint: u64) -> PyResult<i8> {
        let claim = |connected: &mut Connected| -> Result<i8, ClusterError> {
            if connected.claims.contains_key(&fingerprint) {
                return Ok(-1);
            }
            let claimed = connected.store.claim_batch(&[Fingerprint(fingerprint)])?;
            if claimed.is_contested {
                connected.store.abort(claimed)?;
                return Ok(-1);
            }
            match claimed.verdicts.first() {
                Some(SiteVerdict::Seen) => Ok(0),
                _ => {
                    connected.claims.insert(fingerprint, claimed);
                    Ok(1)
                }
            }
        };
        self.connected.long(py, claim)?.map_err(of_cluster)
    }

    /// Records those of the fingerprints that are claimed; returns their number.
    fn commit(&self, fingerprints: &Bound<'_, PyAny>) -> PyResult<usize> {
        self.end_claims(fingerprints, |store, claimed| store.commit(claimed))
    }

    /// Ends claims without recording their keys; returns the number of those that were claimed.
    fn abort(&self, fingerprints: &Bound<'_, PyAny>) -> PyResult<usize> {
        self.end_claims(fingerprints, |store, claimed| store.abort(claimed))
    }

    /// Lets all claims last as long again as new ones.
    fn renew(&self, py: Python<'_>) -> PyResult<()> {
        let renew = |connected: &mut Connected| -> Result<(), ClusterError> {
            let Connected { store, claims } = connected;
            claims.values().try_for_each(|claimed| store.renew(claimed))
        };
        self.connected.long(py, renew)?.map_err(of_cluster)
    }

    /// Returns what `dedupstore inspect --json` prints.
    fn inspect(&self, py: Python<'_>) -> PyResult<String> {
        let inspect = |connected: &mut Connected| -> Result<String, ClusterError> {
            let warnings = connected.store.warnings();
            let inspection = connected.store.inspect()?;
            Ok(inspection.to_json(&self.address, &warnings).to_string())
        };
        self.connected.long(py, inspect)?.map_err(of_cluster)
    }

    /// Returns how many observations all clients have reported.
    fn observations(&self, py: Python<'_>) -> PyResult<u64> {
        self.connected.long(py, |connected| {
            let counters = connected.store.recorded_counters();
            counters.map_or(0, |counters| counters.observations())
        })
    }

    /// Ends the connection and its claims.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(mut connected) = self.connected.take(py)? else {
            return Ok(());
        };
        py.detach(|| {
            let mut all = Claimed::default();
            connected.claims.into_values().for_each(|it| all.append(it));
            let aborted = connected.store.abort(all);
            connected.store.close();
            aborted
        })
        .map_err(of_cluster)
    }

    /// The address, without its password.
    #[getter]
    fn url(&self) -> String {
        self.address.to_string()
    }
}

impl Cluster {
    fn decide<'py>(
        &self,
        fingerprints: &Bound<'py, PyAny>,
        ask: impl Fn(
            &mut ClusterStore,
            &[Fingerprint],
            &mut Vec<SiteVerdict>,
        ) -> Result<(), ClusterError>
        + Send
        + Sync,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let py = fingerprints.py();
        let given = keys::from_buffer(fingerprints)?;
        let decide = |connected: &mut Connected| -> Result<Vec<u8>, ClusterError> {
            let mut answers = Vec::with_capacity(given.len());
            let mut verdicts = Vec::new();
            for part in given.chunks(BATCH) {
                ask(&mut connected.store, part, &mut verdicts)?;
                answers.extend(verdicts.iter().map(|verdict| match verdict {
                    SiteVerdict::Seen => 0u8,
                    SiteVerdict::New => 1,
                    SiteVerdict::Unknown => 2,
                }));
            }
            Ok(answers)
        };
        let decided = self.connected.long(py, decide)?.map_err(of_cluster)?;
        Ok(PyBytes::new(py, &decided))
    }

    fn end_claims(
        &self,
        fingerprints: &Bound<'_, PyAny>,
        end: impl Fn(&mut ClusterStore, Claimed) -> Result<(), ClusterError> + Send + Sync,
    ) -> PyResult<usize> {
        let given = keys::from_buffer(fingerprints)?;
        let ended = |connected: &mut Connected| -> Result<usize, ClusterError> {
            let (mut all, mut count) = (Claimed::default(), 0);
            for Fingerprint(fingerprint) in &given {
                if let Some(claimed) = connected.claims.remove(fingerprint) {
                    all.append(claimed);
                    count += 1;
                }
            }
            end(&mut connected.store, all).map(|()| count)
        };
        self.connected
            .long(fingerprints.py(), ended)?
            .map_err(of_cluster)
    }
}

fn parsed_slicing(text: String) -> PyResult<Slicing> {
    if let Ok(slices) = text.parse() {
        return Ok(Slicing::Horizontal { slices });
    }
    text.parse()
        .map_err(|error: dedupstore::sites::SlicingError| {
            errors::invalid(format!("slices: expected a number; {error}"))
        })
}
