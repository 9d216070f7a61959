//! What answers at an address: Redis or Valkey, or `dedupstore serve`.

use crate::address::ClusterAddress;
use crate::error::ClusterError;
use crate::node::{Access, reason_of};
use crate::router::text;

/// What answers at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// Redis or Valkey, or something that speaks like it: a store is kept there in slices.
    Redis,
    /// `dedupstore serve`, which owns its stores.
    Serve,
}

impl ServerKind {
    /// Asks the server: `INFO server` of `dedupstore serve` has a line `dedupstore_version`. A server
    /// that does not answer `INFO` is a Redis.
    pub fn of(address: &ClusterAddress, access: &Access) -> Result<Self, ClusterError> {
        let mut node = access.connect(&address.host, address.port)?;
        let answer = node.call(redis::cmd("INFO").arg("server"), access.answer_timeout);
        let is_serve = match answer {
            Ok(answer) => text(&answer).contains("dedupstore_version:"),
            // With TLS, a certificate that is not trusted shows only now.
            Err(error) if error.is_io_error() => {
                return Err(ClusterError::Connect {
                    node: address.node(),
                    reason: reason_of(&error),
                });
            }
            Err(_) => false,
        };
        Ok(match is_serve {
            true => ServerKind::Serve,
            false => ServerKind::Redis,
        })
    }
}
