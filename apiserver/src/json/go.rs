//! JSON as Go writes it.

use serde_json::Value;

/// JSON as Go writes it: with what HTML could take for its own escaped.
pub(crate) fn go_json(value: &Value) -> String {
    let mut text = String::new();
    for char in value.to_string().chars() {
        match char {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(char)))
            }
            other => text.push(other),
        }
    }
    text
}
