//! How much is too much.

use std::time::Duration;

#[cfg(feature = "server")]
use crate::metrics::Event;

/// How much is too much. Nothing that a client does is without a limit; each says what happens to who goes past it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request's body. A longer one is refused with 413.
    pub body_bytes: usize,
    /// Bytes of all bodies that are there at the same time, at most 4 GiB. What is over it is refused with 429.
    pub bodies_bytes: u32,
    /// Requests that are worked on at the same time, watches not counted. Others are refused with 429.
    pub in_flight: usize,
    /// Lists that are sent at the same time and are longer than 64 KiB. Others are refused with 429.
    pub long_lists: usize,
    /// Watches at the same time. Others are refused with 429.
    pub watches: usize,
    /// Revisions of each kind that are kept for its watches. Who is farther behind reads them from the store.
    pub ring_revisions: usize,
    /// Bytes of objects in these revisions, of each kind.
    pub ring_bytes: usize,
    /// Interests at the same time, with their stream or before it. Others are refused with 429.
    pub interests: usize,
    /// Keys of an interest. An edit that makes more is refused with 422.
    pub interest_keys: usize,
    /// Bytes of a key. A longer one is refused with 422.
    pub interest_key_bytes: usize,
    /// Bytes of memory for the keys of all interests together. What is over it is refused with 429.
    pub interests_bytes: u32,
    /// How long an interest waits for its stream. Then it is over.
    pub interest_wait: Duration,
    /// How long a request may be worked on, watches and the sending of its answer not counted. What takes longer is
    /// answered with 504; what was begun may still happen. A client may ask for less, by the parameter `timeout`.
    pub work: Duration,
    /// Under how many keys of guards an object may be. One that would be under more is refused with 422; one that is under more
    /// can go. A transaction has up to five conditions and changes for each, and the store has a limit on these.
    pub guard_keys: usize,
    /// Against how many others a guard holds an object. What would be held against more is refused with 422.
    pub guarded_objects: usize,
    /// Guards of one kind that are asked at the same time. Others wait for as long as one may take, and are refused with 429.
    pub guards_at_once: usize,
    /// How long a guard may take. After that the write is refused with 503; nothing was written.
    pub guard_time: Duration,
    /// Quotas of a namespace. Another is refused with 403. A transaction has a condition and a change for each that counts what is
    /// created, and the store has a limit on these.
    pub quotas: usize,
    /// How long a body may take to come. A later one is refused with 408.
    pub body: Duration,
    /// Connections at the same time. Others wait in the kernel's queue.
    pub connections: usize,
    /// Requests at the same time on one connection of HTTP/2. A client is told, and opens another connection.
    pub streams: u32,
    /// Bytes of a request's head: its path, and all headers. A longer one is refused with 431.
    pub head_bytes: u32,
    /// Headers of a request, over HTTP/1.1. More are refused with 431.
    pub headers: usize,
    /// How long a handshake may take, or the head of a request from its first byte on. The connection is closed.
    pub head: Duration,
    /// How long a connection may be there with no request on it. It is closed.
    pub idle: Duration,
    /// How long a client may take nothing of what it is sent. The connection, or its stream, is cut off.
    pub stall: Duration,
    /// How long who watches may take nothing of what there is to tell. The watch is ended: over HTTP/2 alone, if only its
    /// stream is blocked; else with its connection. One that there is nothing to tell goes on.
    pub watch_stall: Duration,
}

impl Limits {
    /// How long a client may take nothing, and what it is if it does.
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
            long_lists: 400,
            watches: 100_000,
            ring_revisions: 4096,
            ring_bytes: 16 << 20,
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
            quotas: 16,
            body: Duration::from_secs(30),
            connections: 20_000,
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
