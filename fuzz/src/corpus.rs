//! The kept inputs of each target: `fuzz/corpus/NAME.txt`, one input per line, with Rust's escapes.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::target::Target;

const HEAD: &str = "# Inputs of a fuzz target, one per line, with Rust's escapes. Written by `cargo xtask fuzz --keep`.\n";

fn file(target: &Target) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus");
    directory.join(target.name).with_extension("txt")
}

/// Returns the seeds of a target, then its kept inputs.
pub fn load(target: &Target) -> io::Result<Vec<Vec<u8>>> {
    let mut inputs = (target.seeds)();
    match fs::read_to_string(file(target)) {
        Ok(text) => inputs.extend(text.lines().filter(|it| !it.starts_with('#')).map(unescape)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(inputs)
}

/// Replaces the kept inputs of a target.
pub fn store(target: &Target, inputs: &[Vec<u8>]) -> io::Result<()> {
    let lines = inputs.iter().map(|it| it.escape_ascii().to_string() + "\n");
    fs::write(file(target), HEAD.to_owned() + &lines.collect::<String>())
}

/// Reads the escapes that `escape_ascii` writes. Anything else stands for itself.
pub fn unescape(line: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(line.len());
    let mut rest = line.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let (byte, length) = match (first, after) {
            (b'\\', [b'n', ..]) => (b'\n', 2),
            (b'\\', [b'r', ..]) => (b'\r', 2),
            (b'\\', [b't', ..]) => (b'\t', 2),
            (b'\\', [quoted @ (b'\\' | b'\'' | b'"'), ..]) => (*quoted, 2),
            (b'\\', [b'x', high, low, ..]) => {
                let digit = |it: u8| char::from(it).to_digit(16).unwrap_or(0) as u8;
                (16 * digit(*high) + digit(*low), 4)
            }
            _ => (first, 1),
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_bytes_are_read_back() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unescape(&all.escape_ascii().to_string()), all);
    }
}
