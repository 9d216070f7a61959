//! Text from files, made safe for a terminal.

use std::borrow::Cow;

/// Escapes every character that could do more on a terminal than appear: control characters,
/// among them the escape that starts colours and cursor movements, and characters that reverse
/// or hide text.
///
/// ```
/// use dedupstore_view::printable;
///
/// assert_eq!(printable("bloom:k=4"), "bloom:k=4");
/// assert_eq!(printable("\u{1b}[2J"), "\\u{1b}[2J");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match is_unsafe(character) {
            true => escaped.extend(character.escape_default()),
            false => escaped.push(character),
        }
    }
    Cow::Owned(escaped)
}

/// Escapes such characters in a JSON text as JSON does. Encoders escape only the first 32.
///
/// ```
/// use dedupstore_view::printable_json;
///
/// assert_eq!(printable_json("\"\u{9b}2J\""), r#""\u009b2J""#);
/// ```
pub fn printable_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        match is_unsafe(character) {
            true => escaped += &format!("\\u{:04x}", u32::from(character)),
            false => escaped.push(character),
        }
    }
    escaped
}

fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_visible_text_is_left() {
        assert_eq!(printable("Straße, 東京"), "Straße, 東京");
        assert_eq!(printable("a\nb\tc\u{9b}d"), "a\\nb\\tc\\u{9b}d");
        assert_eq!(printable("\u{202e}txt.exe"), "\\u{202e}txt.exe");
    }
}
