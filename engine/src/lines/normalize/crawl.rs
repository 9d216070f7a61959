//! The rules of [`Normalization::Crawl`](super::Normalization::Crawl), applied to a URL that is
//! normal by the WHATWG standard and has no fragment:
//!
//! 1. A path loses `;jsessionid=…`.
//! 2. A query loses tracking and session parameters, and parameters that are empty.
//! 3. The other parameters are sorted by name; those of one name keep their order.
//! 4. An empty query loses its `?`.
//!
//! `http://a.example/x;jsessionid=1?b=2&utm_source=m&a=1` becomes `http://a.example/x?a=1&b=2`.

use memchr::{memchr, memchr2};

use super::parameter_pattern::ParameterPattern;

/// The query parameters that [`Normalization::Crawl`](super::Normalization::Crawl) always drops.
/// `sid` is dropped only if its value looks like a session id: 20 or more letters and digits.
///
/// A store records the name of its normalization, not this list. So the list never changes; a
/// longer list needs a new name.
pub const CRAWL_DROPPED: &[&str] = &[
    // Tracking.
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "dclid",
    "fbclid",
    "gbraid",
    "gclid",
    "gclsrc",
    "igsh",
    "igshid",
    "li_fat_id",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "msclkid",
    "ttclid",
    "twclid",
    "utm_*",
    "wbraid",
    "yclid", // Sessions.
    "aspsessionid*",
    "jsessionid",
    "phpsessid",
    "session_id",
    "sessionid",
    "sid",
];

const SESSION_ID_BYTES: usize = 20;
const PATH_SESSION: &[u8] = b";jsessionid=";

/// The rules, with the buffers that the next URL reuses.
#[derive(Clone, Debug)]
pub(super) struct CrawlRules {
    dropped: Vec<ParameterPattern>,
    /// Whether a dropped name starts with this byte.
    dropped_starts: [bool; 256],
    parameters: Vec<Parameter>,
    rewritten: Vec<u8>,
}

/// The place of a parameter in a query.
#[derive(Clone, Copy, Debug)]
struct Parameter {
    start: usize,
    name_end: usize,
    end: usize,
}

impl Default for CrawlRules {
    fn default() -> Self {
        CrawlRules::new(&[])
    }
}

impl CrawlRules {
    /// Creates the rules, which also drop `others`.
    pub(super) fn new(others: &[ParameterPattern]) -> Self {
        let always = CRAWL_DROPPED.iter().filter_map(|name| name.parse().ok());
        let dropped: Vec<ParameterPattern> = always.chain(others.iter().cloned()).collect();
        let mut dropped_starts = [false; 256];
        for pattern in &dropped {
            let first = pattern.first_byte();
            dropped_starts[first as usize] = true;
            dropped_starts[first.to_ascii_uppercase() as usize] = true;
        }
        CrawlRules {
            dropped,
            dropped_starts,
            parameters: Vec::new(),
            rewritten: Vec::new(),
        }
    }

    /// Applies the rules to a normal URL; other keys stay as they are.
    #[inline]
    pub(super) fn apply<'a>(&'a mut self, url: &'a [u8]) -> &'a [u8] {
        match memchr2(b'?', b';', url) {
            None => url,
            Some(_) => self.apply_to_parameters(url),
        }
    }

    fn apply_to_parameters<'a>(&'a mut self, url: &'a [u8]) -> &'a [u8] {
        if !url.starts_with(b"http://") && !url.starts_with(b"https://") {
            return url;
        }
        let path_end = memchr(b'?', url).unwrap_or(url.len());
        let (before_query, query) = url.split_at(path_end);
        let query = query.get(1..);
        // A host may contain a semicolon, too.
        let host = if url.starts_with(b"https://") { 8 } else { 7 };
        let slash = memchr(b'/', &before_query[host..]);
        let (origin, path) = before_query.split_at(slash.map_or(path_end, |at| host + at));
        let is_clean = query.is_none_or(|query| !query.is_empty() && self.is_clean(query));
        if is_clean && find_session(path).is_none() {
            return url;
        }
        self.rewritten.clear();
        self.rewritten.extend_from_slice(origin);
        self.push_path(path);
        if let Some(query) = query {
            self.push_query(query);
        }
        &self.rewritten
    }

