//! Stores on real Redis servers, which the tests start and stop.

mod agreement;
mod bad_input;
mod campaign;
mod durability;
mod failures;
mod kills;
mod leaves;
mod races;
mod resharding;
mod servers;
mod stores;
mod windows;
