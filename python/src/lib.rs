//! The engine of the Python package `dedupstore`; docs/PYTHON.md describes the package.
//!
//! Classes are frozen and have a lock inside ([`guarded`]), so that threads can share them. Batches
//! and everything that waits for a disk run without Python's global lock.
//!
//! **Invariant:** no thread waits for the global lock while it holds the lock of an object.

mod advice;
mod claim;
mod cluster;
mod errors;
mod guarded;
mod hashing;
mod json;
mod keys;
mod map_reduce;
mod options;
mod read_only;
mod seen_set;
mod shared_store;
mod simulation;
mod store;
mod store_hasher;
mod verdict;

use pyo3::prelude::*;

/// The functions and classes of `dedupstore`. Import that package.
#[pymodule(gil_used = false)]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<verdict::Verdict>()?;
    module.add_class::<claim::Claim>()?;
    module.add_class::<seen_set::SeenSet>()?;
    module.add_class::<store::Store>()?;
    module.add_class::<shared_store::SharedStore>()?;
    module.add_class::<read_only::ReadOnlyStore>()?;
    module.add_class::<cluster::Cluster>()?;
    module.add_class::<hashing::KeyHasher>()?;
    module.add_class::<map_reduce::RowPartitions>()?;
    module.add_class::<map_reduce::RowPartition>()?;
    module.add_function(wrap_pyfunction!(advice::advise, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(hashing::normalize, module)?)?;
    module.add_function(wrap_pyfunction!(cluster::server_kind, module)?)?;
    module.add_function(wrap_pyfunction!(store::inspect, module)?)?;
    module.add_function(wrap_pyfunction!(map_reduce::combine, module)?)?;
    Ok(())
}
