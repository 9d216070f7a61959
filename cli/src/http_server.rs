//! A minimal HTTP/1.1 server, for the page on the local machine and for metrics.
//!
//! It serves content from memory, answers GET and HEAD, and one request per connection. For the
//! page, the Host header must name this machine. Otherwise a page of another site could reach the
//! server through a DNS name that resolves to this machine (DNS rebinding).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A file: its name without a leading slash, and its bytes.
pub type File = (&'static str, &'static [u8]);

/// The size of a request from which it is rejected.
const MAX_REQUEST_BYTES: usize = 16 << 10;
const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_CONNECTIONS: usize = 64;

const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
                      img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What is served under a name without a leading slash.
pub struct Content {
    pub status: &'static str,
    pub content_type: &'static str,
    pub bytes: Cow<'static, [u8]>,
}

type Respond = Box<dyn Fn(&str) -> Option<Content> + Send + Sync>;

/// Serves content by its name.
pub struct HttpServer {
    content: Respond,
    /// The port that the Host header must name together with this machine; None for any header.
    local_port: Option<u16>,
    connections: Mutex<Connections>,
}

/// The open connections, by number.
#[derive(Default)]
struct Connections {
    /// The number of the next one; older ones have lower numbers.
    next: u64,
    open: BTreeMap<u64, Connection>,
}

struct Connection {
    stream: TcpStream,
    /// Whether no complete request has arrived yet. Browsers open such connections in advance.
    is_idle: bool,
}

impl Connections {
    /// Adds a connection; returns its number. If there are too many, closes the one that has been
    /// idle for the longest time. Returns None if none is idle.
    fn add(&mut self, stream: TcpStream) -> Option<u64> {
        if self.open.len() >= MAX_CONNECTIONS {
            let idle = self.open.iter().find(|(_, connection)| connection.is_idle);
            let number = *idle?.0;
            let connection = self.open.remove(&number)?;
            // Its thread then finds the end of the request, and ends.
            let _ = connection.stream.shutdown(Shutdown::Both);
        }
        let number = self.next;
        self.next += 1;
        let connection = Connection {
            stream,
            is_idle: true,
        };
        self.open.insert(number, connection);
        Some(number)
    }
}

impl HttpServer {
    /// Serves a fixed set of files, to this machine only.
    pub fn new(files: &'static [File], port: u16) -> Self {
        let content = |name: &str| {
            let name = if name.is_empty() { "index.html" } else { name };
            let (name, bytes) = files.iter().find(|(known, _)| *known == name)?;
            Some(Content {
                status: "200 OK",
                content_type: content_type(name),
                bytes: Cow::Borrowed(*bytes),
            })
        };
        HttpServer {
            content: Box::new(content),
            local_port: Some(port),
            connections: Mutex::default(),
        }
    }

    /// Serves what a function returns, to everybody.
    pub fn of(content: impl Fn(&str) -> Option<Content> + Send + Sync + 'static) -> Self {
        HttpServer {
            content: Box::new(content),
            local_port: None,
            connections: Mutex::default(),
        }
    }

    /// Serves connections until the process ends.
    pub fn serve(self: Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming().flatten() {
            let Ok(copy) = stream.try_clone() else {
                continue;
            };
            let Some(number) = self.connections().add(copy) else {
                continue;
            };
            let this = Arc::clone(&self);
            let work = move || {
                // An error means that the client has disconnected.
                let _ = this.handle_connection(stream, number);
                this.connections().open.remove(&number);
            };
            if std::thread::Builder::new().spawn(work).is_err() {
                self.connections().open.remove(&number);
            }
        }
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        let connections = self.connections.lock();
        connections.unwrap_or_else(PoisonError::into_inner)
    }

