//! Normalizes keys that have several spellings.
//!
//! Most URLs of a crawl are already normal. [`recognizer`] tells so in one pass over the bytes,
//! and only the others are parsed by the crate `url`.

#[cfg(feature = "normalization")]
mod crawl;
mod normalization;
mod parameter_pattern;
#[cfg(feature = "normalization")]
mod recognizer;

#[cfg(feature = "normalization")]
pub use crawl::CRAWL_DROPPED;
pub use normalization::{Normalization, UnknownNormalization};
pub use parameter_pattern::{ParameterPattern, ParameterPatternError};

/// Normalizes keys. Its buffers are reused by the next key.
#[derive(Clone, Debug, Default)]
pub struct Normalizer {
    normalization: Normalization,
    #[cfg(feature = "normalization")]
    crawl: crawl::CrawlRules,
    #[cfg(feature = "normalization")]
    normalized: Vec<u8>,
}

impl Normalizer {
    /// Creates a normalizer. `dropped` are the query parameters that
    /// [`Normalization::Crawl`] drops besides its own; the others drop none.
    #[cfg_attr(not(feature = "normalization"), allow(unused_variables))]
    pub fn new(normalization: Normalization, dropped: &[ParameterPattern]) -> Self {
        Normalizer {
            normalization,
            #[cfg(feature = "normalization")]
            crawl: crawl::CrawlRules::new(dropped),
            #[cfg(feature = "normalization")]
            normalized: Vec::new(),
        }
    }

    /// Returns the normalization.
    pub fn normalization(&self) -> Normalization {
        self.normalization
    }

    /// Returns the key to hash.
    #[inline]
    pub fn apply<'a>(&'a mut self, key: &'a [u8]) -> &'a [u8] {
        match self.normalization {
            Normalization::None => key,
            #[cfg(feature = "normalization")]
            Normalization::Whatwg => whatwg(key, &mut self.normalized).unwrap_or(key),
            #[cfg(feature = "normalization")]
            Normalization::Crawl => match whatwg(key, &mut self.normalized) {
                Some(url) => self.crawl.apply(url),
                None => key,
            },
        }
    }
}

/// Returns the URL as the standard writes it, without its fragment; None if the key is not an absolute
/// URL.
#[cfg(feature = "normalization")]
#[inline]
fn whatwg<'a>(key: &'a [u8], normalized: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    if let Some(length) = recognizer::normal_length(key) {
        return Some(&key[..length]);
    }
    parse(key, normalized).map(|()| normalized.as_slice())
}

/// Writes the URL as the crate `url` does; None if the key is not an absolute URL.
#[cfg(feature = "normalization")]
#[cold]
fn parse(key: &[u8], normalized: &mut Vec<u8>) -> Option<()> {
    let mut url = match std::str::from_utf8(key) {
        Ok(text) => url::Url::parse(text).ok()?,
        Err(_) => url::Url::parse(&percent_encode_invalid(key)).ok()?,
    };
    url.set_fragment(None);
    normalized.clear();
    normalized.extend_from_slice(url.as_str().as_bytes());
    Some(())
}

/// Percent-encodes the bytes that are not UTF-8, as browsers do with the bytes of a link.
#[cfg(feature = "normalization")]
fn percent_encode_invalid(key: &[u8]) -> String {
    let mut text = String::with_capacity(key.len() + 16);
    for chunk in key.utf8_chunks() {
        text += chunk.valid();
        for byte in chunk.invalid() {
            text += &format!("%{byte:02X}");
        }
    }
    text
}

