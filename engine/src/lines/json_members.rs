//! The ways to the values of a JSON line, to choose a key among them.

use super::json::Scanner;

/// Values deeper than this are not listed.
const LISTED_DEPTH: usize = 4;
/// No more ways than a person would read.
const MOST_LISTED: usize = 40;

/// The paths of a line's values, those of arrays to their first element.
pub(super) fn member_paths(line: &[u8]) -> Vec<String> {
    let mut paths = Vec::new();
    let mut scanner = Scanner { bytes: line, at: 0 };
    // What comes behind a mistake is not listed.
    let _ = list(&mut scanner, "", LISTED_DEPTH, &mut paths);
    paths
}

fn list(scanner: &mut Scanner<'_>, way: &str, depth: usize, paths: &mut Vec<String>) -> Option<()> {
    let start = scanner.at;
    let inside = scanner.peek()?;
    if paths.len() == MOST_LISTED || depth == 0 {
        return scanner.skip_value();
    }
    match inside {
        b'{' => {
            scanner.pass(b'{')?;
            while scanner.peek()? == b'"' {
                let (raw, _) = scanner.string()?;
                scanner.pass(b':')?;
                let step = named_step(way, std::str::from_utf8(raw).ok()?);
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
                list(scanner, &format!("{way}[0]"), depth - 1, paths)?;
            }
            scanner.at = start;
            scanner.peek()?;
            scanner.skip_value()
        }
        _ => {
            paths.push(way.to_owned());
            scanner.skip_value()
        }
    }
}

fn named_step(way: &str, name: &str) -> String {
    let plain = !name.is_empty() && !name.contains(['.', '[', '"']);
    match (plain, way.is_empty()) {
        (true, true) => name.to_owned(),
        (true, false) => format!("{way}.{name}"),
        (false, _) => format!("{way}[\"{name}\"]"),
    }
}
