//! What the formulas say.

mod gaps;

pub use gaps::{GapBucket, GapHistogram};
