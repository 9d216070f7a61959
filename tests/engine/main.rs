//! The tests of the engine, by its library. One program, so that it is linked once and its
//! tests share the processors; a test that changes the process for others has no place here.

mod advice;
mod arbitrary;
mod audit;
mod concurrent_readers;
mod conformance;
mod crash_laboratory;
mod custom_filter;
mod documents;
mod errors;
mod examples;
mod filter_pages;
mod forgetting;
mod format;
mod hostile_files;
mod inside;
mod key_lookup;
mod layers;
mod live_inspection;
mod long_run;
mod measured_rates;
mod merging;
mod missing_files;
mod older_image_fallback;
mod options;
mod oracles;
mod papers;
mod registered_filters;
mod source_files;
mod store;
mod store_in_memory;
mod theory;
mod tidy;
mod timed_stores;
mod verify_and_repair;
mod windows;
