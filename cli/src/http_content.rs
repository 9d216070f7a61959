//! What the HTTP server sends: files of the binary, or a text.

use std::borrow::Cow;
use std::io::{self, Read};

/// The directory whose files have a hash of their content in their names.
const HASHED_NAMES: &str = "assets/";
/// A browser that accepts gzip and one that does not must not share a cached response.
const VARY: &str = "Vary: Accept-Encoding\r\n";
const GZIP: &str = "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n";

/// A file that is part of the binary.
pub struct File {
    /// The name without a leading slash.
    pub name: &'static str,
    pub bytes: &'static [u8],
    /// Whether the bytes are compressed.
    pub is_gzip: bool,
}

/// What is served under a name without a leading slash.
pub struct Content {
    pub status: &'static str,
    pub content_type: &'static str,
    pub bytes: Cow<'static, [u8]>,
    /// Whether the bytes are compressed.
    pub is_gzip: bool,
    pub caching: Caching,
}

/// How long a browser keeps a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// Not at all.
    Never,
    /// It asks the server before each use.
    Revalidated,
    /// For good: the name contains a hash of the content.
    Immutable,
}

impl Caching {
    /// The value of a Cache-Control header.
    pub fn directive(self) -> &'static str {
        match self {
            Caching::Never => "no-store",
            Caching::Revalidated => "no-cache",
            Caching::Immutable => "public, max-age=31536000, immutable",
        }
    }
}

impl Content {
    /// A file of the page.
    pub fn of(file: &File) -> Self {
        Content {
            status: "200 OK",
            content_type: content_type(file.name),
            bytes: Cow::Borrowed(file.bytes),
            is_gzip: file.is_gzip,
            caching: match file.name.starts_with(HASHED_NAMES) {
                true => Caching::Immutable,
                false => Caching::Revalidated,
            },
        }
    }

    /// A text that changes.
    pub fn text(status: &'static str, content_type: &'static str, text: String) -> Self {
        Content {
            status,
            content_type,
            bytes: Cow::Owned(text.into_bytes()),
            is_gzip: false,
            caching: Caching::Never,
        }
    }

    /// Returns the bytes for a client that sent these Accept-Encoding headers, and the headers
    /// that say how they are encoded.
    pub fn encoded_for<'a>(
        &self,
        mut accepted: impl Iterator<Item = &'a str>,
    ) -> io::Result<(Cow<'_, [u8]>, &'static str)> {
        if !self.is_gzip {
            return Ok((Cow::Borrowed(&self.bytes), ""));
        }
        if accepted.any(accepts_gzip) {
            return Ok((Cow::Borrowed(&self.bytes), GZIP));
        }
        let mut content = Vec::new();
        flate2::read::GzDecoder::new(&*self.bytes).read_to_end(&mut content)?;
        Ok((Cow::Owned(content), VARY))
    }
}

/// Returns whether an Accept-Encoding header allows gzip.
fn accepts_gzip(header: &str) -> bool {
    header.split(',').any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let is_refused = matches!(weight.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000");
        matches!(name.trim(), "gzip" | "x-gzip" | "*") && !is_refused
    })
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
