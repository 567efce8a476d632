//! Back-off after failures of the switch.

use std::time::Duration;

use machinery::tokio::time::Instant;

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
