//! What a log looks like, and the keys to offer for it.

use dedupstore::lines::Shape;
use wasm_bindgen::prelude::*;

/// Columns offered of a table.
const MOST_COLUMNS: usize = 40;

/// A line that is longer than this is worth a word.
const LONG_LINE_BYTES: usize = 256 << 10;

/// The shape of a log.
#[wasm_bindgen(getter_with_clone)]
pub struct LogShape {
    /// In words: "an access log".
    #[wasm_bindgen(readonly)]
    pub name: String,
    /// Whether running over it makes sense.
    #[wasm_bindgen(readonly, js_name = isText)]
    pub is_text: bool,
    /// What to look out for, if anything.
    #[wasm_bindgen(readonly)]
    pub caution: Option<String>,
    /// The keys it may have, the likeliest first.
    #[wasm_bindgen(readonly)]
    pub offers: Vec<KeyOffer>,
}

/// A key that the lines of a log may have.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone)]
pub struct KeyOffer {
    /// For people.
    #[wasm_bindgen(readonly)]
    pub label: String,
    /// Fields counted from 1; none if it is no field.
    #[wasm_bindgen(readonly)]
    pub fields: Vec<u32>,
    /// What separates fields; nothing for blanks.
    #[wasm_bindgen(readonly)]
    pub delimiter: Option<String>,
    /// The path of a JSON value.
    #[wasm_bindgen(readonly)]
    pub path: Option<String>,
}

impl KeyOffer {
    fn whole_line() -> Self {
        KeyOffer {
            label: "The whole line".to_owned(),
            fields: Vec::new(),
            delimiter: None,
            path: None,
        }
    }

    fn fields(label: &str, fields: &[u32], delimiter: Option<u8>) -> Self {
        KeyOffer {
            label: label.to_owned(),
            fields: fields.to_vec(),
            delimiter: delimiter.map(|byte| char::from(byte).to_string()),
            path: None,
        }
    }

    fn json(path: &str) -> Self {
        KeyOffer {
            label: path.to_owned(),
            path: Some(path.to_owned()),
            ..KeyOffer::whole_line()
        }
    }
}

/// The shape of a log that begins with these bytes.
#[wasm_bindgen(js_name = shapeOf)]
pub fn shape_of(head: &[u8]) -> LogShape {
    let shape = Shape::of(head);
    let (name, mut offers) = match &shape {
        Shape::Empty => ("nothing", Vec::new()),
        Shape::Binary => ("binary data, not lines of text", Vec::new()),
        Shape::Urls => ("a URL a line", Vec::new()),
        Shape::AccessLog => (
            "a web server's access log",
            vec![
                KeyOffer::fields("URL asked for", &[7], None),
                KeyOffer::fields("IP address", &[1], None),
                KeyOffer::fields("IP address and URL", &[1, 7], None),
            ],
        ),
        Shape::Table {
            delimiter,
            names,
            columns,
            ..
        } => {
            let offers = (0..(*columns).min(MOST_COLUMNS)).map(|index| {
                let number = index as u32 + 1;
                let label = match names.get(index) {
                    Some(name) => format!("Column {number}: {name}"),
                    None => format!("Column {number}"),
                };
                KeyOffer::fields(&label, &[number], Some(*delimiter))
            });
            let name = match delimiter {
                b'\t' => "a table with tabs (TSV)",
                b',' => "a table with commas (CSV)",
                _ => "a table with semicolons",
            };
            (name, offers.collect())
        }
        Shape::JsonLines { paths } => {
            let offers = paths.iter().map(|path| KeyOffer::json(path));
            ("JSON lines", offers.collect())
        }
        _ => ("plain lines", Vec::new()),
    };
    offers.push(KeyOffer::whole_line());
    LogShape {
        name: name.to_owned(),
        caution: caution(&shape, head).map(str::to_owned),
        is_text: !matches!(shape, Shape::Binary | Shape::Empty),
        offers,
    }
}

/// What a person who chose this log may have overlooked.
fn caution(shape: &Shape, head: &[u8]) -> Option<&'static str> {
    match shape {
        Shape::Binary => Some(
            "This is no text. It can be run, cut wherever a byte happens to be a newline, but \
             what comes of it means little.",
        ),
        Shape::Table { quoted: true, .. } => Some(
            "Some fields are quoted and hold the delimiter, which separates fields all the same, \
             as with `cut`: columns behind such a field are off by one or more. A regular \
             expression can tell them apart.",
        ),
        _ if head.len() >= LONG_LINE_BYTES && !head.contains(&b'\n') => Some(
            "The first line has no end in sight: a key is found in a whole line, which must fit \
             in memory.",
        ),
        _ => None,
    }
}
