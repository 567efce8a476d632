//! The maximum size of a request in keys and bytes: servers reject longer bodies each time.

use std::fmt::{Display, Write};

use crate::reflect::ReflectorLimits;
use machinery_sync::contained;

/// The capacity that is left in a request.
pub(super) struct RequestBudget {
    keys: usize,
    bytes: usize,
    is_empty: bool,
}

/// Bytes around a text in a JSON list: quotes and a comma.
const SEPARATOR_BYTES: usize = 3;

impl RequestBudget {
    /// Creates the budget of a request with at most this many keys.
    pub(super) fn new(limits: &ReflectorLimits, keys: usize) -> Self {
        Self { keys: keys.min(limits.edit_keys), bytes: limits.edit_bytes, is_empty: true }
    }

    /// Takes the capacity for one more key; returns false if the key does not fit. The first key
    /// of a request always fits, and after a rejected key no further one does.
    pub(super) fn take(&mut self, key: &impl Display) -> bool {
        let mut length = JsonLength(SEPARATOR_BYTES);
        let counted = contained(|| write!(length, "{key}").is_ok()).unwrap_or_default();
        let fits = counted && self.keys > 0 && length.0 <= self.bytes;
        // The first key always fits: else one above the limit is never sent, nor refused.
        if fits || std::mem::take(&mut self.is_empty) {
            self.is_empty = false;
            self.keys = self.keys.saturating_sub(1);
            self.bytes = self.bytes.saturating_sub(length.0);
            return true;
        }
        self.keys = 0;
        false
    }
}

/// Upper bound of the length of a text in JSON.
struct JsonLength(usize);

impl Write for JsonLength {
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

    fn budget(keys: usize, bytes: usize) -> RequestBudget {
        let mut limits = ReflectorLimits::default();
        (limits.edit_keys, limits.edit_bytes) = (keys, bytes);
        RequestBudget::new(&limits, usize::MAX)
    }

    #[test]
    fn a_request_is_bounded_in_keys_and_in_bytes() {
        let mut few = budget(2, 1_000);
        assert_eq!(["a", "b", "c"].map(|key| few.take(&key)), [true, true, false]);
        let mut short = budget(9, 10);
        assert_eq!(["abcd", "efgh", "i"].map(|key| short.take(&key)), [true, false, false]);
        // Escapes count.
        let mut escaped = budget(9, 21);
        assert_eq!(["\n\"\\", "12345", "x"].map(|key| escaped.take(&key)), [true, true, false]);
        let mut one = RequestBudget::new(&ReflectorLimits::default(), 1);
        assert!(one.take(&"a") && !one.take(&"b"));
        // A key above the limit is requested alone, for the source to reject.
        assert!(budget(1, 1).take(&"long"));
        assert!(budget(0, 0).take(&"long"));
    }

    #[test]
    fn json_length_is_an_upper_bound() {
        let written =
            [("", 0), ("a", 1), ("ü€", 5), ("\0\u{1f}", 12), ("\u{7f}", 6), ("\"\\/", 5), ("\n", 6)];
        for (text, most) in written {
            let mut length = JsonLength(0);
            write!(length, "{text}").unwrap();
            assert_eq!(length.0, most, "{text:?}");
        }
    }
}
