//! A connection to a server.

use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use machinery::tokio::io::Interest;
use machinery::tokio::net::UnixStream;
use machinery::tokio::time::Instant;

use super::error::RpcError;
use super::message::RpcMessage;
use super::splitter::JsonSplitter;

/// Length limit of the path of a unix socket, in bytes: `sun_path` of Linux without its final NUL.
pub const SOCKET_PATH_LIMIT: usize = 107;

/// Size of a read.
const READ_BYTES: usize = 1 << 16;

/// A connection that sends and receives messages.
#[derive(Debug)]
pub struct RpcConnection {
    stream: UnixStream,
    splitter: JsonSplitter,
    scratch: Vec<u8>,
    outgoing: Vec<u8>,
    written: usize,
    last_read: Instant,
}

impl RpcConnection {
    /// Connects to a socket. Received messages have at most `limit` bytes.
    ///
    /// # Errors
    /// The path is too long, or no server listens.
    pub async fn connect(path: &Path, limit: usize) -> Result<Self, RpcError> {
        let length = path.as_os_str().as_bytes().len();
        if length > SOCKET_PATH_LIMIT {
            return Err(RpcError::PathTooLong { path: path.to_owned(), length, limit: SOCKET_PATH_LIMIT });
        }
        let stream = UnixStream::connect(path).await;
        let stream = stream.map_err(|source| RpcError::Connect { path: path.to_owned(), source })?;
        Ok(Self::new(stream, limit))
    }

    /// Makes a connection of a stream.
    #[must_use]
    pub fn new(stream: UnixStream, limit: usize) -> Self {
        Self {
            stream,
            splitter: JsonSplitter::new(limit),
            scratch: vec![0; READ_BYTES],
            outgoing: Vec::new(),
            written: 0,
            last_read: Instant::now(),
        }
    }

    /// Queues a message; [`receive`](Self::receive) sends it. Callers limit the number and size.
    pub fn send(&mut self, message: &RpcMessage) {
        self.send_text(&message.to_json().to_string());
    }

    /// Queues the text of a message.
    pub fn send_text(&mut self, message: &str) {
        self.outgoing.extend_from_slice(message.as_bytes());
    }

    /// Returns the time of the latest received byte, or of the connection.
    #[must_use]
    pub const fn last_read(&self) -> Instant {
        self.last_read
    }

    /// Receives the next message, while queued ones are sent. Dropping the future loses nothing.
    ///
    /// # Errors
    /// The connection ended; it is then of no further use.
    pub async fn receive(&mut self) -> Result<RpcMessage, RpcError> {
        loop {
            if let Some(value) = self.splitter.next_value()? {
                return RpcMessage::from_json(value);
            }
            let sending = self.written < self.outgoing.len();
            let interest = if sending { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
            let ready = self.stream.ready(interest).await.map_err(RpcError::Io)?;
            if sending && ready.is_writable() {
                self.write()?;
            }
            if ready.is_readable() {
                self.read()?;
            }
        }
    }

    fn write(&mut self) -> Result<(), RpcError> {
        match self.stream.try_write(self.outgoing.get(self.written..).unwrap_or_default()) {
            Ok(length) => self.written += length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // The server closed its end; messages from before may still be readable.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.written = self.outgoing.len(),
            Err(error) => return Err(RpcError::Io(error)),
        }
        if self.written == self.outgoing.len() {
            self.outgoing = Vec::new();
            self.written = 0;
        }
        Ok(())
    }

    fn read(&mut self) -> Result<(), RpcError> {
        match self.stream.try_read(&mut self.scratch) {
            Ok(0) => Err(RpcError::Closed),
            Ok(length) => {
                self.last_read = Instant::now();
                self.splitter.push(self.scratch.get(..length).unwrap_or_default());
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Err(RpcError::Closed),
            Err(error) => Err(RpcError::Io(error)),
        }
    }
}
