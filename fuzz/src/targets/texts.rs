//! Texts that people write: filters, sizes, streams, addresses, names.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use dedupstore::lab::StreamSpec;
use dedupstore::sites::{FailureRule, Slicing, TreeSpec};
use dedupstore::{AnyFilter, ByteSize, FilterSpec, quantity};
use dedupstore_server::{ServerAddress, name_of};

use super::{TEXT_MEMORY, lossy, path_of, percent_decoded, text_seeds};
use crate::target::Target;

/// A filter and its parameters.
pub const FILTER_SPEC: Target = Target {
    name: "filter_spec",
    run: filter_spec,
    seeds: || {
        let filters = dedupstore::registry().iter().map(|it| it.name.to_owned());
        let presets = dedupstore::filter::presets()
            .iter()
            .map(|it| it.name.to_owned());
        let written = [
            "bloom:k=4",
            "window:k=3,span=600,step=60",
            "quotient:bits=9",
        ];
        let written = written.map(str::to_owned);
        filters
            .chain(presets)
            .chain(written)
            .map(String::into_bytes)
            .collect()
    },
    dictionary: &[
        ":",
        ",",
        "=",
        "k=",
        "bits=",
        "span=",
        "step=",
        "max=",
        "p=",
        "cap=",
        "auto",
        "0.5",
        "1e3",
        "18446744073709551615",
        "doublings=",
        "longest=",
    ],
    may_overflow: false,
    max_bytes: 256,
    memory_bytes: TEXT_MEMORY,
};

/// A number with a unit.
pub const SIZES: Target = Target {
    name: "sizes",
    run: sizes,
    seeds: || text_seeds(&["64MiB", "2GB", "1.5e3 MB", "0.5d", "12k", "65536", "1e6"]),
    dictionary: &["MiB", "GB", "K", "k", "d", "e", ".", " ", "\u{e9}"],
    may_overflow: false,
    max_bytes: 64,
    memory_bytes: TEXT_MEMORY,
};

/// A stream of the laboratory.
pub const STREAM: Target = Target {
    name: "stream",
    run: stream,
    seeds: || {
        let forms = dedupstore::lab::STREAM_FORMS.iter();
        let mut seeds: Vec<Vec<u8>> = forms.map(|(form, _)| form.as_bytes().to_vec()).collect();
        seeds.extend(text_seeds(&[
            "shuffle:20",
            "zipf:1.1:1000000",
            "crawl:10:100",
        ]));
        seeds
    },
    dictionary: &[
        "shuffle", "uniform", "zipf", "drift", "bmodel", ":", "100", "0.5", "inf", "nan",
    ],
    may_overflow: false,
    max_bytes: 128,
    memory_bytes: TEXT_MEMORY,
};

/// How a filter is divided among sites.
pub const SITES: Target = Target {
    name: "sites",
    run: sites,
    seeds: || {
        text_seeds(&[
            "horizontal:40",
            "general:40,k1=2",
            "diced:8x5,order=v-h",
            "sparse:levels=5,fanout=2,k=8,top-down-printed=2",
            "dense:levels=2,fanout=16,k=4,root-slices=8,span=1000",
            "live-zero:x=2",
        ])
    },
    dictionary: &[
        "horizontal",
        "vertical",
        "general",
        "diced",
        "dense",
        "sparse",
        "levels=",
        "fanout=",
        "k=",
        "k1=",
        "order=h-v",
        "top-down=",
        "root-slices=",
        "span=",
        ":",
        ",",
        "x",
        "18446744073709551615",
    ],
    may_overflow: false,
    max_bytes: 128,
    memory_bytes: TEXT_MEMORY,
};

/// The address of a server.
pub const ADDRESS: Target = Target {
    name: "address",
    run: address,
    seeds: || {
        text_seeds(&[
            "redis://user:secret%20word@[::1]:6379/links",
            "redis://harbour.example/links",
            "redis+unix:///run/dedupstore.sock?store=links",
            "links%2Fa.dds",
        ])
    },
    dictionary: &[
        "redis://",
        "redis+unix://",
        "?store=",
        "%2F",
        "@",
        "[",
        "]",
        ".dds",
        "..",
    ],
    may_overflow: false,
    max_bytes: 256,
    memory_bytes: TEXT_MEMORY,
};

