//! TLS: for a server, from files in PEM form; for a client, with the certificates of the system.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

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
    /// A client trusts nobody.
    #[error(
        "there is no certificate to check the server's with{}; set SSL_CERT_FILE to a file in PEM \
         form that has the certificate of the server's authority", reason(.0)
    )]
    NoAuthorities(Option<String>),
}

fn reason(error: &Option<String>) -> String {
    error
        .as_ref()
        .map_or_else(String::new, |it| format!(" ({it})"))
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

/// Returns what a client needs: the authorities that the system trusts, or those in the file that the
/// environment variable `SSL_CERT_FILE` names.
pub fn client_tls() -> Result<Arc<ClientConfig>, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    let mut authorities = RootCertStore::empty();
    authorities.add_parsable_certificates(found.certs);
    if authorities.is_empty() {
        let error = found.errors.first().map(ToString::to_string);
        return Err(TlsError::NoAuthorities(error));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(authorities)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
