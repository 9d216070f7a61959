//! Reports what killed processes have left next to a store.

use std::path::Path;

use dedupstore::store::leftovers;

use crate::standard_error;
use crate::value_parsers::show_bits;

/// Names each leftover of the store at a path on standard error, and how to remove it.
pub fn report(path: &Path, quiet: bool) {
    if quiet {
        return;
    }
    for leftover in leftovers(path) {
        standard_error::message(format_args!(
            "{} ({}) was left by a command that was killed, and nothing uses it; \
             remove it: rm -r {}",
            leftover.path.display(),
            show_bits(leftover.disk_bytes.saturating_mul(8)),
            shell_word(&leftover.path.display().to_string()),
        ));
    }
}

/// Quotes a path for a shell, if it needs quotes.
fn shell_word(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    match path.chars().all(is_plain) && !path.starts_with('-') {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_a_shell() {
        assert_eq!(shell_word("a/.b.dds.12.creating"), "a/.b.dds.12.creating");
        assert_eq!(shell_word("my links"), "'my links'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }
}
