//! Lingering close: a server that has closed its side reads on for a while.
//!
//! A kernel that closes a socket with unread bytes sends a reset, and the client's kernel then
//! discards the response that the client has not read yet. That happens to every early refusal of
//! a request whose body is still on its way.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::deadline::Alarm;

/// Bytes discarded at a time.
const CHUNK: usize = 8 << 10;

/// The limits of a [`LingeringStream`]. A client that exceeds one is reset, and may lose the
/// response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LingerLimits {
    /// Bytes that are read and discarded.
    pub bytes: u64,
    /// Time after the server has closed its side.
    pub time: Duration,
    /// Time until the first byte. A client without a request in flight may never close its side.
    pub start: Duration,
    /// Time between bytes.
    pub silence: Duration,
}

/// A socket that closes in order: its shutdown sends all bytes and the end of the stream, and then
/// reads and discards bytes until the client closes its side, too, within limits.
///
/// It is to be used below TLS: the bytes are not decrypted.
pub struct LingeringStream<S> {
    stream: S,
    limits: LingerLimits,
    /// Boxed, since most connections never linger.
    linger: Option<Box<Linger>>,
}

/// A server's side is closed, and the client's side is open.
struct Linger {
    left: u64,
    silence: Duration,
    until: Instant,
    silent_until: Instant,
    alarm: Alarm,
}

impl Default for LingerLimits {
    fn default() -> Self {
        Self {
            bytes: 64 << 20,
            time: Duration::from_secs(30),
            start: Duration::from_millis(500),
            silence: Duration::from_secs(5),
        }
    }
}

impl<S> LingeringStream<S> {
    /// Wraps a stream.
    pub const fn new(stream: S, limits: LingerLimits) -> Self {
        Self { stream, limits, linger: None }
    }
}

impl Linger {
    fn new(limits: &LingerLimits) -> Self {
        let now = Instant::now();
        Self {
            left: limits.bytes,
            silence: limits.silence,
            until: now + limits.time,
            silent_until: now + limits.start,
            alarm: Alarm::default(),
        }
    }

    /// Discards bytes until the end of the stream or a limit.
    fn poll<S: AsyncRead + Unpin>(&mut self, stream: &mut S, cx: &mut Context<'_>) -> Poll<()> {
        let mut discarded = [0; CHUNK];
        loop {
            let mut buffer = ReadBuf::new(&mut discarded);
            match Pin::new(&mut *stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    let now = Instant::now();
                    self.left = self.left.saturating_sub(buffer.filled().len() as u64);
                    self.silent_until = now + self.silence;
                    if self.left == 0 || now >= self.until {
                        return Poll::Ready(());
                    }
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => {
                    let due = self.until.min(self.silent_until);
                    return self.alarm.poll(|| Some((due, ())), cx);
                }
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LingeringStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for LingeringStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, limits, linger } = self.get_mut();
        if linger.is_none() {
            ready!(Pin::new(&mut *stream).poll_shutdown(cx))?;
        }
        let linger = linger.get_or_insert_with(|| Box::new(Linger::new(limits)));
        linger.poll(stream, cx).map(Ok)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::time::sleep;

    const LIMITS: LingerLimits = LingerLimits {
        bytes: 10_000,
        time: Duration::from_secs(30),
        start: Duration::from_secs(1),
        silence: Duration::from_secs(5),
    };

    /// Returns the time until a server that responds and closes is done.
    async fn closed(client: impl Future<Output = ()>, server: DuplexStream) -> Duration {
        let mut server = LingeringStream::new(server, LIMITS);
        let began = Instant::now();
        let close = async {
            server.write_all(b"refused").await.expect("sent");
            server.shutdown().await.expect("closed");
            began.elapsed()
        };
        tokio::join!(close, client).0
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_still_sends_reads_the_response() {
        let (mut client, server) = duplex(64);
        let sends = async {
            client.write_all(&[1; 5_000]).await.expect("the server reads on");
            let mut response = Vec::new();
            client.read_to_end(&mut response).await.expect("the server has closed its side");
            assert_eq!(response, b"refused");
            client.shutdown().await.expect("closed");
        };
        assert_eq!(closed(sends, server).await, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn lingering_ends_after_a_silence() {
        let (_client, server) = duplex(64);
        assert_eq!(closed(async {}, server).await, LIMITS.start);
        let (mut client, server) = duplex(64);
        let sends = async { client.write_all(b"x").await.expect("the server reads on") };
        assert_eq!(closed(sends, server).await, LIMITS.silence);
    }

    #[tokio::test(start_paused = true)]
    async fn lingering_has_a_time_limit() {
        let (mut client, server) = duplex(64);
        let sends = async {
            for _ in 0..80 {
                let _ = client.write_all(b"x").await;
                sleep(Duration::from_millis(500)).await;
            }
        };
        let took = closed(sends, server).await;
        assert!(took >= LIMITS.time && took <= LIMITS.time + Duration::from_secs(1), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn lingering_has_a_byte_limit() {
        let (mut client, server) = duplex(64);
        let mut server = LingeringStream::new(server, LIMITS);
        let both = async { tokio::join!(client.write_all(&[1; 20_000]), server.shutdown()) };
        let close = async {
            let mut sent = Box::pin(both);
            tokio::select! {
                biased;
                (sent, _) = &mut sent => sent.is_ok(),
                () = sleep(Duration::from_secs(1)) => false,
            }
        };
        assert!(!close.await, "the rest is not read");
    }
}
