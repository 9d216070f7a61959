//! The names of stores, as clients give them, and their directories.
//!
//! A name is any bytes. Letters, digits, `-` and `_` stand for themselves in the name of the
//! directory, and `.` does unless it comes first; every other byte is `%` and two hexadecimal
//! digits. So no name leaves the directory of the server, and no two names share a store.

/// The longest name of a directory, without the extension: file systems allow 255 bytes, and a store
/// that is being made has a longer name.
const MAX_FILE_NAME: usize = 200;

/// Returns the name of the directory of a store; None if the name is empty or too long.
pub fn directory_name(name: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(name.len() + 4);
    for (at, &byte) in name.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => text.push(char::from(byte)),
            b'.' if at > 0 => text.push('.'),
            byte => text.push_str(&format!("%{byte:02X}")),
        }
        if text.len() > MAX_FILE_NAME {
            return None;
        }
    }
    match text.is_empty() {
        true => None,
        false => Some(text + ".dds"),
    }
}

/// Returns the name of the store in a directory; the inverse of `directory_name`. None if that
/// gives no such name.
pub fn name_of(directory: &str) -> Option<Vec<u8>> {
    let text = directory.strip_suffix(".dds")?.as_bytes();
    let (mut name, mut at) = (Vec::with_capacity(text.len()), 0);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'%' => {
                let digits = std::str::from_utf8(text.get(at + 1..at + 3)?).ok()?;
                name.push(u8::from_str_radix(digits, 16).ok()?);
                at += 3;
            }
            byte => {
                name.push(byte);
                at += 1;
            }
        }
    }
    Some(name).filter(|name| directory_name(name).as_deref() == Some(directory))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_cannot_leave_the_directory() {
        let named = |name: &str| directory_name(name.as_bytes());
        assert_eq!(named("links").as_deref(), Some("links.dds"));
        assert_eq!(named("a.b").as_deref(), Some("a.b.dds"));
        assert_eq!(named("crawl:links").as_deref(), Some("crawl%3Alinks.dds"));
        assert_eq!(named("../x").as_deref(), Some("%2E.%2Fx.dds"));
        assert_eq!(named("..").as_deref(), Some("%2E..dds"));
        assert_eq!(named("/etc").as_deref(), Some("%2Fetc.dds"));
        assert_eq!(named("a\0b").as_deref(), Some("a%00b.dds"));
        assert_eq!(named(""), None);
        assert_eq!(named(&"x".repeat(201)), None);
        assert_eq!(named(&"/".repeat(100)), None);
        assert_eq!(name_of("%2e.dds"), None, "not how we write it");
        assert_eq!(name_of("%2.dds"), None);
        assert_eq!(name_of("links"), None);
    }

    proptest! {
        #[test]
        fn different_names_have_different_directories(
            name in prop::collection::vec(any::<u8>(), 1..60),
        ) {
            let directory = directory_name(&name).expect("short");
            prop_assert!(!directory.contains('/') && !directory.starts_with('.'));
            prop_assert_eq!(name_of(&directory), Some(name));
        }
    }
}
