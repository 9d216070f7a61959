//! The phases of Map-Reduce (Dutta et al., 2013, §5.3), for workers on a cluster.

use dedupstore::sites::{self, PartitionError, RowEntry};
use dedupstore::{KeyHasher, Registers};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::guarded::Guarded;
use crate::options::{self, Size};
use crate::{errors, keys};

/// The rows of a streaming quotient filter, divided among reduce workers.
#[pyclass(frozen, module = "dedupstore")]
pub struct RowPartitions {
    plan: sites::RowPartitions,
    hasher: KeyHasher,
}

/// The state of one reduce worker.
#[pyclass(frozen, module = "dedupstore")]
pub struct RowPartition {
    partition: Guarded<sites::RowPartition>,
}

#[pymethods]
impl RowPartitions {
    #[new]
    #[pyo3(signature = (filter="sqf", *, memory, workers, seed=0))]
    fn new(filter: &str, memory: Size, workers: usize, seed: u64) -> PyResult<Self> {
        let filter = options::filter(filter)?;
        let plan = sites::RowPartitions::new(&filter, memory.parse()?.bits(), workers);
        Ok(RowPartitions {
            plan: checked(plan)?,
            hasher: KeyHasher::new(seed),
        })
    }

    /// The number of reduce workers.
    #[getter]
    fn count(&self) -> usize {
        self.plan.count()
    }

    /// Returns the empty state of a reduce worker.
    fn empty(&self, index: usize) -> PyResult<RowPartition> {
        let partition = self.plan.empty(self.hasher.seed()).into_iter().nth(index);
        let partition =
            partition.ok_or_else(|| errors::invalid(format!("there is no worker {index}")))?;
        Ok(RowPartition {
            partition: Guarded::in_memory("partition", partition),
        })
    }

    /// Returns a reduce worker from its state; see `RowPartition.state`.
    fn resume(&self, index: usize, bytes: Vec<u8>, registers: &[u8]) -> PyResult<RowPartition> {
        let registers = registers.try_into().map(Registers::from_bytes);
        let registers = registers.map_err(|_| errors::invalid("these are no registers"))?;
        let partition = checked(self.plan.resume(index, bytes, registers))?;
        Ok(RowPartition {
            partition: Guarded::in_memory("partition", partition),
        })
    }

    /// Map, combine and route phases: returns the entries of a part of a block, as bytes, one per
    /// reduce worker. The first key of the part is at `position` in the block.
    fn map<'py>(&self, keys: &Bound<'py, PyAny>, position: u32) -> PyResult<Bound<'py, PyList>> {
        let py = keys.py();
        let fingerprints = keys::fingerprints(&self.hasher, keys)?;
        let routed = py.detach(|| {
            let combined = sites::combine(self.plan.map(&fingerprints, position));
            let routed = self.plan.route(&combined.first);
            routed
                .iter()
                .map(|entries| RowEntry::encode(entries))
                .collect::<Vec<_>>()
        });
        PyList::new(py, routed.iter().map(|it| PyBytes::new(py, it)))
    }

    /// Reduce phase: decides about the entries of a block that belong to a reduce worker, from any
    /// number of map workers, in any order. Returns the positions of new keys. Every worker must be
    /// called for every block, also without entries.
    fn reduce(
        &self,
        py: Python<'_>,
        partition: &RowPartition,
        entries: Vec<Bound<'_, PyBytes>>,
        block_length: u32,
    ) -> PyResult<Vec<u32>> {
        let entries = decode(&entries)?;
        let reduced = partition.partition.long(py, |partition| {
            self.plan.reduce(partition, entries, block_length)
        })?;
        let mut new = checked(reduced)?.new;
        new.sort_unstable();
        Ok(new)
    }
}

#[pymethods]
impl RowPartition {
    /// The bytes of the rows, and the registers: the whole state.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let (bytes, registers) = self
            .partition
            .long(py, |it| (it.bytes().to_vec(), it.registers().to_bytes()))?;
        Ok((PyBytes::new(py, &bytes), PyBytes::new(py, &registers)))
    }
}

/// Keeps the first entry per row and signature, of entries from several map workers. A reduce
/// worker does this anyway; a cluster may do it earlier, to send less.
#[pyfunction]
pub fn combine<'py>(
    py: Python<'py>,
    entries: Vec<Bound<'py, PyBytes>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let combined = sites::combine(decode(&entries)?);
    Ok(PyBytes::new(py, &RowEntry::encode(&combined.first)))
}

fn decode(parts: &[Bound<'_, PyBytes>]) -> PyResult<Vec<RowEntry>> {
    let mut entries = Vec::new();
    for part in parts {
        let decoded = RowEntry::decode(part.as_bytes());
        entries.extend(decoded.map_err(|error| errors::invalid(error.to_string()))?);
    }
    Ok(entries)
}

fn checked<T>(result: Result<T, PartitionError>) -> PyResult<T> {
    result.map_err(|error| errors::invalid(error.to_string()))
}
