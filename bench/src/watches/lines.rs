//! Splits bytes into lines, one per event.

/// The start of an incomplete line.
#[derive(Default)]
pub(super) struct LineBuffer(Vec<u8>);

impl LineBuffer {
    /// Passes on each complete line.
    pub(super) fn take(
        &mut self,
        mut bytes: &[u8],
        mut line: impl FnMut(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            if self.0.is_empty() {
                line(std::str::from_utf8(&bytes[..end])?)?;
            } else {
                self.0.extend_from_slice(&bytes[..end]);
                line(std::str::from_utf8(&self.0)?)?;
                self.0.clear();
            }
            bytes = &bytes[end + 1..];
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_across_chunks() {
        #[track_caller]
        fn check(pieces: &[&str], expected: &[&str]) {
            let (mut lines, mut got) = (LineBuffer::default(), Vec::new());
            for piece in pieces {
                let each = |line: &str| {
                    got.push(line.to_owned());
                    Ok(())
                };
                lines.take(piece.as_bytes(), each).expect("text");
            }
            assert_eq!(got, expected);
        }
        check(&["a\nbc\n"], &["a", "bc"]);
        check(&["a", "b", "c\nd", "\n"], &["abc", "d"]);
        check(&["a\nb"], &["a"]);
    }
}