    /// Returns whether a query is sorted and loses nothing.
    fn is_clean(&self, query: &[u8]) -> bool {
        let mut previous: &[u8] = &[];
        Parameters { query, at: 0 }.all(|parameter| {
            let name = &query[parameter.start..parameter.name_end];
            let clean = previous <= name && !self.drops(query, parameter);
            previous = name;
            clean
        })
    }

    fn drops(
        &self,
        query: &[u8],
        Parameter {
            start,
            name_end,
            end,
        }: Parameter,
    ) -> bool {
        if start == end {
            return true;
        }
        let name = &query[start..name_end];
        let may_match = name
            .first()
            .is_some_and(|&byte| self.dropped_starts[byte as usize]);
        if !may_match {
            return false;
        }
        let value = query.get(name_end + 1..end).unwrap_or_default();
        let mut matching = self.dropped.iter().enumerate();
        matching.any(|(position, pattern)| {
            let needs_session_id = CRAWL_DROPPED.get(position) == Some(&"sid");
            pattern.matches(name) && (!needs_session_id || is_session_id(value))
        })
    }

    fn push_path(&mut self, mut path: &[u8]) {
        while let Some((start, end)) = find_session(path) {
            self.rewritten.extend_from_slice(&path[..start]);
            path = &path[end..];
        }
        self.rewritten.extend_from_slice(path);
    }

    fn push_query(&mut self, query: &[u8]) {
        let mut parameters = std::mem::take(&mut self.parameters);
        parameters.clear();
        let kept = Parameters { query, at: 0 }.filter(|&parameter| !self.drops(query, parameter));
        parameters.extend(kept);
        // By place where names are equal: an unstable sort needs no memory.
        parameters.sort_unstable_by_key(|it| (&query[it.start..it.name_end], it.start));
        for (position, parameter) in parameters.iter().enumerate() {
            self.rewritten.push(if position == 0 { b'?' } else { b'&' });
            let text = &query[parameter.start..parameter.end];
            self.rewritten.extend_from_slice(text);
        }
        self.parameters = parameters;
    }
}

/// The parameters of a query, in order.
struct Parameters<'a> {
    query: &'a [u8],
    at: usize,
}

impl Iterator for Parameters<'_> {
    type Item = Parameter;

    fn next(&mut self) -> Option<Parameter> {
        let start = self.at;
        let rest = self.query.get(start..)?;
        let length = memchr(b'&', rest).unwrap_or(rest.len());
        self.at = start + length + 1;
        let name = memchr(b'=', &rest[..length]).unwrap_or(length);
        Some(Parameter {
            start,
            name_end: start + name,
            end: start + length,
        })
    }
}

fn is_session_id(value: &[u8]) -> bool {
    value.len() >= SESSION_ID_BYTES && value.iter().all(u8::is_ascii_alphanumeric)
}

