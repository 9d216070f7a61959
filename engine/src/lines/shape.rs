//! Detects the format of a log from its first lines.

use memchr::{memchr, memchr_iter, memmem};

use super::json_members::member_paths;

/// Number of lines examined.
const LINES: usize = 64;
/// The percentage of these lines that must agree. It is below 100 because logs have stray lines.
const AGREEMENT_PERCENT: usize = 80;
/// Delimiters of tables, in the order in which they are tried.
const DELIMITERS: [u8; 3] = [b'\t', b',', b';'];

/// The format of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// No lines.
    Empty,
    /// Not text.
    Binary,
    /// Text in no known format.
    Lines,
    /// One URL per line.
    Urls,
    /// A web server's log in the common or combined format: the client address is field 1, the
    /// path field 7, separated by blanks.
    AccessLog,
    /// The same number of columns in every line.
    Table {
        /// The byte that separates columns.
        delimiter: u8,
        /// The names of the columns; empty if the first line is not a header.
        names: Vec<String>,
        /// The number of columns.
        columns: usize,
        /// Whether some delimiters are inside quotes. A key selector does not know quotes and
        /// splits there.
        quoted: bool,
    },
    /// One JSON object per line.
    JsonLines {
        /// The paths to the values of the first line.
        paths: Vec<String>,
    },
}