    fn handle_connection(&self, mut stream: TcpStream, number: u64) -> io::Result<()> {
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let request = read_request(&mut stream)?;
        match self.connections().open.get_mut(&number) {
            Some(connection) => connection.is_idle = false,
            // It was closed to make room for another one.
            None => return Ok(()),
        }
        let response = self.respond(&request);
        stream.write_all(&response)?;
        stream.shutdown(Shutdown::Write)?;
        // Unread bytes would reset the connection before the client has read the response.
        let mut rest = [0; 1024];
        for _ in 0..64 {
            if stream.read(&mut rest)? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Returns the response to a request.
    fn respond(&self, request: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(request);
        let mut lines = text.split("\r\n");
        let mut words = lines.next().unwrap_or("").split(' ');
        let (method, target, version) = (words.next(), words.next(), words.next());
        let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) =
            (method, target, version, words.next())
        else {
            return error_response("400 Bad Request", "this is not an HTTP request", "");
        };
        let mut hosts = lines
            .take_while(|line| !line.is_empty())
            .filter_map(|line| line.split_once(':'))
            .filter(|(name, _)| name.eq_ignore_ascii_case("host"))
            .map(|(_, value)| value.trim());
        let is_served = match hosts.next() {
            Some(host) => self.is_local(host),
            None => self.local_port.is_none(),
        };
        if !is_served || hosts.next().is_some() {
            let text = "this server accepts requests for 127.0.0.1 and localhost only";
            return error_response("403 Forbidden", text, "");
        }
        if !matches!(method, "GET" | "HEAD") {
            return error_response(
                "405 Method Not Allowed",
                "only GET and HEAD are supported",
                "Allow: GET, HEAD\r\n",
            );
        }
        let path = target.split(['?', '#']).next().unwrap_or("");
        let Some(name) = path.strip_prefix('/') else {
            return error_response("400 Bad Request", "expected a path", "");
        };
        let Some(found) = (self.content)(name) else {
            return error_response("404 Not Found", "no such file", "");
        };
        let length = found.bytes.len();
        let mut response = response_head(found.status, found.content_type, length, "");
        if method == "GET" {
            response.extend_from_slice(&found.bytes);
        }
        response
    }

    fn is_local(&self, host: &str) -> bool {
        let Some(local_port) = self.local_port else {
            return true;
        };
        let (name, port) = host.rsplit_once(':').unwrap_or((host, "80"));
        let local = ["127.0.0.1", "localhost"]
            .iter()
            .any(|local| name.eq_ignore_ascii_case(local));
        local && port == local_port.to_string()
    }
}

fn read_request(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let started = Instant::now();
    let mut request = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let count = stream.read(&mut chunk)?;
        request.extend_from_slice(&chunk[..count]);
        let complete = request.windows(4).any(|end| end == b"\r\n\r\n");
        if complete {
            return Ok(request);
        }
        let timed_out = started.elapsed() > TIMEOUT;
        if count == 0 || timed_out || request.len() > MAX_REQUEST_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

fn error_response(status: &str, text: &str, headers: &str) -> Vec<u8> {
    let text = format!("{text}\n");
    let mut response = response_head(status, "text/plain; charset=utf-8", text.len(), headers);
    response.extend_from_slice(text.as_bytes());
    response
}

fn response_head(status: &str, content_type: &str, length: usize, headers: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\n\
         Content-Type: {content_type}\r\n\
         Content-Length: {length}\r\n\
         Content-Security-Policy: {CONTENT_SECURITY_POLICY}\r\n\
         Cross-Origin-Opener-Policy: same-origin\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n\
         Referrer-Policy: no-referrer\r\n\
         X-Content-Type-Options: nosniff\r\n\
         Cache-Control: no-store\r\n\
         Connection: close\r\n\
         {headers}\r\n"
    )
    .into_bytes()
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or("") {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "wasm" => "application/wasm",
        "json" => "application/json",
        "log" | "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &[File] = &[
        ("index.html", b"<p>hello"),
        ("assets/engine.wasm", b"\0asm"),
        ("assets/page.js", b"1"),
    ];

    fn response_to(request: &str) -> String {
        let server = HttpServer::new(FILES, 4000);
        let request = request.replace('\n', "\r\n");
        String::from_utf8(server.respond(request.as_bytes())).expect("text")
    }

    #[test]
    fn files_are_served_with_content_type_and_security_policy() {
        let page = response_to("GET / HTTP/1.1\nHost: localhost:4000\n\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("\r\n\r\n<p>hello"));
        assert!(page.contains("Content-Type: text/html; charset=utf-8\r\n"));
        assert!(page.contains("Content-Security-Policy: default-src 'none';"));
        let engine = response_to("GET /assets/engine.wasm?x HTTP/1.1\nhost: 127.0.0.1:4000\n\n");
        assert!(engine.contains("Content-Type: application/wasm\r\nContent-Length: 4\r\n"));
        let script = response_to("HEAD /assets/page.js HTTP/1.1\nHost: localhost:4000\n\n");
        assert!(script.contains("text/javascript") && script.contains("Content-Length: 1\r\n"));
        assert!(script.ends_with("\r\n\r\n"), "{script}");
    }

    #[test]
    fn other_requests_are_rejected() {
        let local = "Host: 127.0.0.1:4000\n";
        for (request, status) in [
            (format!("POST / HTTP/1.1\n{local}\n"), "405"),
            (format!("DELETE / HTTP/1.1\n{local}\n"), "405"),
            (format!("GET /../secret HTTP/1.1\n{local}\n"), "404"),
            (format!("GET /assets HTTP/1.1\n{local}\n"), "404"),
            (format!("GET http://a/ HTTP/1.1\n{local}\n"), "400"),
            (format!("GET / HTTP/2\n{local}\n"), "400"),
            ("nonsense\n\n".to_owned(), "400"),
            ("GET / HTTP/1.1\n\n".to_owned(), "403"),
            (
                "GET / HTTP/1.1\nHost: evil.example:4000\n\n".to_owned(),
                "403",
            ),
            ("GET / HTTP/1.1\nHost: localhost:4001\n\n".to_owned(), "403"),
            ("GET / HTTP/1.1\nHost: localhost\n\n".to_owned(), "403"),
            (
                format!("GET / HTTP/1.1\n{local}Host: evil.example\n\n"),
                "403",
            ),
        ] {
            let answer = response_to(&request);
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status} ")),
                "{request}{answer}"
            );
        }
    }

