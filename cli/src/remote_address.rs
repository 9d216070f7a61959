//! What the address in place of a path stands for: a server of `dedupstore serve`, or Redis.

use std::path::Path;

use dedupstore_cluster::{Access, ClusterAddress, ClusterError, ServerKind};
use dedupstore_server::ServerAddress;

use crate::error::Failure;

/// What an address stands for.
#[derive(Clone, Debug)]
pub enum RemoteAddress {
    /// A store that `dedupstore serve` owns.
    Serve(ServerAddress),
    /// A store in slices on Redis Cluster, Valkey or one Redis.
    Cluster(ClusterAddress, Box<Access>),
}

/// Returns what a path stands for, if it is an address. Asks the server which of the two it is.
pub fn address_of(path: &Path) -> Option<Result<RemoteAddress, Failure>> {
    let text = path
        .to_str()
        .filter(|text| ServerAddress::is_address(text))?;
    Some(resolve(text))
}

fn resolve(text: &str) -> Result<RemoteAddress, Failure> {
    // The text may contain a password.
    let wrong =
        |error: &dyn std::fmt::Display| Failure::Usage(format!("the address of a server: {error}"));
    let of_serve = || -> Result<RemoteAddress, Failure> {
        let parsed = text
            .parse::<ServerAddress>()
            .map_err(|error| wrong(&error))?;
        Ok(RemoteAddress::Serve(parsed))
    };
    if text.starts_with("redis+unix://") {
        return of_serve();
    }
    let address: ClusterAddress = text.parse().map_err(|error: ClusterError| wrong(&error))?;
    let failed = |error| Failure::cluster(&address)(error);
    let access = Access::of(&address).map_err(failed)?;
    match ServerKind::of(&address, &access) {
        Ok(ServerKind::Serve) => match of_serve()? {
            RemoteAddress::Serve(mut server) => {
                let password = access.credentials.password;
                server.password = server.password.or(password.map(String::into_bytes));
                Ok(RemoteAddress::Serve(server))
            }
            other => Ok(other),
        },
        Ok(ServerKind::Redis) => Ok(RemoteAddress::Cluster(address, Box::new(access))),
        // The client of `serve` says more about certificates.
        Err(ClusterError::Connect { .. }) if address.tls => of_serve(),
        Err(error) => Err(failed(error)),
    }
}
