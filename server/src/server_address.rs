//! Addresses of servers: `redis://[user:password@]host[:port]/store`, `rediss://` for TLS, and
//! `redis+unix:///path?store=name`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The port of Redis.
pub const DEFAULT_PORT: u16 = 6379;

/// The address of a store on a server.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddress {
    /// Where the server is.
    pub endpoint: Endpoint,
    /// The password, if there is one.
    pub password: Option<Vec<u8>>,
    /// The name of the store.
    pub store: Vec<u8>,
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A host and a port.
    Tcp(String, u16),
    /// A host and a port, over TLS.
    Tls(String, u16),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// What is wrong with an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It begins with another scheme.
    #[error("expected redis://host:port/store, rediss://… or redis+unix:///path?store=name")]
    Scheme,
    /// There is no host.
    #[error("there is no host; expected redis://host:port/store")]
    Host,
    /// The port is no number.
    // The text may be a part of a password that contains a slash, so it is not repeated.
    #[error("what follows the colon of the host is no port (in a password, `/` is written %2F)")]
    Port,
    /// There is no store.
    #[error("there is no name of a store; expected redis://host:port/store")]
    Store,
    /// A percent sign is not followed by two hexadecimal digits.
    #[error("`%` must be followed by two hexadecimal digits")]
    Encoding,
}

impl ServerAddress {
    /// Returns whether a text is meant as an address of a server, not as a path.
    pub fn is_address(text: &str) -> bool {
        ["redis://", "rediss://", "redis+unix://"]
            .iter()
            .any(|scheme| text.starts_with(scheme))
    }
}

impl FromStr for ServerAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some(rest) = text.strip_prefix("redis+unix://") {
            return unix(rest);
        }
        let (endpoint, rest): (fn(String, u16) -> Endpoint, _) = match (
            text.strip_prefix("redis://"),
            text.strip_prefix("rediss://"),
        ) {
            (Some(rest), _) => (Endpoint::Tcp, rest),
            (None, Some(rest)) => (Endpoint::Tls, rest),
            (None, None) => return Err(AddressError::Scheme),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (credentials, host) = match authority.rsplit_once('@') {
            Some((credentials, host)) => (Some(credentials), host),
            None => (None, authority),
        };
        let (host, port) = match host.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                let number = port.parse().map_err(|_| AddressError::Port)?;
                (host, number)
            }
            _ => (host, DEFAULT_PORT),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(AddressError::Host);
        }
        let password = match credentials {
            Some(text) => Some(decoded(text.split_once(':').map_or(text, |(_, it)| it))?),
            None => None,
        };
        Ok(ServerAddress {
            endpoint: endpoint(host.to_owned(), port),
            password,
            store: store(path)?,
        })
    }
}

fn unix(rest: &str) -> Result<ServerAddress, AddressError> {
    let (path, query) = rest.split_once('?').ok_or(AddressError::Store)?;
    let name = query.strip_prefix("store=").ok_or(AddressError::Store)?;
    if !path.starts_with('/') {
        return Err(AddressError::Host);
    }
    let path = String::from_utf8(decoded(path)?).map_err(|_| AddressError::Encoding)?;
    Ok(ServerAddress {
        endpoint: Endpoint::Unix(PathBuf::from(path)),
        password: None,
        store: store(name)?,
    })
}

fn store(text: &str) -> Result<Vec<u8>, AddressError> {
    match text {
        "" => Err(AddressError::Store),
        text => decoded(text),
    }
}

fn decoded(text: &str) -> Result<Vec<u8>, AddressError> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        bytes.push(match byte {
            b'%' => {
                let (digits, after) = after.split_first_chunk().ok_or(AddressError::Encoding)?;
                rest = after;
                escaped(digits).ok_or(AddressError::Encoding)?
            }
            byte => byte,
        });
    }
    Ok(bytes)
}

/// Returns the byte of two hexadecimal digits. `from_str_radix` would accept a sign.
fn escaped(digits: &[u8; 2]) -> Option<u8> {
    let digit = |at: usize| char::from(digits[at]).to_digit(16);
    u8::try_from(16 * digit(0)? + digit(1)?).ok()
}

/// Without the password.
impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let store = String::from_utf8_lossy(&self.store);
        let (scheme, host, port) = match &self.endpoint {
            Endpoint::Tcp(host, port) => ("redis", host, port),
            Endpoint::Tls(host, port) => ("rediss", host, port),
            Endpoint::Unix(path) => {
                return write!(f, "redis+unix://{}?store={store}", path.display());
            }
        };
        match host.contains(':') {
            true => write!(f, "{scheme}://[{host}]:{port}/{store}"),
            false => write!(f, "{scheme}://{host}:{port}/{store}"),
        }
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed() {
        let parsed = |text: &str| text.parse::<ServerAddress>();
        let address = parsed("redis://127.0.0.1:7000/links").expect("valid");
        assert_eq!(
            address.endpoint,
            Endpoint::Tcp("127.0.0.1".to_owned(), 7000)
        );
        assert_eq!((address.store, address.password), (b"links".to_vec(), None));
        let address = parsed("redis://:p%40ss@[::1]/a%2Fb").expect("valid");
        assert_eq!(
            address.endpoint,
            Endpoint::Tcp("::1".to_owned(), DEFAULT_PORT)
        );
        assert_eq!(address.password.as_deref(), Some(&b"p@ss"[..]));
        assert_eq!(address.to_string(), "redis://[::1]:6379/a/b");
        let address = parsed("rediss://host/links").expect("valid");
        assert_eq!(
            address.endpoint,
            Endpoint::Tls("host".to_owned(), DEFAULT_PORT)
        );
        assert_eq!(address.to_string(), "rediss://host:6379/links");
        let address = parsed("redis+unix:///run/dedup.sock?store=links").expect("valid");
        assert_eq!(address.endpoint, Endpoint::Unix("/run/dedup.sock".into()));
        for (text, error) in [
            ("redis://host", AddressError::Store),
            ("redis://host/", AddressError::Store),
            ("redis:///links", AddressError::Host),
            ("redis://host:x/links", AddressError::Port),
            ("redis://user:secret/word@host/links", AddressError::Port),
            ("http://host/links", AddressError::Scheme),
            ("redis://host/a%2", AddressError::Encoding),
            ("redis://host/a%+2", AddressError::Encoding),
            ("redis+unix:///run/x", AddressError::Store),
        ] {
            assert_eq!(parsed(text), Err(error), "{text}");
        }
    }
}
