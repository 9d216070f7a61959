//! Work that is compiled for vector instructions, but outside of the loop that needs it: what is
//! rare and large would slow down the rest of the loop.

use super::{LineVectors, VectorWork, Vectors};

/// Work that can be compiled for any vector instructions, or for none.
pub trait AnyVectorWork {
    /// Does the work. Implementations must be `inline(always)`.
    fn run(self, vectors: Vectors);
}

impl Vectors {
    /// Does work that is compiled for these instructions.
    #[inline]
    pub fn run(self, work: impl AnyVectorWork) {
        match_vectors!(
            self,
            Portable => work.run(self),
            vectors => vectors.run(work),
        );
    }
}

impl<V: LineVectors, W: AnyVectorWork> VectorWork<V> for W {
    #[inline(always)]
    fn run(self, vectors: V) {
        AnyVectorWork::run(self, vectors.into());
    }
}
