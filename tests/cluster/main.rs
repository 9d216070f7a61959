//! Stores on real Redis servers, which the tests start and stop.

mod agreement;
mod bad_input;
mod durability;
mod failures;
mod leaves;
mod races;
mod resharding;
mod servers;
mod stores;
