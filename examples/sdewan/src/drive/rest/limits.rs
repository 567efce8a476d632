//! Limits of a client of CNFs.

use std::time::Duration;

/// The limits of calls to one CNF.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RestLimits {
    /// Time for a connection with its TLS handshake.
    pub connect: Duration,
    /// Time for a call, from the request to the end of the answer.
    pub call: Duration,
    /// Size of an answer.
    pub answer_bytes: usize,
    /// Concurrent connections to a pod.
    pub connections: usize,
    /// Time after which an idle connection is not used again.
    pub idle: Duration,
}

impl Default for RestLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            call: Duration::from_secs(20),
            answer_bytes: 32 << 20,
            connections: 2,
            idle: Duration::from_secs(30),
        }
    }
}