/// Finds a session id in a path. One whose removal would leave a dot segment stays.
fn find_session(path: &[u8]) -> Option<(usize, usize)> {
    let mut from = 0;
    loop {
        let start = from + memchr(b';', &path[from..])?;
        let rest = &path[start..];
        from = start + 1;
        let Some((head, value)) = rest.split_at_checked(PATH_SESSION.len()) else {
            continue;
        };
        if !head.eq_ignore_ascii_case(PATH_SESSION) {
            continue;
        }
        let length = memchr2(b';', b'/', value).unwrap_or(value.len());
        let segment = memchr::memrchr(b'/', &path[..start]).map_or(0, |slash| slash + 1);
        if !matches!(path[segment..start].first(), Some(b'.' | b'%')) {
            return Some((start, start + PATH_SESSION.len() + length));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn crawl(url: &str, dropped: &[&str]) -> String {
        let dropped: Vec<_> = dropped
            .iter()
            .map(|it| it.parse().expect("a name"))
            .collect();
        let mut rules = CrawlRules::new(&dropped);
        let url = rules.apply(url.as_bytes());
        String::from_utf8(url.to_vec()).expect("text")
    }

    #[test]
    fn every_name_of_the_list_is_a_pattern() {
        let rules = CrawlRules::default();
        assert_eq!(rules.dropped.len(), CRAWL_DROPPED.len());
    }

    #[test]
    fn tracking_and_session_parameters_are_dropped_and_the_rest_is_sorted() {
        let session = "0123456789abcdefABCD";
        for (url, expected) in [
            ("http://a.example/", "http://a.example/"),
            ("http://a.example/?", "http://a.example/"),
            // A host may contain a semicolon; only a path has a session.
            (
                "http://a;jsessionid=1/b?utm_id=1",
                "http://a;jsessionid=1/b",
            ),
            ("http://a.example/?utm_source=m", "http://a.example/"),
            (
                "http://a.example/?b=2&UTM_Medium=m&a=1",
                "http://a.example/?a=1&b=2",
            ),
            ("http://a.example/?a=1&b=2", "http://a.example/?a=1&b=2"),
            (
                "http://a.example/?b&a=2&b=1&a=1",
                "http://a.example/?a=2&a=1&b&b=1",
            ),
            ("http://a.example/?a=1&&b=2&", "http://a.example/?a=1&b=2"),
            ("http://a.example/?=1&a", "http://a.example/?=1&a"),
            (
                "http://a.example/?PHPSESSID=1&fbclid=x",
                "http://a.example/",
            ),
            (
                "http://a.example/?sid=12&x=1",
                "http://a.example/?sid=12&x=1",
            ),
            (
                "http://a.example/x;jsessionid=1?b=2&a=1",
                "http://a.example/x?a=1&b=2",
            ),
            (
                "http://a.example/x;JSessionId=1.b;y=2/z;v",
                "http://a.example/x;y=2/z;v",
            ),
            (
                "http://a.example/x;jsessionid",
                "http://a.example/x;jsessionid",
            ),
            (
                "http://a.example/..;jsessionid=1",
                "http://a.example/..;jsessionid=1",
            ),
            (
                "http://a.example/index.html?",
                "http://a.example/index.html",
            ),
            ("ftp://a.example/?b&a", "ftp://a.example/?b&a"),
            ("data:,?b&a", "data:,?b&a"),
            ("/relative?utm_source=m", "/relative?utm_source=m"),
        ] {
            assert_eq!(crawl(url, &[]), expected, "{url}");
        }
        let url = format!("http://a.example/?a&sid={session}");
        assert_eq!(crawl(&url, &[]), "http://a.example/?a");
        assert_eq!(
            crawl(
                "http://a.example/?Ref=1&src_a=2&sid=3&x",
                &["ref", "src_*", "sid"]
            ),
            "http://a.example/?x"
        );
    }

    proptest! {
        #[test]
        fn the_order_of_parameters_does_not_matter(
            parameters in proptest::collection::btree_map("[a-cu]{0,3}(tm_[ab])?", "(=[a-c]{0,2})?", 0..6),
            keys in proptest::collection::vec(any::<u32>(), 6),
        ) {
            let parameters: Vec<String> =
                parameters.iter().map(|(name, value)| format!("{name}{value}")).collect();
            let mut shuffled: Vec<_> = parameters.iter().zip(&keys).collect();
            shuffled.sort_by_key(|(_, key)| **key);
            let shuffled: Vec<&str> = shuffled.iter().map(|(it, _)| it.as_str()).collect();
            let url = |parameters: String| format!("http://a.example/?{parameters}");
            let expected = crawl(&url(parameters.join("&")), &[]);
            let found = crawl(&url(shuffled.join("&")), &[]);
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(crawl(&found, &[]), expected);
        }
    }
}
