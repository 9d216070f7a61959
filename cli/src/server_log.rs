//! The log of `serve`: one line per event, as text or as JSON.

use clap::ValueEnum;
use dedupstore_view::printable;
use serde_json::{Map, Value};

use crate::metrics_text::unix_seconds;
use crate::standard_error;

/// The form of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One line of words and `name=value` per event
    #[default]
    Text,
    /// One JSON object per event
    Json,
}

/// Writes an event to standard error.
pub fn write(format: LogFormat, event: &str, fields: &[(&str, String)]) {
    standard_error::line(match format {
        LogFormat::Text => text(event, fields),
        LogFormat::Json => json(event, fields, unix_seconds()),
    });
}

fn text(event: &str, fields: &[(&str, String)]) -> String {
    let mut line = format!("dedupstore: {event}");
    for (name, value) in fields {
        let value = printable(value).into_owned();
        match value.contains([' ', '"']) {
            true => line += &format!(" {name}=\"{}\"", value.replace('"', "\\\"")),
            false => line += &format!(" {name}={value}"),
        }
    }
    line
}

fn json(event: &str, fields: &[(&str, String)], unix_seconds: f64) -> String {
    let mut object = Map::new();
    object.insert("time".to_owned(), unix_seconds.into());
    object.insert("event".to_owned(), event.into());
    for (name, value) in fields {
        let number = value.parse::<u64>().ok();
        let value = number.map_or_else(|| Value::from(value.clone()), Value::from);
        object.insert((*name).to_owned(), value);
    }
    Value::Object(object).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line() {
        let fields = [
            ("store", "a b".to_owned()),
            ("recovered", "7".to_owned()),
            ("error", "line\nend \"x\"".to_owned()),
        ];
        let text = text("opened", &fields);
        assert!(text.starts_with("dedupstore: opened store=\"a b\" recovered=7 error="));
        assert!(!text.contains('\n'), "{text}");
        let json = json("opened", &fields, 1.5);
        let expected = r#"{"time":1.5,"event":"opened","store":"a b","recovered":7,"error":"line\nend \"x\""}"#;
        assert_eq!(json, expected);
    }
}