#[cfg(feature = "normalization")]
#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::strategy::ValueTree;

    use super::*;

    fn normalize(normalization: Normalization, key: &[u8]) -> Vec<u8> {
        Normalizer::new(normalization, &[]).apply(key).to_vec()
    }

    #[test]
    fn spellings_of_a_url_become_one() {
        for (key, expected) in [
            (
                "HTTP://Harbour.example:80/a/../b#c",
                "http://harbour.example/b",
            ),
            ("https://harbour.example", "https://harbour.example/"),
            ("https://harbour.example/a#b", "https://harbour.example/a"),
            (
                "https://harbour.example/%7ea?b=c d",
                "https://harbour.example/%7ea?b=c%20d",
            ),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            (" https://harbour.example/ ", "https://harbour.example/"),
            (
                "https://harbour.example/?b&a",
                "https://harbour.example/?b&a",
            ),
            ("/relative", "/relative"),
            ("no url", "no url"),
            ("", ""),
        ] {
            let key = normalize(Normalization::Whatwg, key.as_bytes());
            assert_eq!(String::from_utf8_lossy(&key), expected);
        }
    }

    #[test]
    fn a_key_that_is_no_url_keeps_its_parameters_and_sessions() {
        for key in [
            "http://?b&a",
            "http://[::1/?b&a",
            "http://a b/x;jsessionid=1?utm_source=m",
            "https://a.example:99999/?b&a",
            "/relative?b&a&utm_source=m",
        ] {
            let found = normalize(Normalization::Crawl, key.as_bytes());
            assert_eq!(String::from_utf8_lossy(&found), key);
        }
        let found = normalize(Normalization::Crawl, b"http://\xFF.example/?b&a");
        assert_eq!(found, b"http://\xFF.example/?b&a");
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_percent_encoded() {
        for (key, expected) in [
            (
                &b"HTTP://A.example/\xFF\xC3\xA9?\xE9#\xFF"[..],
                &b"http://a.example/%FF%C3%A9?%E9"[..],
            ),
            (b"http://a.example/caf\xE9", b"http://a.example/caf%E9"),
            // No such host and no such scheme: not a URL.
            (b"http://\xFF.example/", b"http://\xFF.example/"),
            (b"\xFFhttp://a.example/", b"\xFFhttp://a.example/"),
            (b"caf\xE9", b"caf\xE9"),
        ] {
            let found = normalize(Normalization::Whatwg, key);
            assert_eq!(found, expected, "{}", String::from_utf8_lossy(&found));
        }
    }

    /// Parts of URLs around the edges of what the recognizer accepts.
    fn any_url() -> impl Strategy<Value = String> {
        // Each part is usually normal, so that many URLs have no more than one odd part.
        let scheme = prop_oneof![
            20 => Just("http://"), 20 => Just("https://"), 1 => Just("HTTP://"), 1 => Just("ftp://"),
            1 => Just("http:/"), 1 => Just("https:"), 1 => Just("ws://"), 1 => Just("data:"),
        ];
        let user = prop_oneof![40 => Just(""), 1 => Just("u@"), 1 => Just("u:p@"), 1 => Just("@")];
        let host = prop_oneof![
            30 => "[a-z]{1,4}(\\.[a-z0-9_-]{1,4}){0,3}\\.[a-z]{1,3}",
            2 => "[a-z0-9.-]{1,8}",
            2 => "(xn--|x--|xn-)[a-z]{1,3}(\\.(xn--)?[a-z0-9-]{1,4})?",
            1 => "[0-9]{1,3}(\\.[0-9]{1,3}){0,3}\\.?",
            1 => "0x[0-9a-f]{1,3}",
            1 => "[a-zA-Z%.:\\[\\]\\\\ é_^|<>-]{0,6}",
            1 => Just("a".repeat(300)),
            1 => "[a-z]{60,70}\\.example",
        ];
        let port = prop_oneof![
            20 => Just(String::new()), 2 => "(:[0-9]{0,6})", 1 => Just(":80".to_owned()),
            1 => Just(":443".to_owned()), 1 => Just(":08080".to_owned()), 1 => Just(":65536".to_owned()),
        ];
        let segment = prop_oneof![
            16 => "[a-z0-9]{0,5}",
            4 => "[!-~]{0,4}",
            2 => "(\\.|%2e|%2E|%2){0,3}[a-z/?#;]?",
            1 => "[ \t\n\\\\\"<>`{}^|é\u{7f}\u{0}]",
            2 => "%[0-9a-fA-Fg]{0,2}",
        ];
        let path = proptest::collection::vec(segment, 1..4).prop_map(|segments| {
            segments
                .iter()
                .map(|it| format!("/{it}"))
                .collect::<String>()
        });
        let path = prop_oneof![20 => path, 1 => Just(String::new())];
        let query = prop_oneof![
            12 => Just(String::new()), 8 => "\\?[a-z&=]{0,8}", 4 => "\\?[!-~]{0,6}",
            1 => "\\?[ '\"<>é\t]{1,2}",
        ];
        let fragment = prop_oneof![
            12 => Just(String::new()), 2 => "#[a-z]{0,3}", 2 => "#[ -~é\n]{0,4}",
        ];
        let around =
            prop_oneof![40 => Just(""), 1 => Just(" "), 1 => Just("\t"), 1 => Just("\u{1}")];
        (scheme, user, host, port, path, query, fragment, around).prop_map(
            |(scheme, user, host, port, path, query, fragment, around)| {
                format!("{around}{scheme}{user}{host}{port}{path}{query}{fragment}{around}")
            },
        )
    }

    /// The recognizer against the crate, on one key.
    fn check_recognizer(key: &[u8]) -> bool {
        let Some(length) = recognizer::normal_length(key) else {
            return false;
        };
        let mut parsed = Vec::new();
        assert!(parse(key, &mut parsed).is_some(), "{}", key.escape_ascii());
        assert!(key[..length] == parsed, "{}", key.escape_ascii());
        true
    }

    /// `URL_CASES=10000000` makes it a long run.
    #[test]
    fn recognized_urls_are_those_that_the_parser_leaves_unchanged() {
        let cases = std::env::var("URL_CASES").ok();
        let cases = cases.and_then(|it| it.parse().ok()).unwrap_or(200_000);
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let urls = any_url();
        let mut recognized = 0;
        for number in 0..cases {
            let tree = urls.new_tree(&mut runner).expect("a URL");
            let mut url = tree.current().into_bytes();
            // Every other URL also gets one byte changed, at a place and to a value that walk
            // through all.
            if number % 2 == 1 && !url.is_empty() {
                let at = number / 2 % url.len();
                url[at] = (number / 3) as u8;
            }
            recognized += usize::from(check_recognizer(&url));
        }
        // A test in which nothing is recognized would find nothing.
        assert!(recognized * 6 > cases, "{recognized} of {cases}");
    }

    #[test]
    fn every_byte_at_every_place_of_a_url() {
        let url = b"http://ab.cd:81/e/.f?g=h&i#j";
        for at in 0..url.len() {
            for byte in 0..=255 {
                let mut changed = url.to_vec();
                changed[at] = byte;
                check_recognizer(&changed);
                changed.insert(at, b'.');
                check_recognizer(&changed);
                changed.remove(at + 1);
                changed[at] = byte;
                changed.truncate(at + 1);
                check_recognizer(&changed);
            }
        }
        assert!(check_recognizer(url));
    }

    #[test]
    fn the_urls_of_a_crawl_are_recognized() {
        for url in [
            "https://www.amber-almanac.example/",
            "http://a.example:8080/b/c.html?d=e&f=%20#top",
            "https://a_b.example/~user/.well-known/x;y=1,2(3)!*'@+$",
            "https://1.2.example/a//b/.c",
        ] {
            assert!(check_recognizer(url.as_bytes()), "{url}");
        }
    }

    proptest! {
        #[test]
        fn normalizing_again_changes_nothing(url in any_url(), crawl: bool) {
            let normalization = if crawl { Normalization::Crawl } else { Normalization::Whatwg };
            let once = normalize(normalization, url.as_bytes());
            prop_assert_eq!(normalize(normalization, &once), once);
        }

        #[test]
        fn crawl_equals_whatwg_without_parameters(url in any_url()) {
            prop_assume!(!url.contains('?') && !url.to_lowercase().contains(";jsessionid="));
            let whatwg = normalize(Normalization::Whatwg, url.as_bytes());
            prop_assert_eq!(normalize(Normalization::Crawl, url.as_bytes()), whatwg);
        }
    }
}
