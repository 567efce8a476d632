//! Back-off after failures of the switch.

use std::time::Duration;

use machinery::tokio::time::{Instant, sleep_until};

use crate::drive::FabricError;

/// The back-off after failures that repeat: requests fail at once until the next attempt.
#[derive(Debug)]
pub(super) struct FailureBackoff {
    limits: (Duration, Duration),
    delay: Duration,
    state: Option<(Instant, String)>,
}

impl FailureBackoff {
    pub(super) const fn new(limits: (Duration, Duration)) -> Self {
        Self { limits, delay: limits.0, state: None }
    }

    /// Returns the error of requests before the next attempt.
    pub(super) fn check(&self) -> Result<(), FabricError> {
        match &self.state {
            Some((until, reason)) if Instant::now() < *until => {
                Err(FabricError::Degraded { reason: reason.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Records the result of an attempt. An unreachable switch and a lost lock cost nothing to try.
    pub(super) fn record(&mut self, result: Result<(), &FabricError>) {
        match result {
            Ok(()) => (self.delay, self.state) = (self.limits.0, None),
            Err(
                FabricError::Unavailable { .. } | FabricError::LockLost { .. } | FabricError::Degraded { .. },
            ) => {}
            Err(error) => {
                self.state = Some((Instant::now() + self.delay, error.to_string()));
                self.delay = (self.delay * 2).min(self.limits.1);
            }
        }
    }
}

/// The time of the next repair after one that left broken interfaces.
#[derive(Debug)]
pub(super) struct RetryTimer {
    limits: (Duration, Duration),
    delay: Duration,
    at: Option<Instant>,
}

impl RetryTimer {
    pub(super) const fn new(limits: (Duration, Duration)) -> Self {
        Self { limits, delay: limits.0, at: None }
    }

    /// Records whether a repair left broken interfaces.
    pub(super) fn record(&mut self, are_broken: bool) {
        if are_broken {
            self.at = Some(Instant::now() + self.delay);
            self.delay = (self.delay * 2).min(self.limits.1);
        } else {
            (self.delay, self.at) = (self.limits.0, None);
        }
    }

    /// Waits for the time of the next repair, which is due once.
    pub(super) async fn due(&mut self) {
        match self.at {
            Some(at) => sleep_until(at).await,
            None => std::future::pending().await,
        }
        self.at = None;
    }
}
