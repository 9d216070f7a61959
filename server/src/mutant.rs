//! Mutants: bugs that the exploration of interleavings plants in a server and must find.
//!
//! Only with the feature `mutants`. Without it, [`planted`] is always false.

/// A bug that a server like this could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Mutant {
    /// A batch is answered while the log thread may still be writing its keys.
    AnsweredBeforeWritten,
    /// A reply reaches the connection that got the number of a closed one.
    AnsweredToSuccessor,
    /// A round is answered when the first of its stores has answered.
    AnsweredByFirstStore,
    /// The event loop is not woken by the answer of a store.
    NoWakeOfEventLoop,
    /// A server that stops closes connections that wait for a store.
    StoppedBeforeAnswered,
}

#[cfg(feature = "mutants")]
impl Mutant {
    /// Every mutant.
    pub const ALL: [Mutant; 5] = [
        Mutant::AnsweredBeforeWritten,
        Mutant::AnsweredToSuccessor,
        Mutant::AnsweredByFirstStore,
        Mutant::NoWakeOfEventLoop,
        Mutant::StoppedBeforeAnswered,
    ];
}

#[cfg(feature = "mutants")]
mod planting {
    use std::cell::Cell;

    use super::Mutant;

    thread_local! {
        static PLANTED: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    /// Plants a bug in the servers of this thread, or removes it.
    pub fn plant(mutant: Option<Mutant>) {
        PLANTED.set(mutant);
    }

    /// Returns whether this bug is planted.
    pub fn planted(mutant: Mutant) -> bool {
        PLANTED.get() == Some(mutant)
    }
}

#[cfg(feature = "mutants")]
pub use planting::{plant, planted};

/// Returns whether this bug is planted: never, without the feature `mutants`.
#[cfg(not(feature = "mutants"))]
#[inline(always)]
pub const fn planted(_: Mutant) -> bool {
    false
}
