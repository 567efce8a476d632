//! How many keys go into one request. Servers refuse bodies that are too long, and would refuse the same again for ever.

use std::fmt::{Display, Write};

use crate::reflect::Limits;
use machinery_sync::contained;

/// What is left of a request.
pub(super) struct Room {
    keys: usize,
    bytes: usize,
    is_new: bool,
}

/// So many bytes stand around a text in a list: its quotes, and a comma.
const AROUND: usize = 3;

impl Room {
    /// For so many keys, or fewer.
    pub(super) fn new(limits: &Limits, keys: usize) -> Self {
        Self { keys: keys.min(limits.edit_keys), bytes: limits.edit_bytes, is_new: true }
    }

    /// Whether one more goes into it. One does, however long it is; and after one that does not none does.
    pub(super) fn takes(&mut self, key: &impl Display) -> bool {
        let mut length = Length(AROUND);
        let counted = contained(|| write!(length, "{key}").is_ok()).unwrap_or_default();
        let fits = counted && self.keys > 0 && length.0 <= self.bytes;
        if fits || std::mem::take(&mut self.is_new) {
            self.is_new = false;
            self.keys = self.keys.saturating_sub(1);
            self.bytes = self.bytes.saturating_sub(length.0);
            return true;
        }
        self.keys = 0;
        false
    }
}

/// How long a text is in JSON, at the most.
struct Length(usize);

impl Write for Length {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let of = |byte| match byte {
            b'"' | b'\\' => 2,
            0..b' ' | 0x7F => 6,
            _ => 1,
        };
        self.0 += text.bytes().map(of).sum::<usize>();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(keys: usize, bytes: usize) -> Room {
        let mut limits = Limits::default();
        (limits.edit_keys, limits.edit_bytes) = (keys, bytes);
        Room::new(&limits, usize::MAX)
    }

    #[test]
    fn a_request_is_bounded_in_keys_and_in_bytes() {
        let mut few = room(2, 1_000);
        assert_eq!(["a", "b", "c"].map(|key| few.takes(&key)), [true, true, false]);
        let mut short = room(9, 10);
        assert_eq!(["abcd", "efgh", "i"].map(|key| short.takes(&key)), [true, false, false]);
        // What is escaped is longer.
        let mut escaped = room(9, 21);
        assert_eq!(["\n\"\\", "12345", "x"].map(|key| escaped.takes(&key)), [true, true, false]);
        let mut one = Room::new(&Limits::default(), 1);
        assert!(one.takes(&"a") && !one.takes(&"b"));
        // One that is longer than any request is asked for, and the source says so.
        assert!(room(1, 1).takes(&"long"));
        assert!(room(0, 0).takes(&"long"));
    }

    #[test]
    fn no_text_is_longer_than_that() {
        let written =
            [("", 0), ("a", 1), ("ü€", 5), ("\0\u{1f}", 12), ("\u{7f}", 6), ("\"\\/", 5), ("\n", 6)];
        for (text, most) in written {
            let mut length = Length(0);
            write!(length, "{text}").unwrap();
            assert_eq!(length.0, most, "{text:?}");
        }
    }
}
