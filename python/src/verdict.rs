//! The answer to an observation.

use dedupstore as engine;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;

/// The answer to an observation: `Verdict.NEW` or `Verdict.SEEN`.
///
/// There is one object of each, so `is` compares them. A verdict has no truth value, because
/// readers would disagree about which one is true:
///
/// >>> from dedupstore import SeenSet, Verdict
/// >>> SeenSet(memory="1MiB").observe("https://harbour.example/") is Verdict.NEW
/// True
#[pyclass(eq, hash, frozen, module = "dedupstore")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The key was not observed before.
    #[pyo3(name = "NEW")]
    New,
    /// The key was observed before.
    #[pyo3(name = "SEEN")]
    Seen,
}

/// What makes an object again: a function and its arguments.
type Pickled<'py> = (Bound<'py, PyAny>, (Bound<'py, PyAny>, &'static str));

#[pymethods]
impl Verdict {
    /// Whether the key was not observed before.
    #[getter]
    fn is_new(&self) -> bool {
        *self == Verdict::New
    }

    /// Whether the key was observed before.
    #[getter]
    fn is_seen(&self) -> bool {
        *self == Verdict::Seen
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err(
            "a Verdict has no truth value; use .is_new or .is_seen",
        ))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        let getattr = py.import("builtins")?.getattr("getattr")?;
        let class = py.get_type::<Verdict>().into_any();
        Ok((getattr, (class, self.name())))
    }
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::New => "NEW",
            Verdict::Seen => "SEEN",
        }
    }
}

/// The two objects.
struct Objects {
    new: Py<PyAny>,
    seen: Py<PyAny>,
}

static OBJECTS: PyOnceLock<Objects> = PyOnceLock::new();

fn objects(py: Python<'_>) -> PyResult<&Objects> {
    OBJECTS.get_or_try_init(py, || {
        let class = py.get_type::<Verdict>();
        let object = |verdict: Verdict| class.getattr(verdict.name()).map(Bound::unbind);
        Ok(Objects {
            new: object(Verdict::New)?,
            seen: object(Verdict::Seen)?,
        })
    })
}

impl Objects {
    #[inline]
    fn of(&self, verdict: engine::Verdict) -> &Py<PyAny> {
        match verdict {
            engine::Verdict::New => &self.new,
            engine::Verdict::Seen => &self.seen,
        }
    }
}

/// Returns the object of a verdict.
#[inline]
pub fn object(py: Python<'_>, verdict: engine::Verdict) -> PyResult<Py<PyAny>> {
    Ok(objects(py)?.of(verdict).clone_ref(py))
}

/// Returns a list of verdicts.
pub fn list<'py>(py: Python<'py>, verdicts: &[engine::Verdict]) -> PyResult<Bound<'py, PyList>> {
    let objects = objects(py)?;
    let new = verdicts.iter().filter(|it| it.is_new()).count();
    let most = match 2 * new >= verdicts.len() {
        true => engine::Verdict::New,
        false => engine::Verdict::Seen,
    };
    // Python repeats one object much faster than the stable interface sets one after the other.
    let one = PyList::new(py, [objects.of(most).bind(py)])?;
    let list = one.as_sequence().repeat(verdicts.len())?;
    let list = list.cast_into::<PyList>()?;
    for (index, &verdict) in verdicts.iter().enumerate() {
        if verdict != most {
            list.set_item(index, objects.of(verdict).bind(py))?;
        }
    }
    Ok(list)
}

/// Returns one byte per verdict: 1 for New, 0 for Seen.
pub fn bytes(verdicts: &[engine::Verdict]) -> Vec<u8> {
    verdicts.iter().map(|it| u8::from(it.is_new())).collect()
}
