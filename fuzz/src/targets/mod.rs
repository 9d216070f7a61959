//! The targets, in the order of the report.

mod cluster;
mod filter_states;
mod keys;
mod logs;
mod protocols;
mod sealed_store;
mod stores;
mod texts;

use std::borrow::Cow;

use crate::target::Target;

/// The memory of a target that parses a short text.
const TEXT_MEMORY: usize = 64 << 10;
/// The files of the largest store that is tried, in a few copies.
const STORE_MEMORY: usize = 4 << 20;

/// Every target.
pub const TARGETS: &[Target] = &[
    store_target("superblock", stores::superblock, stores::superblock_seeds),
    store_target("parameters", stores::parameters, stores::parameters_seeds),
    store_target("frames", stores::frames, stores::frames_seeds),
    store_target("mark", stores::mark, stores::mark_seeds),
    store_target("image", stores::image, stores::image_seeds),
    store_target("file_sizes", stores::sizes, stores::sizes_seeds),
    Target {
        name: "filter_state",
        run: filter_states::run,
        seeds: filter_states::seeds,
        dictionary: &[],
        may_overflow: true,
        max_bytes: 4096,
        memory_bytes: 1 << 20,
    },
    texts::FILTER_SPEC,
    texts::SIZES,
    texts::STREAM,
    texts::SITES,
    texts::ADDRESS,
    Target {
        name: "key_rule",
        run: keys::rule,
        seeds: || {
            text_seeds(&[
                "line,end=nul\na b c",
                "field=7,end=nul\na b c d e f g h",
                "field=1+4-6+2-,delimiter=%2C,end=nul\na,b,c,d,e,f",
                "json=request.url,normalize=crawl,drop=utm_*\n{\"request\":{\"url\":\"http://a/?b\"}}",
                "regex=(%5Ba-z]+)=,end=nul\nkey=value",
                "line,time=4,time-format=clf\n1 - - [10/Oct/2000:13:55:36 -0700]",
                "line,time-json=ts,importance-json=rank,importance-format=pagerank\n{\"ts\":1,\"rank\":0.1}",
                "whatwg",
            ])
        },
        dictionary: &[
            "line",
            "field=",
            "json=",
            "regex=",
            "delimiter=%2C",
            "normalize=crawl",
            "normalize=whatwg",
            "drop=",
            "end=nul",
            "end=crlf",
            "time=",
            "time-json=",
            "time-format=",
            "importance=",
            "importance-format=depth",
            ",",
            "%25",
            "+",
            "-",
            "(",
            ")",
            "[a-z]",
            ".*",
            "?",
            "\\d",
        ],
        may_overflow: false,
        max_bytes: 512,
        // The tables of a regular expression.
        memory_bytes: 16 << 20,
    },
    Target {
        name: "json",
        run: keys::json,
        seeds: || {
            text_seeds(&[
                "a.b[1]\n{\"a\":{\"b\":[1,{\"c\":\"\\u00e9\\n\"}]}}",
                "[\"a.b\"]\n{\"a.b\":null, \"x\" : -1.5e3}",
                "/a/0\n[{\"a\":[\"\\ud83d\\ude00\"]}]",
                "$['k']\n{\"k\":true,\"k\":false}",
            ])
        },
        dictionary: &[
            "{", "}", "[", "]", ":", ",", "\"", "\\u0061", "\\ud800", "\\", "null", "true",
            "1e999", "-0", "{\"a\":", "\"a\"", "\n", ".",
        ],
        may_overflow: false,
        max_bytes: 1024,
        memory_bytes: TEXT_MEMORY,
    },
    Target {
        name: "url",
        run: keys::url,
        seeds: || {
            text_seeds(&[
                "HTTP://Harbour.example:80/a/../b?b=2&a=1&utm_source=m#c",
                "http://a.example/x;jsessionid=1?sid=0123456789abcdefghij&&c",
                "https://[2001:DB8::1]:443/%7ea/./b//c?d",
                "https://user:pass@xn--bcher-kva.example/",
                "mailto:a@b.example",
                "file:///C|/a/../b",
            ])
        },
        dictionary: &[
            "http://",
            "https://",
            "ftp://",
            "file://",
            "//",
            "/../",
            "/./",
            "%2e",
            "%2E%2e",
            "?",
            "&",
            "=",
            "#",
            ";jsessionid=",
            "utm_",
            "sid=",
            "@",
            ":",
            ":80",
            ":443",
            "[::1]",
            "0x7f",
            "\\",
            "\u{e9}",
            "xn--",
            "..",
            "%00",
            "\t",
        ],
        may_overflow: false,
        max_bytes: 256,
        memory_bytes: TEXT_MEMORY,
    },
    Target {
        name: "log_shape",
        run: logs::shape,
        seeds: || {
            text_seeds(&[
                "{\"ts\":\"2026-03-01T12:34:56Z\",\"a\":{\"b\":[1]}}\n{\"ts\":1}\n",
                "10.0.0.1 - - [01/Mar/2026:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1\n",
                "http://a.example/\nhttp://b.example/\n",
                "name,\"time, of\",url\n1,2026-03-01 10:00,x\n2,2026-03-01 10:01,y\n",
            ])
        },
        dictionary: &[
            "\n",
            "\r\n",
            "{\"",
            "\":",
            "}",
            "[",
            "] \"",
            "\" 200",
            "://",
            ",",
            "\t",
            ";",
            "\"",
            "2026-03-01T12:34:56Z",
            "timestamp",
            "1772368496",
        ],
        may_overflow: false,
        max_bytes: 1024,
        memory_bytes: 256 << 10,
    },
    Target {
        name: "time",
        run: logs::time,
        seeds: || {
            text_seeds(&[
                "2026-03-01T12:34:56Z",
                "2026-03-01T12:34:56.25+01:00",
                "2026-03-01 12:34 +0100",
                "[10/Oct/2000:13:55:36 -0700]",
                "1772368496",
                "1772368496123456789",
                "2024-02-29T23:59:59Z",
            ])
        },
        dictionary: &[
            "T", "Z", "+01:00", "-0700", "Feb", "02-29", ":60", ".999", "[", "]", "\"",
        ],
        may_overflow: false,
        max_bytes: 64,
        memory_bytes: TEXT_MEMORY,
    },
    Target {
        name: "lines",
        run: logs::lines,
        seeds: || {
            text_seeds(&[
                "\u{8}\u{3}a\nbb\n\nccc\nlonger than the limit\nd",
                "\u{1}\u{1}\n\n",
            ])
        },
        dictionary: &["\n", "\r\n", "\n\n\n"],
        may_overflow: false,
        max_bytes: 2048,
        // A buffer of lines takes blocks of 256 KiB.
        memory_bytes: 2 << 20,
    },
    Target {
        name: "resp_request",
        run: protocols::resp_request,
        seeds: || {
            let requests = include_str!("../../../fixtures/resp-requests.txt").lines();
            let requests = requests.filter(|line| !line.starts_with('#'));
            let requests = requests.map(crate::corpus::unescape);
            requests
                .map(|request| [&[3], &request[..]].concat())
                .collect()
        },
        dictionary: &[
            "*",
            "$",
            "\r\n",
            "*1\r\n",
            "$0\r\n\r\n",
            "-1",
            "1048577",
            "PING\r\n",
            " ",
        ],
        may_overflow: false,
        max_bytes: 2048,
        memory_bytes: TEXT_MEMORY,
    },
    Target {
        name: "resp_reply",
        run: protocols::resp_reply,
        seeds: || {
            text_seeds(&[
                "\u{2}+OK\r\n:-7\r\n$3\r\na\nb\r\n*2\r\n:1\r\n$-1\r\n-ERR no\r\n%1\r\n#t\r\n_\r\n",
                "\u{1}*3\r\n*1\r\n:1\r\n*0\r\n%2\r\n+a\r\n:1\r\n+b\r\n$0\r\n\r\n",
            ])
        },
        dictionary: &[
            "*", "%", "$", ":", "+", "-", "#t", "_", "\r\n", "*1\r\n", "$-1\r\n", "1000",
        ],
        may_overflow: false,
        max_bytes: 512,
        // Nine nested arrays, for which 1024 elements are reserved.
        memory_bytes: 1 << 20,
    },
    Target {
        name: "cluster_address",
        run: cluster::address,
        seeds: || {
            text_seeds(&[
                "redis://user:secret%20word@[::1]:6379/links",
                "rediss://harbour.example/links%2F1",
                "redis://:secret@harbour.example:7000/b%C3%A9",
            ])
        },
        dictionary: &[
            "redis://",
            "rediss://",
            ":",
            "@",
            "/",
            "[",
            "]",
            "%",
            "%2F",
            "%+1",
            "65536",
        ],
        may_overflow: false,
        max_bytes: 256,
        memory_bytes: TEXT_MEMORY,
    },
    Target {
        name: "cluster_layout",
        run: cluster::layout,
        seeds: cluster::layout_seeds,
        dictionary: &[
            "\"dedupstore\":1",
            "\"scheme\":1",
            "\"id\":",
            "\"seed\":",
            "\"memory_bits\":",
            "bloom:k=5",
            "slot:values=255",
            "horizontal:4",
            "vertical:4",
            "diced:4x2",
            "\"claim\"",
            "18446744073709551615",
            "512e6",
            ",",
            ":",
        ],
        may_overflow: false,
        max_bytes: 768,
        memory_bytes: 256 << 10,
    },
    Target {
        name: "warc",
        run: protocols::warc,
        seeds: || {
            text_seeds(&[
                "\u{5}WARC/1.0\r\nWARC-Type: response\r\nwarc-target-uri:  <http://a.example/> \r\n\
                 Content-Length: 5\r\n\r\nabcde\r\n\r\nWARC/1.1\nContent-Length: 0\n\n\n\n",
            ])
        },
        dictionary: &[
            "WARC/1.0\r\n",
            "WARC-Type: ",
            "Content-Length: ",
            "WARC-Target-URI: <",
            "\r\n",
            "\r\n\r\n",
            "\n",
            ":",
            "18446744073709551615",
        ],
        may_overflow: false,
        max_bytes: 2048,
        memory_bytes: TEXT_MEMORY,
    },
];

