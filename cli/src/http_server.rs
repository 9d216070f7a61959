//! A minimal HTTP/1.1 server, for the page on the local machine and for metrics.
//!
//! It serves content from memory, answers GET and HEAD, and one request per connection. For the
//! page, the Host header must name this machine. Otherwise a page of another site could reach the
//! server through a DNS name that resolves to this machine (DNS rebinding).

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::http_content::{Caching, Content, File};

/// The size of a request from which it is rejected.
const MAX_REQUEST_BYTES: usize = 16 << 10;
const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_CONNECTIONS: usize = 64;

const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
                      img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

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
            files.iter().find(|file| file.name == name).map(Content::of)
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
        let headers: Vec<(&str, &str)> = lines
            .take_while(|line| !line.is_empty())
            .filter_map(|line| line.split_once(':'))
            .collect();
        let values = |wanted: &'static str| {
            let named = headers
                .iter()
                .filter(move |it| it.0.eq_ignore_ascii_case(wanted));
            named.map(|(_, value)| value.trim())
        };
        let mut hosts = values("host");
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
        let encodings = values("accept-encoding");
        let Ok((bytes, encoding)) = found.encoded_for(encodings) else {
            return error_response("500 Internal Server Error", "the file is damaged", "");
        };
        let (status, caching) = (found.status, found.caching);
        let mut response =
            response_head(status, found.content_type, bytes.len(), caching, encoding);
        if method == "GET" {
            response.extend_from_slice(&bytes);
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
    let content_type = "text/plain; charset=utf-8";
    let mut response = response_head(status, content_type, text.len(), Caching::Never, headers);
    response.extend_from_slice(text.as_bytes());
    response
}

fn response_head(
    status: &str,
    content_type: &str,
    length: usize,
    caching: Caching,
    headers: &str,
) -> Vec<u8> {
    let caching = caching.directive();
    format!(
        "HTTP/1.1 {status}\r\n\
         Content-Type: {content_type}\r\n\
         Content-Length: {length}\r\n\
         Content-Security-Policy: {CONTENT_SECURITY_POLICY}\r\n\
         Cross-Origin-Opener-Policy: same-origin\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n\
         Referrer-Policy: no-referrer\r\n\
         X-Content-Type-Options: nosniff\r\n\
         Cache-Control: {caching}\r\n\
         Connection: close\r\n\
         {headers}\r\n"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf 1 | gzip -n`
    const COMPRESSED_ONE: [u8; 21] = [
        31, 139, 8, 0, 0, 0, 0, 0, 0, 3, 51, 4, 0, 183, 239, 220, 131, 1, 0, 0, 0,
    ];

    const FILES: &[File] = &[
        file("index.html", b"<p>hello"),
        file("assets/engine.wasm", b"\0asm"),
        File {
            name: "assets/page.js",
            bytes: &COMPRESSED_ONE,
            is_gzip: true,
        },
    ];

    const fn file(name: &'static str, bytes: &'static [u8]) -> File {
        File {
            name,
            bytes,
            is_gzip: false,
        }
    }

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
    fn compressed_files_are_sent_as_they_are_to_clients_that_accept_gzip() {
        let server = HttpServer::new(FILES, 4000);
        let get = |accepted: &str| {
            let request =
                format!("GET /assets/page.js HTTP/1.1\r\nHost: localhost:4000\r\n{accepted}\r\n");
            server.respond(request.as_bytes())
        };
        for accepted in ["gzip, deflate, br", "br;q=1.0, gzip;q=0.8", "*"] {
            let response = get(&format!("Accept-Encoding: {accepted}\r\n"));
            assert!(response.ends_with(&COMPRESSED_ONE), "{accepted}");
            let text = String::from_utf8_lossy(&response);
            assert!(text.contains("Content-Encoding: gzip\r\n"), "{text}");
            assert!(text.contains("Content-Length: 21\r\n"), "{text}");
        }
        for accepted in [
            "",
            "Accept-Encoding: br\r\n",
            "Accept-Encoding: gzip;q=0\r\n",
        ] {
            let response = String::from_utf8(get(accepted)).expect("text");
            assert!(response.ends_with("\r\n\r\n1"), "{response}");
            assert!(!response.contains("Content-Encoding"), "{response}");
            assert!(response.contains("Vary: Accept-Encoding\r\n"), "{response}");
        }
    }

    #[test]
    fn files_with_a_hash_in_their_name_are_cached_for_good() {
        let cached = |target: &str| {
            let response = response_to(&format!("GET {target} HTTP/1.1\nHost: localhost:4000\n\n"));
            let line = response
                .lines()
                .find(|line| line.starts_with("Cache-Control"));
            line.expect("a header").to_owned()
        };
        let immutable = "Cache-Control: public, max-age=31536000, immutable";
        assert_eq!(cached("/assets/engine.wasm"), immutable);
        assert_eq!(cached("/"), "Cache-Control: no-cache");
        assert_eq!(cached("/nothing"), "Cache-Control: no-store");
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
