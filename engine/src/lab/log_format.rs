//! Formats a synthetic stream as a log.
//!
//! The stream gives the keys. Visitors, and times if the stream has none, are computed from the
//! position in the stream, so a stream, a count and a seed give the same log everywhere.

use std::fmt;
use std::io::Write;
use std::str::FromStr;

use super::stream::{Arrival, Stream};
use crate::rng::Generator;

/// The greatest number of visitors in a log.
const MAX_VISITORS: u64 = 400;
/// Lines per second, if the stream has no times.
const LINES_PER_SECOND: u64 = 3;

/// The format of a synthetic log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogFormat {
    /// One key per line; the importance, if any, follows after a tab, except in a crawl.
    #[default]
    Keys,
    /// A web server's combined log; the key is the requested path.
    AccessLog,
    /// JSON lines of clicks; the key is the id of the click.
    Clicks,
}

/// The error for an unknown format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected keys, access-log or clicks; found `{found}`")]
pub struct UnknownLogFormat {
    found: String,
}

impl LogFormat {
    /// Returns the name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            LogFormat::Keys => "keys",
            LogFormat::AccessLog => "access-log",
            LogFormat::Clicks => "clicks",
        }
    }

    /// Appends the next line of a stream. Returns false at the end of the stream.
    pub fn append_line(self, stream: &mut Stream, log: &mut Vec<u8>) -> bool {
        self.append(stream, log, false)
    }

    /// Appends the next key of a stream, a tab and its importance, or its link depth if the stream is
    /// a crawl. Returns false at the end of the stream.
    pub fn append_key_and_importance(stream: &mut Stream, log: &mut Vec<u8>) -> bool {
        LogFormat::Keys.append(stream, log, true)
    }

    fn append(self, stream: &mut Stream, log: &mut Vec<u8>, with_depth: bool) -> bool {
        let position = stream.position();
        let Some(arrival) = stream.next_arrival() else {
            return false;
        };
        // Writing to a vector cannot fail.
        let _ = match self {
            LogFormat::Keys => key_line(&arrival, with_depth, log),
            LogFormat::AccessLog => access_line(&arrival, position, log),
            LogFormat::Clicks => click_line(&arrival, position, log),
        };
        true
    }
}

impl FromStr for LogFormat {
    type Err = UnknownLogFormat;

