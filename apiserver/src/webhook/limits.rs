//! Limits of a webhook server.

use std::time::Duration;

/// Limits of a [`WebhookServer`](super::WebhookServer).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookLimits {
    /// Bytes of a review. A longer one is refused with 413.
    pub body_bytes: usize,
    /// JSON values of a review. With more it is refused with 400.
    pub values: usize,
    /// Reviews at the same time, with the receipt of their bodies. Others wait up to `review`, and
    /// are refused with 503.
    pub reviews: usize,
    /// Open connections. Others wait in the kernel's queue.
    pub connections: usize,
    /// Concurrent HTTP/2 streams of a connection.
    pub streams: u32,
    /// Bytes of the head of a request.
    pub head_bytes: u32,
    /// Timeout of a TLS handshake, of a head, and of a body, which is refused with 408.
    pub receive: Duration,
    /// Timeout of the hooks of one review, which is answered with 504. An API server gives up after
    /// the `timeoutSeconds` of the configuration, 10 by default.
    pub review: Duration,
    /// Grace period of requests in flight when the server stops.
    pub drain: Duration,
    /// Interval of the checks for changed certificate files.
    pub reload: Duration,
}

impl Default for WebhookLimits {
    fn default() -> Self {
        Self {
            // Two objects of 3 MiB, in JSON, and the rest of the request.
            body_bytes: 8 << 20,
            values: 400_000,
            reviews: 64,
            connections: 256,
            streams: 100,
            head_bytes: 64 << 10,
            receive: Duration::from_secs(10),
            review: Duration::from_secs(10),
            drain: Duration::from_secs(5),
            reload: Duration::from_secs(1),
        }
    }
}
