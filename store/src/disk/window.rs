//! Sequential reading of a file in chunks.

use std::io;
use std::ops::Range;

use crate::files::File;

/// Bytes read at once.
const CHUNK: usize = 1 << 20;

/// A buffered part of a file, which moves forward with the reads.
pub(crate) struct FileWindow<'a> {
    file: &'a dyn File,
    size: u64,
    bytes: Vec<u8>,
    /// Offset of `bytes` in the file.
    start: u64,
}

impl<'a> FileWindow<'a> {
    pub(crate) fn new(file: &'a dyn File) -> io::Result<Self> {
        Ok(Self { file, size: file.size()?, bytes: Vec::new(), start: 0 })
    }

    /// Returns the size of the file.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Returns the bytes of `range` that exist. Going back rereads the file.
    pub(crate) fn get(&mut self, range: Range<u64>) -> io::Result<&[u8]> {
        let range = range.start.min(self.size)..range.end.min(self.size);
        let end = self.start + self.bytes.len() as u64;
        if range.start < self.start || range.end > end {
            self.move_to(&range)?;
        }
        let place = (range.start - self.start) as usize;
        Ok(&self.bytes[place..place + (range.end - range.start) as usize])
    }

    fn move_to(&mut self, range: &Range<u64>) -> io::Result<()> {
        let end = self.start + self.bytes.len() as u64;
        let kept = if (self.start..end).contains(&range.start) {
            let place = (range.start - self.start) as usize;
            self.bytes.drain(..place);
            self.bytes.len()
        } else {
            0
        };
        let size = (range.end - range.start).max(CHUNK as u64).min(self.size - range.start);
        self.start = range.start;
        self.bytes.resize(size as usize, 0);
        let read = self.file.read_at(&mut self.bytes[kept..], range.start + kept as u64);
        if read.is_err() {
            self.bytes.clear();
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Directory, Files};

    #[test]
    fn all_bytes_can_be_read_through_the_window() -> io::Result<()> {
        let directory = tempfile::tempdir()?;
        let file = Directory::existing(directory.path()).create("file")?;
        let bytes: Vec<u8> = (0..3 * CHUNK + 12_345).map(|i| (i / 7) as u8).collect();
        file.write_at(&bytes, 0)?;
        let mut window = FileWindow::new(&*file)?;
        let (mut at, mut step) = (0, 1);
        while at < bytes.len() {
            let end = (at + step).min(bytes.len());
            assert_eq!(window.get(at as u64..(at + step) as u64)?, &bytes[at..end], "{at} and {step} more");
            (at, step) = (at + step / 2 + 1, step * 5 % 2_000_003);
        }
        assert_eq!(window.get(10..20)?, &bytes[10..20], "and back again");
        let size = bytes.len() as u64;
        assert!(window.get(size..size + 9)?.is_empty() && window.get(size + 5..size + 9)?.is_empty());
        Ok(())
    }
}
