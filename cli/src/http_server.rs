//! As much of an HTTP/1.1 server as one page on one machine needs.
//!
//! Files from memory, GET and HEAD, one request a connection. A request must name this machine
//! as its host: else a page of another site could reach us under a name of its own.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A file's name, without a leading slash, and its bytes.
pub type File = (&'static str, &'static [u8]);

/// Longer requests are none of ours.
const LONGEST_REQUEST_BYTES: usize = 16 << 10;
const PATIENCE: Duration = Duration::from_secs(10);
const MOST_CONNECTIONS: usize = 64;

const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
                      img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Answers requests for some files.
pub struct Responder {
    files: &'static [File],
    port: u16,
    connections: AtomicUsize,
}

impl Responder {
    pub fn new(files: &'static [File], port: u16) -> Self {
        Responder {
            files,
            port,
            connections: AtomicUsize::new(0),
        }
    }

    /// Answers whoever comes, until the process ends.
    pub fn serve(self: Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming().flatten() {
            let this = Arc::clone(&self);
            if this.connections.fetch_add(1, Ordering::AcqRel) >= MOST_CONNECTIONS {
                this.connections.fetch_sub(1, Ordering::AcqRel);
                continue;
            }
            let work = move || {
                // Whoever goes away in the middle is not waited for.
                let _ = this.converse(stream);
                this.connections.fetch_sub(1, Ordering::AcqRel);
            };
            let _ = std::thread::Builder::new().spawn(work);
        }
    }

    fn converse(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let request = read_request(&mut stream)?;
        let answer = self.answer(&request);
        stream.write_all(&answer)?;
        stream.shutdown(std::net::Shutdown::Write)?;
        // What is left unread would reset the connection under the answer.
        let mut rest = [0; 1024];
        for _ in 0..64 {
            if stream.read(&mut rest)? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// The whole answer to a whole request.
    fn answer(&self, request: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(request);
        let mut lines = text.split("\r\n");
        let mut words = lines.next().unwrap_or("").split(' ');
        let (method, target, version) = (words.next(), words.next(), words.next());
        let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) =
            (method, target, version, words.next())
        else {
            return refusal("400 Bad Request", "this is no HTTP request", "");
        };
        let mut hosts = lines
            .take_while(|line| !line.is_empty())
            .filter_map(|line| line.split_once(':'))
            .filter(|(name, _)| name.eq_ignore_ascii_case("host"))
            .map(|(_, value)| value.trim());
        if !hosts.next().is_some_and(|host| self.is_local(host)) || hosts.next().is_some() {
            let text = "this server answers to 127.0.0.1 and localhost alone";
            return refusal("403 Forbidden", text, "");
        }
        if !matches!(method, "GET" | "HEAD") {
            return refusal(
                "405 Method Not Allowed",
                "only GET and HEAD",
                "Allow: GET, HEAD\r\n",
            );
        }
        let path = target.split(['?', '#']).next().unwrap_or("");
        let name = match path.strip_prefix('/') {
            Some("") => "index.html",
            Some(name) => name,
            None => return refusal("400 Bad Request", "expected a path", ""),
        };
        let Some((name, bytes)) = self.files.iter().find(|(known, _)| *known == name) else {
            return refusal("404 Not Found", "there is no such file here", "");
        };
        let mut answer = head("200 OK", content_type(name), bytes.len(), "");
        if method == "GET" {
            answer.extend_from_slice(bytes);
        }
        answer
    }

    fn is_local(&self, host: &str) -> bool {
        let (name, port) = host.rsplit_once(':').unwrap_or((host, "80"));
        let local = ["127.0.0.1", "localhost"]
            .iter()
            .any(|local| name.eq_ignore_ascii_case(local));
        local && port == self.port.to_string()
    }
}

fn read_request(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let started = Instant::now();
    let mut request = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let count = stream.read(&mut chunk)?;
        request.extend_from_slice(&chunk[..count]);
        let whole = request.windows(4).any(|end| end == b"\r\n\r\n");
        if whole {
            return Ok(request);
        }
        let late = started.elapsed() > PATIENCE;
        if count == 0 || late || request.len() > LONGEST_REQUEST_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

fn refusal(status: &str, text: &str, headers: &str) -> Vec<u8> {
    let text = format!("{text}\n");
    let mut answer = head(status, "text/plain; charset=utf-8", text.len(), headers);
    answer.extend_from_slice(text.as_bytes());
    answer
}

fn head(status: &str, content_type: &str, length: usize, headers: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\n\
         Content-Type: {content_type}\r\n\
         Content-Length: {length}\r\n\
         Content-Security-Policy: {POLICY}\r\n\
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

    fn ask(request: &str) -> String {
        let responder = Responder::new(FILES, 4000);
        let request = request.replace('\n', "\r\n");
        String::from_utf8(responder.answer(request.as_bytes())).expect("text")
    }

    #[test]
    fn files_come_with_their_type_and_a_policy() {
        let page = ask("GET / HTTP/1.1\nHost: localhost:4000\n\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("\r\n\r\n<p>hello"));
        assert!(page.contains("Content-Type: text/html; charset=utf-8\r\n"));
        assert!(page.contains("Content-Security-Policy: default-src 'none';"));
        let engine = ask("GET /assets/engine.wasm?x HTTP/1.1\nhost: 127.0.0.1:4000\n\n");
        assert!(engine.contains("Content-Type: application/wasm\r\nContent-Length: 4\r\n"));
        let script = ask("HEAD /assets/page.js HTTP/1.1\nHost: localhost:4000\n\n");
        assert!(script.contains("text/javascript") && script.contains("Content-Length: 1\r\n"));
        assert!(script.ends_with("\r\n\r\n"), "{script}");
    }

    #[test]
    fn nothing_else_is_answered() {
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
            let answer = ask(&request);
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status} ")),
                "{request}{answer}"
            );
        }
    }

    #[test]
    fn a_real_connection_is_served() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let responder = Arc::new(Responder::new(FILES, address.port()));
        std::thread::spawn(move || responder.serve(&listener));
        let mut stream = TcpStream::connect(address).expect("connected");
        let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("asked");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        assert!(answer.ends_with("<p>hello"), "{answer}");
    }
}
