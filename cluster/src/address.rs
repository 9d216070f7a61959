//! The address of a store on Redis, and the secrets that reach it.

use std::fmt;
use std::str::FromStr;

use crate::error::ClusterError;

const DEFAULT_PORT: u16 = 6379;
const LONGEST_NAME_BYTES: usize = 200;

/// The address of a store: `redis://host:port/NAME`, or `rediss://` with TLS.
///
/// Any node of a cluster serves as the host; the others are found through it. Its text form never
/// contains the password.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterAddress {
    /// The host of one node.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Whether connections use TLS.
    pub tls: bool,
    /// The name of the store.
    pub name: String,
    /// The user and the password, if the address has them.
    pub credentials: Credentials,
}

/// A user and a password.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// The user; Redis calls the unnamed one `default`.
    pub username: Option<String>,
    /// The password.
    pub password: Option<String>,
}

impl FromStr for ClusterAddress {
    type Err = ClusterError;

    fn from_str(text: &str) -> Result<Self, ClusterError> {
        // The text may contain a password, so messages do not repeat it.
        let wrong = |reason: &str| {
            ClusterError::Address(format!("{reason}; expected redis://host:port/NAME"))
        };
        let (tls, rest) = match (
            text.strip_prefix("redis://"),
            text.strip_prefix("rediss://"),
        ) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => {
                return Err(wrong(
                    "the address begins with neither redis:// nor rediss://",
                ));
            }
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, host) = match authority.rsplit_once('@') {
            Some((login, host)) => (Some(login), host),
            None => (None, authority),
        };
        let (host, port) = match host.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                let number = port.parse::<u16>().ok().filter(|&it| it > 0);
                let no_port = "what follows the colon of the host is no port (in a password, `/` is \
                               written %2F)";
                let number = number.ok_or_else(|| wrong(no_port))?;
                (host, number)
            }
            _ => (host, DEFAULT_PORT),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(wrong("the address has no host"));
        }
        let name = decoded(path).ok_or_else(|| wrong("the name of the store is no valid text"))?;
        if name.is_empty() {
            return Err(wrong("the address has no name of a store"));
        }
        if name.len() > LONGEST_NAME_BYTES || name.chars().any(char::is_control) {
            let reason = format!(
                "the name of a store has at most {LONGEST_NAME_BYTES} bytes and no control characters"
            );
            return Err(wrong(&reason));
        }
        let mut credentials = Credentials::default();
        if let Some(login) = login {
            let (user, password) = match login.split_once(':') {
                Some((user, password)) => (user, Some(password)),
                None => ("", Some(login)),
            };
            let no_text = || wrong("the user or password in the address is no valid text");
            let part = |text: &str| decoded(text).ok_or_else(no_text);
            credentials.username = Some(part(user)?).filter(|user| !user.is_empty());
            credentials.password = password.map(part).transpose()?;
        }
        Ok(ClusterAddress {
            host: host.to_owned(),
            port,
            tls,
            name,
            credentials,
        })
    }
}

fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        bytes.push(match byte {
            b'%' => {
                let (digits, after) = after.split_first_chunk::<2>()?;
                rest = after;
                // `from_str_radix` would accept a sign.
                let digit = |at: usize| char::from(digits[at]).to_digit(16);
                u8::try_from(16 * digit(0)? + digit(1)?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

impl ClusterAddress {
    /// Returns the address of the node, without the name of the store.
    pub fn node(&self) -> String {
        node_name(&self.host, self.port)
    }
}

/// Returns `host:port`, with brackets around an IPv6 address.
pub(crate) fn node_name(host: &str, port: u16) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

/// Without user and password.
impl fmt::Display for ClusterAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "rediss" } else { "redis" };
        write!(f, "{scheme}://{}/{}", self.node(), self.name)
    }
}

impl fmt::Debug for ClusterAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(…)")
    }
}

impl Credentials {
    /// Returns these credentials, with what is missing taken from the environment: the variables
    /// `DEDUPSTORE_USERNAME`, `DEDUPSTORE_PASSWORD`, and `DEDUPSTORE_PASSWORD_FILE`, which names a
    /// file with the password.
    pub fn or_environment(self) -> Result<Self, ClusterError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let from_file = || -> Result<Option<String>, ClusterError> {
            let Some(path) = variable("DEDUPSTORE_PASSWORD_FILE") else {
                return Ok(None);
            };
            match std::fs::read_to_string(&path) {
                Ok(text) => Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned())),
                Err(error) => Err(ClusterError::Secret {
                    what: "the password",
                    path,
                    error,
                }),
            }
        };
        let password = match self.password.or_else(|| variable("DEDUPSTORE_PASSWORD")) {
            Some(password) => Some(password),
            None => from_file()?,
        };
        Ok(Credentials {
            username: self.username.or_else(|| variable("DEDUPSTORE_USERNAME")),
            password,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed_and_hide_their_password() {
        let address: ClusterAddress = "rediss://crawler:p%40ss@cache.example:7000/links/a"
            .parse()
            .expect("valid");
        assert_eq!(
            (address.host.as_str(), address.port),
            ("cache.example", 7000)
        );
        assert!(address.tls);
        assert_eq!(address.name, "links/a");
        assert_eq!(address.credentials.username.as_deref(), Some("crawler"));
        assert_eq!(address.credentials.password.as_deref(), Some("p@ss"));
        let shown = format!("{address} {address:?} {:?}", address.credentials);
        assert!(
            !shown.contains("p@ss") && !shown.contains("crawler"),
            "{shown}"
        );
        let address: ClusterAddress = "redis://[::1]/x".parse().expect("valid");
        assert_eq!((address.host.as_str(), address.port), ("::1", 6379));
        assert_eq!(address.to_string(), "redis://[::1]:6379/x");
    }

    #[test]
    fn wrong_addresses_say_what_is_wrong_and_not_the_password() {
        for (text, reason) in [
            ("http://h/x", "redis://"),
            ("redis://:secret@/x", "no host"),
            ("redis://:secret@h:port/x", "is no port"),
            ("redis://user:secret/word@h/x", "is no port"),
            ("redis://h:0/x", "is no port"),
            ("redis://h:7000", "no name"),
            ("redis://h:7000/a%2", "no valid text"),
            ("redis://h:7000/a%+2", "no valid text"),
            ("redis://h:7000/a%0Ab", "control characters"),
        ] {
            let error = text.parse::<ClusterAddress>().expect_err(text).to_string();
            assert!(error.contains(reason), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
