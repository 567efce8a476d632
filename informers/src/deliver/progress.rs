//! The progress of a handler: the number of events that it has handled.

use super::slot::HandlerControl;
use std::fmt;
use std::sync::Arc;

/// The progress of a handler, for others that wait until it has handled the events of its queue.
///
/// An event is handled when the handler takes the next delivery, or waits for it.
#[derive(Clone)]
pub struct DeliveryProgress {
    control: Arc<dyn HandlerControl>,
}

impl DeliveryProgress {
    pub(super) fn new(control: Arc<dyn HandlerControl>) -> Self {
        Self { control }
    }

    /// Returns the position after all events published so far.
    #[must_use]
    pub fn published(&self) -> u64 {
        self.control.queued_to()
    }

    /// Returns whether all events before a position are handled, or the handler is closed.
    #[must_use]
    pub fn has_handled(&self, position: u64) -> bool {
        self.control.is_handled_to(position)
    }

    /// Waits until all events published so far are handled, or the handler is closed. Cancel safe.
    pub async fn handled(&self) {
        let position = self.published();
        loop {
            let listener = self.control.changed().listen();
            if self.has_handled(position) {
                return;
            }
            listener.await;
        }
    }
}

impl fmt::Debug for DeliveryProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeliveryProgress").field("published", &self.published()).finish_non_exhaustive()
    }
}

/// Counts the handled events of a slot.
///
/// A position counts events in the order of the queue. One that is cancelled while it is queued is
/// never counted, so an idle handler has reached every position.
pub(super) struct HandledCount {
    handled: u64,
    /// An event was taken and is being handled.
    in_hand: bool,
    /// The lowest position that is waited for.
    wanted: u64,
}

impl HandledCount {
    pub(super) const fn new() -> Self {
        Self { handled: 0, in_hand: false, wanted: u64::MAX }
    }

    /// Records an event as taken.
    pub(super) const fn taken(&mut self) {
        self.in_hand = true;
    }

    /// Records the event in hand as handled. Returns whether a waiter is to be notified.
    pub(super) fn returned(&mut self) -> bool {
        self.handled += u64::from(std::mem::take(&mut self.in_hand));
        let reached = self.handled >= self.wanted;
        if reached {
            self.wanted = u64::MAX;
        }
        reached
    }

    /// Records that the handler is idle. Returns whether a waiter is to be notified.
    pub(super) const fn idle(&mut self) -> bool {
        std::mem::replace(&mut self.wanted, u64::MAX) != u64::MAX
    }

    pub(super) fn position_after(&self, queued: usize) -> u64 {
        self.handled + u64::from(self.in_hand) + queued as u64
    }

    pub(super) fn has_reached(&mut self, position: u64, queued: usize) -> bool {
        let reached = self.handled >= position || (queued == 0 && !self.in_hand);
        if !reached {
            self.wanted = self.wanted.min(position);
        }
        reached
    }
}
