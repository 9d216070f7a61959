//! TLS for a server, from files in PEM form.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file holds no certificate or no key.
    #[error("cannot read {}: {error}; expected {expected} in PEM form", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What it should contain.
        expected: &'static str,
        /// What is wrong.
        error: String,
    },
    /// Certificate and key cannot be used.
    #[error("cannot use the certificate and its key: {0}")]
    Configuration(#[from] rustls::Error),
}

/// Reads a certificate chain and its private key.
pub fn server_tls(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let failed = |path: &Path, expected| {
        let path = path.to_owned();
        move |error: rustls::pki_types::pem::Error| TlsError::File {
            path,
            expected,
            error: error.to_string(),
        }
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(failed(certificate, "a certificate"))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(failed(key, "a private key"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    Ok(Arc::new(config))
}
