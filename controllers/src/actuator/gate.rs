//! The back-off of a degraded port.

use std::time::Duration;

use tokio::time::Instant;

use super::PortFailure;

/// Closed after a failure of the port, until the next attempt. Pure: the time is an argument.
#[derive(Clone, Debug)]
pub(super) struct PortGate<E> {
    limits: (Duration, Duration),
    delay: Duration,
    closed: Option<(Instant, PortFailure<E>)>,
}

impl<E: Clone + PartialEq> PortGate<E> {
    pub(super) fn new((first, longest): (Duration, Duration)) -> Self {
        let first = first.max(Duration::from_millis(1));
        Self { limits: (first, longest.max(first)), delay: first, closed: None }
    }

    /// Closes after a failure. Returns whether the failure is another one than before.
    pub(super) fn close(&mut self, now: Instant, failure: PortFailure<E>) -> bool {
        let is_news = self.failure() != Some(&failure);
        self.closed = Some((now + self.delay, failure));
        self.delay = (self.delay * 2).min(self.limits.1);
        is_news
    }

    /// Opens after a success. Returns whether it was closed.
    pub(super) fn open(&mut self) -> bool {
        self.delay = self.limits.0;
        self.closed.take().is_some()
    }

    /// Shortens the wait to the first back-off, because the system has changed.
    pub(super) fn shorten(&mut self, now: Instant) {
        if let Some((until, _)) = &mut self.closed {
            *until = (*until).min(now + self.limits.0);
        }
    }

    /// Returns the failure while it is closed, before the next attempt.
    pub(super) fn check(&self, now: Instant) -> Result<(), PortFailure<E>> {
        match &self.closed {
            Some((until, failure)) if *until > now => Err(failure.clone()),
            _ => Ok(()),
        }
    }

    /// Returns the failure of the last attempt.
    pub(super) fn failure(&self) -> Option<&PortFailure<E>> {
        self.closed.as_ref().map(|(_, failure)| failure)
    }

    /// Returns the time of the next attempt, if it has not come.
    pub(super) fn until(&self, now: Instant) -> Option<Instant> {
        self.closed.as_ref().map(|(until, _)| *until).filter(|until| *until > now)
    }
}
