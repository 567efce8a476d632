//! Limits of a CNF.

use std::time::Duration;

/// The limits of a CNF's server. A request beyond one is refused with the limit in its message.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CnfLimits {
    /// Concurrent connections; more wait in the kernel.
    pub connections: usize,
    /// Time for a TLS handshake, for the head of a request, and for its body.
    pub receive: Duration,
    /// Size of the head of a request.
    pub head_bytes: usize,
    /// Size of a body.
    pub body_bytes: usize,
    /// Objects in the configuration.
    pub objects: usize,
    /// Sessions; the one that was used least recently makes room for a new one.
    pub sessions: usize,
    /// Time after which an unused session expires, as LuCI's `sessiontime`.
    pub session_idle: Duration,
    /// Time for the lookup of the DNS name of a legacy service.
    pub lookup: Duration,
    /// Time for requests in flight at the stop of the server.
    pub drain: Duration,
}

impl Default for CnfLimits {
    fn default() -> Self {
        Self {
            connections: 64,
            receive: Duration::from_secs(10),
            head_bytes: 16 << 10,
            body_bytes: 16 << 20,
            objects: 20_000,
            sessions: 64,
            session_idle: Duration::from_secs(3600),
            lookup: Duration::from_secs(30),
            drain: Duration::from_secs(5),
        }
    }
}
