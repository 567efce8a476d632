//! The output of the audit log.

use std::io;

/// The output of an audit log. It has a single writer, and calls never overlap.
pub trait AuditSink: Send + 'static {
    /// Writes events, each one line of JSON with its newline. It may block: it is called on a
    /// blocking thread.
    ///
    /// # Errors
    /// The lines were not written, or only in part. All of them count as lost; the next write must
    /// begin a new line.
    fn write(&mut self, lines: &[u8]) -> io::Result<()>;
}

/// A stream, such as standard output.
impl<W: io::Write + Send + 'static> AuditSink for W {
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        self.write_all(lines)?;
        self.flush()
    }
}
