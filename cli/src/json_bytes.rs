//! Bytes in JSON objects, whose texts are Unicode.

use serde_json::{Value, json};

/// Adds bytes to an object as text. If they are not UTF-8, the text has replacement characters,
/// and the name with `_bytes` appended has all bytes as hexadecimal digits.
pub fn insert(object: &mut Value, name: &str, bytes: &[u8]) {
    object[name] = json!(String::from_utf8_lossy(bytes));
    if str::from_utf8(bytes).is_err() {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        object[format!("{name}_bytes")] = json!(digits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_text_are_added_as_digits() {
        let mut object = json!({"schema": 1});
        insert(&mut object, "key", "a\u{e9}".as_bytes());
        insert(&mut object, "input", b"a\xFF\x01");
        assert_eq!(
            object,
            json!({
                "schema": 1,
                "key": "a\u{e9}",
                "input": "a\u{fffd}\u{1}",
                "input_bytes": "61ff01",
            })
        );
    }
}
