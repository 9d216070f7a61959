//! The Redis protocol, RESP: requests, replies, and both sides of them.
//!
//! All functions work over bytes. Nothing here knows sockets or stores.

pub mod reply;
pub mod request;
pub mod value;

pub use request::{Arguments, Parsed, ProtocolError, RequestParser};
pub use value::{Value, ValueParser};
