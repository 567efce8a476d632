//! Bounded texts: a longer one ends in `...`.

use std::fmt::{self, Display, Write};

use serde_json::Value;

/// Maximum number of bytes of a path, a value or an explanation in an error.
pub(crate) const TEXT_BYTES: usize = 8 << 10;

/// Maximum number of bytes of one step of a path. Valid label keys have up to 317.
const STEP_BYTES: usize = 320;

/// The mark of a shortened text.
const MARK: &str = "...";

/// Returns the text of a value, of at most `limit` bytes and a mark. What exceeds the limit is not
/// made.
pub(crate) fn bounded(limit: usize, value: impl Display) -> String {
    let mut writer = BoundedWriter { text: String::new(), limit };
    if write!(writer, "{value}").is_err() {
        writer.text.push_str(MARK);
    }
    writer.text
}

/// Returns a text of at most `limit` bytes and a mark, without its other memory.
pub(crate) fn shortened(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit));
        text.push_str(MARK);
        text.shrink_to_fit();
    }
    text
}

/// Formats the name of a field or a key as a step of a path.
pub(crate) const fn short(step: &str) -> ShortStep<'_> {
    ShortStep(step)
}

/// A step of a path, in which a longer name is shortened: paths repeat it in each error.
#[derive(Clone, Copy)]
pub(crate) struct ShortStep<'a>(&'a str);

impl Display for ShortStep<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.len() <= STEP_BYTES {
            return f.write_str(self.0);
        }
        f.write_str(&self.0[..self.0.floor_char_boundary(STEP_BYTES)])?;
        f.write_str(MARK)
    }
}

/// Returns about how many bytes the text of a value has, counted up to a limit.
pub(crate) fn value_bytes(value: &Value, limit: usize) -> usize {
    let add =
        |all: usize, each: &dyn Fn(usize) -> usize| if all > limit { all } else { all + each(limit - all) };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => {
            items.iter().fold(2, |all, item| add(all, &|left| value_bytes(item, left) + 1))
        }
        Value::Object(fields) => fields
            .iter()
            .fold(2, |all, (name, field)| add(all, &|left| name.len() + 4 + value_bytes(field, left))),
    }
}

struct BoundedWriter {
    text: String,
    limit: usize,
}

impl Write for BoundedWriter {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = self.limit - self.text.len().min(self.limit);
        if part.len() <= room {
            self.text.push_str(part);
            return Ok(());
        }
        self.text.push_str(&part[..part.floor_char_boundary(room)]);
        // Ends the formatting: nothing more would be kept.
        Err(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn longer_texts_are_cut_at_a_character() {
        assert_eq!(bounded(4, "abcd"), "abcd");
        assert_eq!(bounded(4, "abcde"), "abcd...");
        assert_eq!(bounded(4, format_args!("{}{}", "abé", "f")), "abé...");
        assert_eq!(bounded(3, "abé"), "ab...");
        assert_eq!(shortened("abé".into(), 3), "ab...");
        assert_eq!(shortened("abc".into(), 3), "abc");
        assert_eq!(short(&"x".repeat(STEP_BYTES)).to_string(), "x".repeat(STEP_BYTES));
        assert_eq!(short(&"x".repeat(1 << 20)).to_string().len(), STEP_BYTES + MARK.len());
    }

    #[test]
    fn a_text_beyond_the_limit_is_not_made() {
        let parts = std::cell::Cell::new(0);
        let endless = fmt::from_fn(|f| {
            (0..1_000_000).try_for_each(|_| {
                parts.set(parts.get() + 1);
                f.write_str("0123456789")
            })
        });
        assert_eq!(bounded(25, endless), "0123456789012345678901234...");
        assert_eq!(parts.get(), 3);
    }

    #[test]
    fn the_size_of_a_value_is_counted_up_to_the_limit() {
        assert_eq!(value_bytes(&json!({"a": ["b", 1]}), 100), 2 + 5 + (2 + 3 + 1 + 4 + 1));
        let long = Value::Array(vec![json!("0123456789"); 100_000]);
        assert!((100..200).contains(&value_bytes(&long, 100)));
    }
}
