//! Claims: keys that are being worked on and not recorded yet.

use std::sync::Mutex;

use dedupstore::Fingerprint;
use dedupstore::store::{self, Ticket};
use pyo3::prelude::*;

use crate::errors;

/// The answer to `Store.claim`. If `is_new`, the key is yours to work on; hand the claim to
/// `Store.commit` when the work is done, or to `Store.abort` if it has failed.
#[pyclass(frozen, module = "dedupstore")]
pub struct Claim {
    state: &'static str,
    #[pyo3(get)]
    /// The fingerprint of the key.
    fingerprint: u64,
    ticket: Mutex<Option<Ticket>>,
}

#[pymethods]
impl Claim {
    /// `"new"`, `"seen"` (recorded) or `"pending"` (claimed, and neither committed nor aborted).
    #[getter]
    fn state(&self) -> &'static str {
        self.state
    }

    /// Whether the key is new and yours to work on.
    #[getter]
    fn is_new(&self) -> bool {
        self.state == "new"
    }

    /// Whether the key is recorded.
    #[getter]
    fn is_seen(&self) -> bool {
        self.state == "seen"
    }

    /// Whether the key is claimed, and neither committed nor aborted.
    #[getter]
    fn is_pending(&self) -> bool {
        self.state == "pending"
    }

    fn __repr__(&self) -> String {
        format!("<Claim {} of {:#018x}>", self.state, self.fingerprint)
    }
}

impl Claim {
    pub fn new(fingerprint: Fingerprint, claim: store::Claim) -> Self {
        let (state, ticket) = match claim {
            store::Claim::New(ticket) => ("new", Some(ticket)),
            store::Claim::Seen => ("seen", None),
            store::Claim::Pending => ("pending", None),
        };
        Claim {
            state,
            fingerprint: fingerprint.0,
            ticket: Mutex::new(ticket),
        }
    }

    /// Takes the ticket, which can be used once.
    pub fn ticket(&self) -> PyResult<Ticket> {
        let ticket = self.ticket.lock().ok().and_then(|mut ticket| ticket.take());
        ticket.ok_or_else(|| match self.state {
            "new" => errors::invalid("the claim is already committed or aborted"),
            state => errors::invalid(format!("the key is {state}; only a new key is claimed")),
        })
    }
}

/// A claim, or the fingerprint of a claimed key.
#[derive(FromPyObject)]
pub enum Claimed<'py> {
    Claim(Bound<'py, Claim>),
    Fingerprint(u64),
}
