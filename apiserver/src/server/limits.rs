//! Limits on requests, connections and memory.

use std::time::Duration;

#[cfg(feature = "server")]
use crate::metrics::Event;

/// Limits on requests, connections and memory. Every resource that a client can use has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request body. A longer body is refused with 413.
    pub body_bytes: usize,
    /// Bytes of all buffered bodies, at most 4 GiB. Beyond it requests are refused with 429. A user
    /// may take as many as are free; the same holds for long lists and watches.
    pub bodies_bytes: u32,
    /// Requests that are executed at the same time, without watches: the seats of flow control. A
    /// request that waits for a webhook, a future revision, a guard or a quota has none. Beyond it
    /// requests are queued: see `docs/designs/027-fair-shares.md`.
    pub in_flight: usize,
    /// Requests that are queued, executed or waiting. A user may have as many as are free, so half
    /// of them if it is the only one; beyond it requests of that user are refused with 429.
    pub admitted: usize,
    /// Timeout of a request in a queue. It is refused with 429.
    pub queue_time: Duration,
    /// Lists longer than 64 KiB that are being sent. Beyond it lists are refused with 429.
    pub long_lists: usize,
    /// Open watches. Beyond it watches are refused with 429.
    pub watches: usize,
    /// Revisions of each kind in the watch cache. A watcher that is further behind reads the store.
    pub ring_revisions: usize,
    /// Bytes of the objects in these revisions, per kind.
    pub ring_bytes: usize,
    /// Bytes of the objects in these revisions, of all kinds together. Beyond it a kind with new
    /// changes keeps only its newest revision.
    pub rings_bytes: usize,
    /// Interests, with or without their stream. Beyond it they are refused with 429.
    pub interests: usize,
    /// Keys of an interest. An edit beyond it is refused with 422.
    pub interest_keys: usize,
    /// Bytes of a key. A longer key is refused with 422.
    pub interest_key_bytes: usize,
    /// Bytes of memory for the keys of all interests. Beyond it edits are refused with 429.
    pub interests_bytes: u32,
    /// Timeout of an interest until its stream is opened.
    pub interest_wait: Duration,
    /// Timeout of a request, without watches and without the sending of the response. It is
    /// answered with 504, and its write may still be committed. A client may set a shorter one by
    /// the parameter `timeout`.
    pub work: Duration,
    /// Guard keys of an object. A write beyond it is refused with 422; an object beyond it can
    /// still be deleted. Each key adds up to five conditions and operations to the transaction, and
    /// the store limits their number.
    pub guard_keys: usize,
    /// Other objects that a guard compares with one object. A write beyond it is refused with 422.
    pub guarded_objects: usize,
    /// Concurrent guard calls of one kind. Others wait up to `guard_time` and are refused with 429.
    pub guards_at_once: usize,
    /// Timeout of a guard. The write is refused with 503 and not committed.
    pub guard_time: Duration,
    /// Other objects that one read of an in-process admission plugin returns. With more the read
    /// fails.
    pub admission_objects: usize,
    /// Quotas of a namespace. One more is refused with 403. Each quota that counts a created object
    /// adds a condition and an operation to the transaction, and the store limits their number.
    pub quotas: usize,
    /// Timeout for receiving a body. A late body is refused with 408.
    pub body: Duration,
    /// Open connections; fewer if the process has few file descriptors. Others wait in the kernel's
    /// queue.
    pub connections: usize,
    /// Open connections whose client has not authenticated; at most a quarter of all. The oldest is
    /// closed in favour of a new one, and each after a response with 401.
    pub unauthenticated: usize,
    /// Concurrent HTTP/2 streams of a connection. A client that knows it opens another connection.
    pub streams: u32,
    /// Bytes of a request's head: path and headers. A longer one is refused with 431.
    pub head_bytes: u32,
    /// Headers of an HTTP/1.1 request. More are refused with 431.
    pub headers: usize,
    /// Timeout of a connection until its client has authenticated, and of a request's head from its
    /// first byte. The connection is closed.
    pub head: Duration,
    /// Timeout of an idle connection. It is closed.
    pub idle: Duration,
    /// Write-stall timeout: a connection or stream is reset if the client reads nothing.
    pub stall: Duration,
    /// Write-stall timeout of a watch with pending events. Over HTTP/2 only its stream is reset if
    /// only the stream is blocked; otherwise the connection is closed. A watch without events is
    /// not affected.
    pub watch_stall: Duration,
}

impl Limits {
    /// Returns the write-stall timeout and the metric that counts its expiry.
    #[cfg(feature = "server")]
    pub(crate) const fn stall(&self, is_watch: bool) -> (Duration, Event) {
        if is_watch { (self.watch_stall, Event::SlowWatch) } else { (self.stall, Event::SlowReader) }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 3 << 20,
            bodies_bytes: 512 << 20,
            in_flight: 400,
            admitted: 4096,
            queue_time: Duration::from_secs(15),
            long_lists: 400,
            watches: 100_000,
            ring_revisions: 4096,
            ring_bytes: 16 << 20,
            rings_bytes: 256 << 20,
            interests: 10_000,
            interest_keys: 100_000,
            interest_key_bytes: 512,
            interests_bytes: 256 << 20,
            interest_wait: Duration::from_secs(30),
            work: Duration::from_secs(60),
            guard_keys: 16,
            guarded_objects: 10_000,
            guards_at_once: 16,
            guard_time: Duration::from_secs(2),
            admission_objects: 10_000,
            quotas: 16,
            body: Duration::from_secs(30),
            connections: 20_000,
            unauthenticated: 1000,
            streams: 100,
            head_bytes: 64 << 10,
            headers: 100,
            head: Duration::from_secs(10),
            idle: Duration::from_secs(90),
            stall: Duration::from_secs(30),
            watch_stall: Duration::from_secs(5),
        }
    }
}
