//! A client of HTTP/1.1 over TLS, one request at a time, with a timeout.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use serde_json::Value;

use super::site::SiegeSite;

const CONNECT: Duration = Duration::from_secs(10);
/// Limit of the bytes of a response.
const LONGEST: usize = 256 << 20;

pub(super) type Tls = StreamOwned<ClientConnection, TcpStream>;

/// A connection of one user.
pub(super) struct Connection {
    stream: Tls,
    token: Option<String>,
    /// Received and not yet consumed.
    buffer: Vec<u8>,
}

/// A response with its whole body.
pub(super) struct Response {
    pub(super) code: u16,
    pub(super) body: Vec<u8>,
}

/// The size of the rest of a body.
enum Length {
    Bytes(usize),
    Chunked,
}

impl Connection {
    /// Connects. Reads fail after `timeout` without a byte.
    pub(super) fn open(site: &SiegeSite, token: Option<&str>, timeout: Duration) -> anyhow::Result<Self> {
        let stream = handshake(site, &site.tls, timeout)?;
        Ok(Self { stream, token: token.map(str::to_owned), buffer: Vec::new() })
    }

    /// Sets the timeout of a read.
    pub(super) fn set_timeout(&self, timeout: Duration) -> anyhow::Result<()> {
        Ok(self.stream.sock.set_read_timeout(Some(timeout))?)
    }

    /// Sends a request and reads its response. JSON is the type of a body without another one.
    pub(super) fn send(
        &mut self,
        method: &str,
        path: &str,
        content_type: Option<&str>,
        body: &[u8],
    ) -> anyhow::Result<Response> {
        self.begin(method, path, content_type, body)?;
        let (code, length) = self.head()?;
        let mut whole = Vec::new();
        match length {
            Length::Bytes(length) => {
                ensure!(length <= LONGEST, "a response of {length} bytes");
                self.fill(length)?;
                whole.extend(self.buffer.drain(..length));
            }
            Length::Chunked => {
                while let Some(chunk) = self.chunk()? {
                    whole.extend(chunk);
                    ensure!(whole.len() <= LONGEST, "a response of more than {LONGEST} bytes");
                }
            }
        }
        Ok(Response { code, body: whole })
    }

    pub(super) fn get(&mut self, path: &str) -> anyhow::Result<Response> {
        self.send("GET", path, None, b"")
    }

    /// Creates an object that may exist.
    pub(super) fn create(&mut self, path: &str, object: &Value) -> anyhow::Result<()> {
        let answer = self.send("POST", path, None, &serde_json::to_vec(object)?)?;
        let said = String::from_utf8_lossy(&answer.body[..answer.body.len().min(500)]);
        ensure!(matches!(answer.code, 201 | 409), "{path} was answered {}: {said}", answer.code);
        Ok(())
    }

    /// Begins a response that is read in chunks: a watch. Returns its status.
    pub(super) fn stream(&mut self, path: &str) -> anyhow::Result<u16> {
        self.begin("GET", path, None, b"")?;
        Ok(self.head()?.0)
    }

    /// Returns the next chunk; none at the end. After a timeout it can be called again.
    pub(super) fn chunk(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        loop {
            // Nothing is consumed before the chunk is whole.
            if let Some(end) = self.buffer.windows(2).position(|two| two == b"\r\n") {
                let line = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
                let length = usize::from_str_radix(line.trim(), 16);
                let length = length.with_context(|| format!("no chunk: {line:?}"))?;
                ensure!(length <= LONGEST, "a chunk of {length} bytes");
                let (begin, after) = (end + 2, end + 2 + length + 2);
                if self.buffer.len() >= after {
                    let chunk = self.buffer[begin..begin + length].to_vec();
                    self.buffer.drain(..after);
                    return Ok((length > 0).then_some(chunk));
                }
            }
            self.more()?;
        }
    }

    fn begin(
        &mut self,
        method: &str,
        path: &str,
        content_type: Option<&str>,
        body: &[u8],
    ) -> anyhow::Result<()> {
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nhost: siege\r\ncontent-length: {}\r\n", body.len());
        head.push_str(&format!("content-type: {}\r\n", content_type.unwrap_or("application/json")));
        if let Some(token) = &self.token {
            head.push_str(&format!("authorization: Bearer {token}\r\n"));
        }
        head.push_str("\r\n");
        self.stream.write_all(head.as_bytes())?;
        self.stream.write_all(body)?;
        self.stream.flush()?;
        Ok(())
    }

    fn head(&mut self) -> anyhow::Result<(u16, Length)> {
        let first = self.line()?;
        let code = first.split(' ').nth(1).and_then(|code| code.parse().ok());
        let code: u16 = code.with_context(|| format!("no status: {first:?}"))?;
        let mut length = Length::Bytes(0);
        loop {
            let line = self.line()?.to_ascii_lowercase();
            match line.trim_end().split_once(": ") {
                Some(("content-length", bytes)) => length = Length::Bytes(bytes.parse()?),
                Some(("transfer-encoding", "chunked")) => length = Length::Chunked,
                _ if line.trim().is_empty() => return Ok((code, length)),
                _ => {}
            }
        }
    }

    fn line(&mut self) -> anyhow::Result<String> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|two| two == b"\r\n") {
                let line: Vec<u8> = self.buffer.drain(..end + 2).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            ensure!(self.buffer.len() < LONGEST, "a line without an end");
            self.more()?;
        }
    }

    fn fill(&mut self, length: usize) -> anyhow::Result<()> {
        while self.buffer.len() < length {
            self.more()?;
        }
        Ok(())
    }

    fn more(&mut self) -> anyhow::Result<()> {
        let mut part = [0; 16 << 10];
        match self.stream.read(&mut part) {
            Ok(0) => bail!("the connection was closed"),
            Ok(length) => {
                self.buffer.extend(&part[..length]);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns whether an error is the timeout of a read, after which the connection is still usable.
pub(super) fn is_timeout(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    matches!(kind, Some(ErrorKind::WouldBlock | ErrorKind::TimedOut))
}

/// Opens a connection and completes its handshake.
pub(super) fn handshake(site: &SiegeSite, tls: &Arc<ClientConfig>, timeout: Duration) -> anyhow::Result<Tls> {
    let mut stream = TcpStream::connect_timeout(&site.address, CONNECT)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(CONNECT))?;
    stream.set_write_timeout(Some(CONNECT))?;
    let mut connection = ClientConnection::new(tls.clone(), site.name.clone())?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream)?;
    }
    stream.set_read_timeout(Some(timeout))?;
    Ok(StreamOwned::new(connection, stream))
}
