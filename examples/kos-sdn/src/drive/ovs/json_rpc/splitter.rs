//! Finds the messages in a stream of bytes.

use serde_json::Value;

use super::error::RpcError;

/// Splits a stream of JSON objects without framing. A complete object is found in time linear in
/// its size, in however many pieces it arrives.
#[derive(Debug)]
pub struct JsonSplitter {
    buffer: Vec<u8>,
    /// Number of bytes of the buffer that were examined.
    examined: usize,
    depth: usize,
    string: bool,
    escape: bool,
    limit: usize,
}

/// A buffer of more bytes is released when it is empty.
const KEPT_CAPACITY: usize = 1 << 16;

impl JsonSplitter {
    /// Makes a splitter of messages of at most `limit` bytes.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), examined: 0, depth: 0, string: false, escape: false, limit }
    }

    /// Appends received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Takes the next complete message; `None` if its end was not yet received.
    ///
    /// # Errors
    /// The message exceeds the limit, or is no JSON object. The stream is then of no further use.
    pub fn next_value(&mut self) -> Result<Option<Value>, RpcError> {
        if self.depth == 0 {
            let is_text = |byte: &u8| !byte.is_ascii_whitespace();
            let blank = self.buffer.iter().position(is_text).unwrap_or(self.buffer.len());
            self.buffer.drain(..blank);
        }
        while let Some(byte) = self.buffer.get(self.examined).copied() {
            if self.depth == 0 && byte != b'{' {
                let reason = format!("a message begins with byte {byte:#04x} instead of {{");
                return Err(RpcError::Malformed { reason });
            }
            self.examined += 1;
            if self.examined > self.limit {
                return Err(RpcError::TooBig { limit: self.limit });
            }
            if self.ends_with(byte) {
                return self.take().map(Some);
            }
        }
        Ok(None)
    }

    /// Advances by one byte. Returns whether it ends a message.
    fn ends_with(&mut self, byte: u8) -> bool {
        if self.escape {
            self.escape = false;
        } else if self.string {
            match byte {
                b'\\' => self.escape = true,
                b'"' => self.string = false,
                _ => {}
            }
        } else {
            match byte {
                b'"' => self.string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth -= 1,
                _ => {}
            }
        }
        self.depth == 0
    }

    fn take(&mut self) -> Result<Value, RpcError> {
        let message: Vec<u8> = self.buffer.drain(..self.examined).collect();
        self.examined = 0;
        if self.buffer.is_empty() && self.buffer.capacity() > KEPT_CAPACITY {
            self.buffer = Vec::new();
        }
        serde_json::from_slice(&message).map_err(|error| RpcError::Malformed { reason: error.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_are_split_at_any_byte() {
        let values = [json!({"id": 1, "text": "}]\\\" {"}), json!({}), json!({"a": [{"b": []}]})];
        let stream: Vec<u8> = values.iter().flat_map(|value| format!(" {value}\n").into_bytes()).collect();
        for size in 1..stream.len() {
            let mut splitter = JsonSplitter::new(100);
            let mut found = Vec::new();
            for piece in stream.chunks(size) {
                splitter.push(piece);
                while let Some(value) = splitter.next_value().unwrap() {
                    found.push(value);
                }
            }
            assert_eq!(found, values, "in pieces of {size} bytes");
        }
    }

    #[test]
    fn a_message_above_the_limit_is_an_error() {
        let text = json!({"text": "x".repeat(89)}).to_string();
        let mut exact = JsonSplitter::new(text.len());
        exact.push(text.as_bytes());
        assert!(exact.next_value().unwrap().is_some());
        let mut less = JsonSplitter::new(text.len() - 1);
        less.push(text.as_bytes());
        assert!(matches!(less.next_value(), Err(RpcError::TooBig { .. })));
    }

    #[test]
    fn bytes_that_begin_no_object_are_an_error() {
        for text in ["[]", "x", "\"{\"", "}", "1", "\u{feff}{}", "{\"a\":}", "{]", "{\"\u{1}\":1}"] {
            let mut splitter = JsonSplitter::new(100);
            splitter.push(text.as_bytes());
            let result = splitter.next_value();
            assert!(matches!(result, Err(RpcError::Malformed { .. })), "{text:?}: {result:?}");
        }
    }
}