impl Shape {
    /// Detects the format of a log that begins with these bytes, which may end within a line.
    pub fn of(head: &[u8]) -> Shape {
        if memchr(0, head).is_some() {
            return Shape::Binary;
        }
        let lines: Vec<&[u8]> = head
            .split(|&byte| byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .filter(|line| !line.is_empty())
            .take(LINES + 1)
            .collect();
        // The last line may be cut short, so it counts only if it is the only one.
        let lines = &lines[..lines.len().saturating_sub(1).max(lines.len().min(1))];
        let Some(&first) = lines.first() else {
            return Shape::Empty;
        };
        let agree = |is: fn(&[u8]) -> bool| {
            let count = lines.iter().filter(|line| is(line)).count();
            count * 100 >= lines.len() * AGREEMENT_PERCENT
        };
        if agree(is_json_object) {
            let paths = member_paths(first);
            return Shape::JsonLines { paths };
        }
        if agree(is_access_line) {
            return Shape::AccessLog;
        }
        if agree(is_url) {
            return Shape::Urls;
        }
        DELIMITERS
            .into_iter()
            .find_map(|delimiter| table(lines, first, delimiter))
            .unwrap_or(Shape::Lines)
    }
}

fn is_json_object(line: &[u8]) -> bool {
    line.starts_with(b"{\"") && line.trim_ascii_end().ends_with(b"}")
}

/// `10.0.0.1 - - [01/Mar/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 …`
fn is_access_line(line: &[u8]) -> bool {
    let parts = || {
        let opened = memmem::find(line, b" [")?;
        let quoted = opened + memmem::find(&line[opened..], b"] \"")? + 3;
        let status = quoted + memmem::find(&line[quoted..], b"\" ")? + 2;
        line.get(status..status + 3)
    };
    parts().is_some_and(|status| status.iter().all(u8::is_ascii_digit))
}

fn is_url(line: &[u8]) -> bool {
    let scheme = memmem::find(line, b"://").map(|end| &line[..end]);
    let known = scheme.is_some_and(|scheme| {
        !scheme.is_empty() && scheme.iter().all(|byte| byte.is_ascii_alphanumeric())
    });
    known && !line.iter().any(|byte| b" \t,;".contains(byte))
}

fn table(lines: &[&[u8]], first: &[u8], delimiter: u8) -> Option<Shape> {
    let fields_of = |line: &[u8]| outside_quotes(line, delimiter).count();
    let expected = fields_of(first);
    let agreeing = lines.iter().filter(|line| fields_of(line) == expected);
    if expected == 1 || agreeing.count() * 100 < lines.len() * AGREEMENT_PERCENT {
        return None;
    }
    let is_quoted = |line: &&[u8]| memchr_iter(delimiter, line).count() + 1 != fields_of(line);
    let fields: Vec<String> = outside_quotes(first, delimiter)
        .map(|field| String::from_utf8_lossy(field).trim_matches('"').to_owned())
        .collect();
    let is_name = |field: &String| {
        field.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && !field.contains("://")
            && field.len() <= 40
    };
    // A value that comes again in its column is no name: the first line is an ordinary one.
    let comes_again = |(index, name): (usize, &[u8])| {
        let column = |line: &&[u8]| outside_quotes(line, delimiter).nth(index) == Some(name);
        lines[1..].iter().any(column)
    };
    let has_names = lines.len() > 1
        && fields.iter().all(is_name)
        && !outside_quotes(first, delimiter)
            .enumerate()
            .any(comes_again);
    Some(Shape::Table {
        delimiter,
        columns: fields.len(),
        quoted: lines.iter().any(is_quoted),
        names: if has_names { fields } else { Vec::new() },
    })
}

/// Splits a line into fields; a delimiter inside quotes does not separate.
fn outside_quotes(line: &[u8], delimiter: u8) -> impl Iterator<Item = &[u8]> {
    // With an unclosed quote, all quotes are ordinary characters.
    let has_quotes = memchr_iter(b'"', line).count().is_multiple_of(2);
    let mut inside = false;
    line.split(move |&byte| {
        inside ^= has_quotes && byte == b'"';
        byte == delimiter && !inside
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_line_that_is_a_number_has_no_path() {
        let log = format!("7\n{}", "{\"a\":1}\n".repeat(9));
        let paths = Vec::new();
        assert_eq!(Shape::of(log.as_bytes()), Shape::JsonLines { paths });
    }

    #[test]
    fn formats_are_distinguished() {
        let access = "10.0.0.1 - - [01/Mar/2026:00:00:00 +0000] \"GET / HTTP/1.1\" 200 12\n";
        assert_eq!(Shape::of(access.as_bytes()), Shape::AccessLog);
        assert_eq!(Shape::of(access.repeat(3).as_bytes()), Shape::AccessLog);
        assert_eq!(
            Shape::of(b"https://a.example/\r\nhttps://b.example/x?y\r\n"),
            Shape::Urls
        );
        assert_eq!(Shape::of(b"one\ntwo words\nthree\n"), Shape::Lines);
        assert_eq!(Shape::of(b"\n\n"), Shape::Empty);
        assert_eq!(Shape::of(b"a\0b\n"), Shape::Binary);
    }

    #[test]
    fn a_table_has_columns_and_optional_names() {
        let named = Shape::of(b"time,url\n1,https://a.example/\n2,https://b.example/\n");
        let names = vec!["time".to_owned(), "url".to_owned()];
        let (delimiter, columns, quoted) = (b',', 2, false);
        assert_eq!(
            named,
            Shape::Table {
                delimiter,
                names,
                columns,
                quoted
            }
        );
        let unnamed = Shape::of(b"1\tx\t5\n2\ty\t6\n");
        let (delimiter, columns, quoted, names) = (b'\t', 3, false, Vec::new());
        assert_eq!(
            unnamed,
            Shape::Table {
                delimiter,
                names,
                columns,
                quoted
            }
        );
    }

    #[test]
    fn a_first_line_whose_values_come_again_is_no_header() {
        let Shape::Table { names, .. } = Shape::of(b"GET,home\nGET,about\nPOST,home\nGET,x\n")
        else {
            panic!("a table");
        };
        assert!(names.is_empty());
    }

    #[test]
    fn delimiters_inside_quotes_do_not_add_columns() {
        let text = b"id,title\n1,\"a, b\"\n2,\"c \"\"d\"\", e\"\n3,f\n4,5\" g\n";
        let Shape::Table {
            names,
            columns,
            quoted,
            ..
        } = Shape::of(text)
        else {
            panic!("a table");
        };
        assert_eq!(
            (names, columns, quoted),
            (vec!["id".into(), "title".into()], 2, true)
        );
    }

    #[test]
    fn json_lines_list_the_paths_to_their_values() {
        let line = "{\"id\":7,\"request\":{\"url\":\"/a\",\"tags\":[1,2]},\"a.b\":null}\n";
        let Shape::JsonLines { paths } = Shape::of(line.repeat(2).as_bytes()) else {
            panic!("JSON");
        };
        assert_eq!(paths, ["id", "request.url", "request.tags[0]", "[\"a.b\"]"]);
    }
}