const fn store_target(name: &'static str, run: fn(&[u8]), seeds: fn() -> Vec<Vec<u8>>) -> Target {
    Target {
        name,
        run,
        seeds,
        dictionary: &["bloom", "quotient", "k=", "line", "json=", "crawl"],
        may_overflow: true,
        max_bytes: 5120,
        memory_bytes: STORE_MEMORY,
    }
}

fn text_seeds(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Returns bytes as text; what is not UTF-8 is replaced.
fn lossy(input: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(input)
}

/// Returns the first line and what follows it.
fn split_line(input: &[u8]) -> (&[u8], &[u8]) {
    let end = input.iter().position(|&byte| byte == b'\n');
    let end = end.unwrap_or(input.len());
    (&input[..end], input.get(end + 1..).unwrap_or_default())
}

/// Replaces `%` and two hexadecimal digits by a byte. None if a `%` has no digits after it.
fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.as_bytes().split(|&byte| byte == b'%');
    let mut decoded = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        let [high, low, rest @ ..] = part else {
            return None;
        };
        let digit = |byte: u8| {
            b"0123456789abcdef"
                .iter()
                .position(|it| *it == byte.to_ascii_lowercase())
        };
        decoded.push((16 * digit(*high)? + digit(*low)?) as u8);
        decoded.extend_from_slice(rest);
    }
    Some(decoded)
}

/// Returns what follows the host of an address.
fn path_of(address: &str) -> Option<&str> {
    Some(address.split_once("://")?.1.split_once('/')?.1)
}
