//! Stores on real Redis servers, which the tests start and stop.

mod agreement;
mod servers;
mod stores;
