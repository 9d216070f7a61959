//! Lists the paths to the values of a JSON line, so that a user can choose a key.

use super::json_path::is_plain;
use super::json_text::{JsonString, JsonText};

/// Values deeper than this are not listed.
const LISTED_DEPTH: usize = 4;
/// The greatest number of paths listed.
const MAX_LISTED: usize = 40;

/// Returns the paths of the values of a line. Of an array, only the first element is listed.
pub(super) fn member_paths(line: &[u8]) -> Vec<String> {
    let mut paths = Vec::new();
    let mut scanner = JsonText { bytes: line, at: 0 };
    // After a syntax error nothing more is listed.
    let _ = list(&mut scanner, "", LISTED_DEPTH, &mut paths);
    paths
}

fn list(
    scanner: &mut JsonText<'_>,
    prefix: &str,
    depth: usize,
    paths: &mut Vec<String>,
) -> Option<()> {
    let start = scanner.at;
    let first = scanner.peek()?;
    if paths.len() == MAX_LISTED || depth == 0 {
        return skip_value(scanner);
    }
    match first {
        b'{' => {
            scanner.pass(b'{')?;
            while scanner.peek()? == b'"' {
                let JsonString { raw, .. } = scanner.string()?;
                scanner.pass(b':')?;
                let step = named_step(prefix, std::str::from_utf8(raw).ok()?);
                list(scanner, &step, depth - 1, paths)?;
                if scanner.pass(b',').is_none() {
                    break;
                }
            }
            scanner.pass(b'}')
        }
        b'[' => {
            scanner.pass(b'[')?;
            if scanner.peek()? != b']' {
                list(scanner, &format!("{prefix}[0]"), depth - 1, paths)?;
            }
            scanner.at = start;
            scanner.peek()?;
            skip_value(scanner)
        }
        _ => {
            // The document itself has no path.
            if !prefix.is_empty() {
                paths.push(prefix.to_owned());
            }
            skip_value(scanner)
        }
    }
}

fn named_step(prefix: &str, name: &str) -> String {
    // A name with escapes is quoted as it is: both are JSON strings.
    match (is_plain(name) && !name.contains('\\'), prefix.is_empty()) {
        (true, true) => name.to_owned(),
        (true, false) => format!("{prefix}.{name}"),
        (false, _) => format!("{prefix}[\"{name}\"]"),
    }
}

/// Moves past the value that starts here. Counts brackets, but does not check what is between
/// them.
fn skip_value(text: &mut JsonText<'_>) -> Option<()> {
    let mut depth = 0usize;
    loop {
        match text.peek()? {
            b'"' => drop(text.string()?),
            b'{' | b'[' => {
                depth += 1;
                text.at += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                text.at += 1;
            }
            b',' | b':' if depth > 0 => text.at += 1,
            _ => text.number_or_word()?,
        }
        if depth == 0 {
            return Some(());
        }
    }
}