    fn start() -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = Arc::new(HttpServer::new(FILES, address.port()));
        std::thread::spawn(move || server.serve(&listener));
        address
    }

    fn assert_serves_the_page(address: std::net::SocketAddr) {
        let mut stream = TcpStream::connect(address).expect("connected");
        let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("asked");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        assert!(answer.ends_with("<p>hello"), "{answer}");
    }

    #[test]
    fn a_tcp_connection_is_served() {
        assert_serves_the_page(start());
    }

    #[test]
    fn two_hundred_idle_connections_do_not_keep_a_new_one_from_being_served() {
        let address = start();
        let mut idle: Vec<TcpStream> = Vec::new();
        for _ in 0..200 {
            let mut stream = TcpStream::connect(address).expect("connected");
            stream
                .write_all(b"GET / HTTP/1.1\r\n")
                .expect("half a request");
            idle.push(stream);
        }
        for _ in 0..10 {
            assert_serves_the_page(address);
        }
        // The oldest one was closed to make room, not the newest.
        let (oldest, newest) = (&idle[0], &idle[199]);
        for (mut stream, is_closed) in [(oldest, true), (newest, false)] {
            let timeout = Duration::from_millis(500);
            stream.set_read_timeout(Some(timeout)).expect("set");
            let read = stream.read(&mut [0]);
            let waits = read.is_err_and(|error| {
                matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                )
            });
            assert_eq!(waits, !is_closed);
        }
    }
}