/// A filter: its text form must be parsed back, and building it takes no memory of its size.
fn filter_spec(input: &[u8]) {
    let text = lossy(input);
    match text.parse::<FilterSpec>() {
        Ok(spec) => {
            let written = spec.to_string();
            let again: FilterSpec = written.parse().expect("its own text form");
            assert_eq!(again, spec, "{written}");
            for memory_bits in [0, 64, 5000, 1 << 33, u64::MAX] {
                if let Ok(filter) = AnyFilter::build(&spec, memory_bits) {
                    assert!(
                        filter.region_bytes() as u64 <= memory_bits / 8 + 8192,
                        "{written}"
                    );
                }
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A size in bytes, compared with exact decimal arithmetic.
fn sizes(input: &[u8]) {
    let text = lossy(input);
    if let Ok(size) = text.parse::<ByteSize>() {
        assert_eq!(size.to_string().parse(), Ok(size), "{text}");
    }
    let found = quantity(&text, |unit| match unit {
        "" => Some(1),
        "k" => Some(1000),
        "d" => Some(86_400_000),
        _ => None,
    });
    if let Some(expected) = naive_quantity(&text) {
        match (expected, found) {
            (None, None) => {}
            (Some(expected), Some(found)) => {
                // Fractions are computed with 53 bits, and one half may be rounded either way.
                let tolerance = match text.contains('.') {
                    true => 1.max(expected >> 52),
                    false => 0,
                };
                let difference = expected.abs_diff(u128::from(found));
                assert!(difference <= tolerance, "{text}: {found}, not {expected}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

/// Returns what a text of digits, a decimal point and a unit means, in exact arithmetic; None if the
/// text is of another form or near the limit of 64 bits.
fn naive_quantity(text: &str) -> Option<Option<u128>> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor: u128 = match unit.trim_start() {
        "" => 1,
        "k" => 1000,
        "d" => 86_400_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = whole.len() + fraction.len();
    if digits == 0 || fraction.contains('.') {
        return Some(None);
    }
    if digits > 25 {
        return None;
    }
    let all: u128 = (whole.to_owned() + fraction).parse().ok()?;
    let scale = 10u128.pow(fraction.len() as u32);
    let value = (all * factor + scale / 2) / scale;
    match value {
        // Whole numbers may be as large as 64 bits allow; others must be below 2^63.
        0..0x7fff_0000_0000_0000 => Some(Some(value)),
        _ => None,
    }
}

/// A stream of the laboratory.
fn stream(input: &[u8]) {
    is_read_back::<StreamSpec>(&lossy(input));
}

/// How a filter is divided among sites, and what is done if some fail.
fn sites(input: &[u8]) {
    let text = lossy(input);
    is_read_back::<Slicing>(&text);
    is_read_back::<TreeSpec>(&text);
    is_read_back::<FailureRule>(&text);
}

/// If a text is valid, the text form of what it means must mean the same.
fn is_read_back<T>(text: &str)
where
    T: FromStr<Err: Display> + Display + PartialEq + Debug,
{
    match text.parse::<T>() {
        Ok(value) => {
            let written = value.to_string();
            let again = written.parse::<T>().map_err(|error| error.to_string());
            assert_eq!(again, Ok(value), "{written}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// The address of a server, and the name of a store's directory.
fn address(input: &[u8]) {
    let text = lossy(input);
    match text.parse::<ServerAddress>() {
        Ok(address) => {
            assert!(!address.store.is_empty());
            assert!(ServerAddress::is_address(&text));
            if !text.starts_with("redis+unix:") {
                let store = path_of(&text).and_then(percent_decoded);
                assert_eq!(store.as_ref(), Some(&address.store), "{text}");
            }
            let shown = |password: &[u8]| {
                let password = Some(password.to_vec());
                format!(
                    "{:?}",
                    ServerAddress {
                        password,
                        ..address.clone()
                    }
                )
            };
            assert_eq!(shown(b"first"), shown(b"second"), "the password is shown");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Some(name) = name_of(&text) {
        assert!(
            !text.contains(['/', '\\', '\0']) && !text.starts_with('.'),
            "{text}: {name:?}"
        );
    }
}
