//! Where events go.

use std::io;

/// Where the events of an audit log go. It is one's own: nobody else writes there, and nothing is written by two at a time.
pub trait AuditSink: Send + 'static {
    /// Writes events: each is a line of JSON, with its end. It may block; it is called on a thread for that.
    ///
    /// # Errors
    /// They could not be written, or not all of them. All count as lost; what is written next must begin a line of its own.
    fn write(&mut self, lines: &[u8]) -> io::Result<()>;
}

/// A stream, as the standard output.
impl<W: io::Write + Send + 'static> AuditSink for W {
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        self.write_all(lines)?;
        self.flush()
    }
}