    fn from_str(text: &str) -> Result<Self, UnknownLogFormat> {
        [LogFormat::Keys, LogFormat::AccessLog, LogFormat::Clicks]
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| UnknownLogFormat {
                found: text.to_owned(),
            })
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn key_line(arrival: &Arrival<'_>, with_depth: bool, log: &mut Vec<u8>) -> std::io::Result<()> {
    log.extend_from_slice(arrival.key);
    match (arrival.importance, arrival.depth) {
        (_, Some(depth)) if with_depth => write!(log, "\t{depth}")?,
        (Some(importance), None) => write!(log, "\t{importance}")?,
        _ => {}
    }
    log.push(b'\n');
    Ok(())
}

fn access_line(arrival: &Arrival<'_>, position: u64, log: &mut Vec<u8>) -> std::io::Result<()> {
    let visitor = visitor(position);
    let (day, clock) = time(arrival, position);
    let [hour, minute, second] = clock;
    let size = 400 + Generator::from_state(arrival.number).draw(2) % 40_000;
    write!(
        log,
        "10.{}.{}.{} - - [{day:02}/Mar/2026:{hour:02}:{minute:02}:{second:02} +0000] \"GET ",
        visitor % 7,
        visitor % 31,
        visitor % 250 + 1,
    )?;
    path_of(arrival.key, log);
    log.extend_from_slice(b" HTTP/1.1\" 200 ");
    writeln!(log, "{size} \"-\" \"Example/1.0\"")
}

fn click_line(arrival: &Arrival<'_>, position: u64, log: &mut Vec<u8>) -> std::io::Result<()> {
    let (day, clock) = time(arrival, position);
    let [hour, minute, second] = clock;
    let number = arrival.number;
    writeln!(
        log,
        "{{\"at\":\"2026-03-{day:02}T{hour:02}:{minute:02}:{second:02}Z\",\"click\":\"c{number:x}\",\
         \"ad\":\"ad-{}\",\"visitor\":{{\"id\":{}}}}}",
        number % 97,
        number / 97 + 1,
    )
}

/// Appends the path of a URL, or any other key as a path.
fn path_of(key: &[u8], log: &mut Vec<u8>) {
    let after_scheme = memchr::memmem::find(key, b"://").map(|at| at + 3);
    let path = after_scheme.and_then(|at| Some(at + memchr::memchr(b'/', key.get(at..)?)?));
    match path {
        Some(at) => log.extend_from_slice(&key[at..]),
        None => {
            log.push(b'/');
            log.extend_from_slice(key);
        }
    }
}

/// Returns a visitor; a few visitors have most of the requests.
fn visitor(position: u64) -> u64 {
    let generator = Generator::from_state(position);
    generator.draw(0) % (generator.draw(1) % MAX_VISITORS + 1)
}

/// Returns the day of the month, and hour, minute and second.
fn time(arrival: &Arrival<'_>, position: u64) -> (u64, [u64; 3]) {
    let seconds = match arrival.second {
        Some(second) => second.into(),
        None => position / LINES_PER_SECOND,
    };
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    (
        hours / 24 % 28 + 1,
        [hours % 24, minutes % 60, seconds % 60],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::StreamSpec;

    fn first_line(stream: &str, format: LogFormat) -> String {
        let spec: StreamSpec = stream.parse().expect("a stream");
        let mut log = Vec::new();
        assert!(format.append_line(&mut spec.open(1, 1), &mut log));
        String::from_utf8(log).expect("text")
    }

    #[test]
    fn each_format_contains_the_key() {
        let url = first_line("crawl:3:20", LogFormat::Keys);
        let path = url.trim_end().splitn(4, '/').nth(3).expect("a path");
        let access = first_line("crawl:3:20", LogFormat::AccessLog);
        assert!(
            access.contains(&format!("\"GET /{path} HTTP/1.1\" 200 ")),
            "{access}"
        );
        assert!(access.contains("[01/Mar/2026:00:00:00 +0000]"), "{access}");
        let click = first_line("zipf:1.1:1000", LogFormat::Clicks);
        let parsed: serde_json::Value = serde_json::from_str(&click).expect("JSON");
        assert!(parsed["click"].as_str().expect("text").starts_with('c'));
        assert!(first_line("importance-linear:60", LogFormat::Keys).contains('\t'));
    }

    #[test]
    fn the_depth_of_a_crawl_is_appended_if_asked_for() {
        let spec: StreamSpec = "crawl:3:20".parse().expect("a stream");
        let mut log = Vec::new();
        assert!(LogFormat::append_key_and_importance(
            &mut spec.open(1, 1),
            &mut log
        ));
        let line = String::from_utf8(log).expect("text");
        assert_eq!(
            line,
            format!(
                "{}\t0\n",
                first_line("crawl:3:20", LogFormat::Keys).trim_end()
            )
        );
    }

    #[test]
    fn a_log_ends_with_its_stream() {
        let spec: StreamSpec = "shuffle:60".parse().expect("a stream");
        let mut stream = spec.open(2, 1);
        let mut log = Vec::new();
        while LogFormat::Clicks.append_line(&mut stream, &mut log) {}
        assert_eq!(log.iter().filter(|&&byte| byte == b'\n').count(), 2);
    }

    #[test]
    fn lines_have_the_times_of_a_burst() {
        let spec: StreamSpec = "burst:30:0.1:5".parse().expect("a stream");
        let mut stream = spec.open(9, 1);
        let mut log = Vec::new();
        while LogFormat::Clicks.append_line(&mut stream, &mut log) {}
        let text = String::from_utf8(log).expect("text");
        let times = text.lines().map(|line| &line[18..26]);
        // Every 10 s, every 2 s, and every 10 s.
        let expected = [
            "00:00:00", "00:00:10", "00:00:20", "00:00:30", "00:00:32", "00:00:34", "00:00:36",
            "00:00:46", "00:00:56",
        ];
        assert_eq!(times.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn formats_are_parsed_by_name() {
        for format in [LogFormat::Keys, LogFormat::AccessLog, LogFormat::Clicks] {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert!("apache".parse::<LogFormat>().is_err());
    }
}
