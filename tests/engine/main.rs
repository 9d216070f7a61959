//! The tests of the engine, by its library. One program, so that it is linked once and its
//! tests share the processors; a test that changes the process for others has no place here.

mod advice;
mod audit;
mod beside;
mod conformance;
mod crash_laboratory;
mod filter_pages;
mod format;
mod inside;
mod oracles;
mod oracles_ours;
mod papers;
mod stand_in;
mod store;
mod store_in_memory;
mod theory;
mod tidy;
mod upkeep;
