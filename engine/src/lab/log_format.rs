//! A synthetic stream dressed as the logs that people have.
//!
//! Only the key comes from the stream. Who asked and when is made up from the place in
//! the stream, so the same stream, count and seed give the same log everywhere.

use std::fmt;
use std::io::Write;
use std::str::FromStr;

use super::stream::{Arrival, Stream};
use crate::rng::Generator;

/// How many visitors a log has at the most.
const VISITORS: u64 = 400;
/// Places a second, about.
const A_SECOND: u64 = 3;

/// What a line of a synthetic log looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogForm {
    /// The key; where it has an importance, that follows after a tab.
    #[default]
    Keys,
    /// A web server's combined log; the key is the path that was asked for.
    AccessLog,
    /// JSON lines of clicks; the key is the click.
    Clicks,
}

/// A form that there is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected keys, access-log or clicks; found `{found}`")]
pub struct UnknownLogForm {
    found: String,
}

impl LogForm {
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            LogForm::Keys => "keys",
            LogForm::AccessLog => "access-log",
            LogForm::Clicks => "clicks",
        }
    }

    /// Appends the next line of a stream; false at its end.
    pub fn append_line(self, stream: &mut Stream, log: &mut Vec<u8>) -> bool {
        let place = stream.place();
        let Some(arrival) = stream.next_arrival() else {
            return false;
        };
        // A vector takes all that is written to it.
        let _ = match self {
            LogForm::Keys => key_line(&arrival, log),
            LogForm::AccessLog => access_line(&arrival, place, log),
            LogForm::Clicks => click_line(&arrival, place, log),
        };
        true
    }
}

impl FromStr for LogForm {
    type Err = UnknownLogForm;

    fn from_str(text: &str) -> Result<Self, UnknownLogForm> {
        [LogForm::Keys, LogForm::AccessLog, LogForm::Clicks]
            .into_iter()
            .find(|form| form.name() == text)
            .ok_or_else(|| UnknownLogForm {
                found: text.to_owned(),
            })
    }
}

impl fmt::Display for LogForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn key_line(arrival: &Arrival<'_>, log: &mut Vec<u8>) -> std::io::Result<()> {
    log.extend_from_slice(arrival.key);
    if let Some(importance) = arrival.importance {
        write!(log, "\t{importance}")?;
    }
    log.push(b'\n');
    Ok(())
}

fn access_line(arrival: &Arrival<'_>, place: u64, log: &mut Vec<u8>) -> std::io::Result<()> {
    let visitor = visitor(place);
    let (day, clock) = time(place);
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

fn click_line(arrival: &Arrival<'_>, place: u64, log: &mut Vec<u8>) -> std::io::Result<()> {
    let (day, clock) = time(place);
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

/// The path of a URL; of any other key, the key as a path.
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

/// Few visitors ask much, many a little.
fn visitor(place: u64) -> u64 {
    let generator = Generator::from_state(place);
    generator.draw(0) % (generator.draw(1) % VISITORS + 1)
}

/// The day of the month, and hour, minute and second.
fn time(place: u64) -> (u64, [u64; 3]) {
    let seconds = place / A_SECOND;
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

    fn first_line(stream: &str, form: LogForm) -> String {
        let spec: StreamSpec = stream.parse().expect("a stream");
        let mut log = Vec::new();
        assert!(form.append_line(&mut spec.open(1, 1), &mut log));
        String::from_utf8(log).expect("text")
    }

    #[test]
    fn a_line_of_each() {
        let url = first_line("crawl:3:20", LogForm::Keys);
        let path = url.trim_end().splitn(4, '/').nth(3).expect("a path");
        let access = first_line("crawl:3:20", LogForm::AccessLog);
        assert!(
            access.contains(&format!("\"GET /{path} HTTP/1.1\" 200 ")),
            "{access}"
        );
        assert!(access.contains("[01/Mar/2026:00:00:00 +0000]"), "{access}");
        let click = first_line("zipf:1.1:1000", LogForm::Clicks);
        let parsed: serde_json::Value = serde_json::from_str(&click).expect("JSON");
        assert!(parsed["click"].as_str().expect("text").starts_with('c'));
        assert!(first_line("importance-linear:60", LogForm::Keys).contains('\t'));
    }

    #[test]
    fn a_log_ends_with_its_stream() {
        let spec: StreamSpec = "shuffle:60".parse().expect("a stream");
        let mut stream = spec.open(2, 1);
        let mut log = Vec::new();
        while LogForm::Clicks.append_line(&mut stream, &mut log) {}
        assert_eq!(log.iter().filter(|&&byte| byte == b'\n').count(), 2);
    }

    #[test]
    fn a_form_is_known_by_its_name() {
        for form in [LogForm::Keys, LogForm::AccessLog, LogForm::Clicks] {
            assert_eq!(form.to_string().parse(), Ok(form));
        }
        assert!("apache".parse::<LogForm>().is_err());
    }
}
