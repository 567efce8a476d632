//! Expiry of client certificates on open connections.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use tokio::time::Instant;

use crate::server::Shared;
use crate::tls::peer;

/// Interval at which the wall clock is compared: it may be set, and the machine may sleep.
const CHECK: Duration = Duration::from_secs(30);

/// The expiry of a client's certificates, by the wall clock.
pub(super) struct Expiry {
    shared: Arc<Shared>,
    at: Timestamp,
    /// The next comparison with the wall clock, or the expiry.
    due: Instant,
}

impl Expiry {
    /// The first expiry among the certificates of a verified chain.
    pub(super) fn of(shared: Arc<Shared>, chain: &[CertificateDer<'static>]) -> Option<Self> {
        let at = chain.iter().filter_map(peer::expiry).min()?;
        let mut expiry = Self { shared, at, due: Instant::now() };
        expiry.due();
        Some(expiry)
    }

    /// Returns the time to check the certificates again: now, once they have expired.
    pub(super) fn due(&mut self) -> Instant {
        let now = Instant::now();
        if self.due <= now && !self.is_over() {
            self.due = now + left(self.at, self.shared.environment.now()).min(CHECK);
        }
        self.due
    }

    /// Returns whether a certificate has expired.
    pub(super) fn is_over(&self) -> bool {
        left(self.at, self.shared.environment.now()).is_zero()
    }
}

fn left(at: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or_default()
}
