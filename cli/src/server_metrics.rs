//! Metrics and a health check of `serve`, over HTTP.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dedupstore_server::Counters;

use crate::http_content::Content;
use crate::http_server::HttpServer;

const TEXT: &str = "text/plain; charset=utf-8";
/// The media type of Prometheus's text format.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Serves `/metrics` and `/health` on a thread. Returns the address.
pub fn start(address: SocketAddr, counters: Arc<Counters>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    let server = Arc::new(HttpServer::of(move |name| content(name, &counters)));
    std::thread::Builder::new()
        .name("dedupstore metrics".to_owned())
        .spawn(move || server.serve(&listener))?;
    Ok(address)
}

fn content(name: &str, counters: &Counters) -> Option<Content> {
    let text = |status, content_type, text: String| Some(Content::text(status, content_type, text));
    match (name, counters.ready.load(Ordering::Acquire)) {
        ("metrics", _) => text("200 OK", PROMETHEUS, counters.prometheus()),
        ("health", true) => text("200 OK", TEXT, "ready\n".to_owned()),
        ("health", false) => text("503 Service Unavailable", TEXT, "not ready\n".to_owned()),
        _ => None,
    }
}
