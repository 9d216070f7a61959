//! Lists the paths to the values of a JSON line, so that a user can choose a key.

use super::json::Scanner;

/// Values deeper than this are not listed.
const LISTED_DEPTH: usize = 4;
/// The greatest number of paths listed.
const MAX_LISTED: usize = 40;

/// Returns the paths of the values of a line. Of an array, only the first element is listed.
pub(super) fn member_paths(line: &[u8]) -> Vec<String> {
    let mut paths = Vec::new();
    let mut scanner = Scanner { bytes: line, at: 0 };
    // After a syntax error nothing more is listed.
    let _ = list(&mut scanner, "", LISTED_DEPTH, &mut paths);
    paths
}

fn list(
    scanner: &mut Scanner<'_>,
    prefix: &str,
    depth: usize,
    paths: &mut Vec<String>,
) -> Option<()> {
    let start = scanner.at;
    let first = scanner.peek()?;
    if paths.len() == MAX_LISTED || depth == 0 {
        return scanner.skip_value();
    }
    match first {
        b'{' => {
            scanner.pass(b'{')?;
            while scanner.peek()? == b'"' {
                let (raw, _) = scanner.string()?;
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
            scanner.skip_value()
        }
        _ => {
            paths.push(prefix.to_owned());
            scanner.skip_value()
        }
    }
}

fn named_step(prefix: &str, name: &str) -> String {
    let plain = !name.is_empty() && !name.contains(['.', '[', '"']);
    match (plain, prefix.is_empty()) {
        (true, true) => name.to_owned(),
        (true, false) => format!("{prefix}.{name}"),
        (false, _) => format!("{prefix}[\"{name}\"]"),
    }
}
