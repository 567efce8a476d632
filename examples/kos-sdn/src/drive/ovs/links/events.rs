//! Changes of links as events, in a bounded set.

use std::collections::BTreeSet;
use std::sync::Arc;

use machinery::sync::{Mutex, Notify};
use machinery::tokio_util::sync::{CancellationToken, DropGuard};

use super::NamespaceName;

/// A change that may need a repair.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkEvent {
    /// Events were lost, or the watch has ended: list everything.
    Lost,
    /// A link with this name changed, appeared or disappeared, in any namespace.
    Link {
        /// Interface name.
        name: String,
    },
    /// The name below `/run/netns` appeared or disappeared.
    Namespace {
        /// The name.
        name: NamespaceName,
    },
}

/// Maximum number of different pending events; beyond it they become one [`LinkEvent::Lost`].
const PENDING_LIMIT: usize = 4096;

/// The events of a watch. Equal pending events are one. Dropping it ends the watch.
#[derive(Debug)]
pub struct LinkEvents {
    queue: EventQueue,
    _ends_watch: DropGuard,
}

/// The sending end.
#[derive(Clone, Debug, Default)]
pub(super) struct EventQueue(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    pending: Mutex<Pending>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Pending {
    events: BTreeSet<LinkEvent>,
    is_closed: bool,
}

impl LinkEvents {
    /// Returns events of a queue. The token is cancelled when the events are dropped.
    pub(super) fn new(queue: EventQueue, ends_watch: CancellationToken) -> Self {
        Self { queue, _ends_watch: ends_watch.drop_guard() }
    }

    /// Waits for the next event. Returns `None` after the watch has ended: watch again.
    ///
    /// Dropping the future loses no event.
    pub async fn next(&mut self) -> Option<LinkEvent> {
        loop {
            let listener = self.queue.0.changed.listen();
            {
                let mut pending = self.queue.0.pending.lock();
                if let Some(event) = pending.events.pop_first() {
                    return Some(event);
                }
                if pending.is_closed {
                    return None;
                }
            }
            listener.await;
        }
    }
}

impl EventQueue {
    /// Adds an event.
    pub(super) fn push(&self, event: LinkEvent) {
        {
            let mut pending = self.0.pending.lock();
            if pending.events.contains(&LinkEvent::Lost) {
                return;
            }
            if event == LinkEvent::Lost || pending.events.len() >= PENDING_LIMIT {
                pending.events.clear();
                pending.events.insert(LinkEvent::Lost);
            } else {
                pending.events.insert(event);
            }
        }
        self.0.changed.notify_all();
    }

    /// Ends the events: the reader gets [`LinkEvent::Lost`], and then `None`.
    pub(super) fn close(&self) {
        self.push(LinkEvent::Lost);
        self.0.pending.lock().is_closed = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinery::tokio;

    fn link(name: String) -> LinkEvent {
        LinkEvent::Link { name }
    }

    #[tokio::test]
    async fn too_many_pending_events_become_one() {
        let queue = EventQueue::default();
        let mut events = LinkEvents::new(queue.clone(), CancellationToken::new());
        (0..3).for_each(|_| queue.push(link("a".into())));
        queue.push(link("b".into()));
        assert_eq!(events.next().await, Some(link("a".into())));
        assert_eq!(events.next().await, Some(link("b".into())));
        (0..=PENDING_LIMIT).for_each(|number| queue.push(link(number.to_string())));
        assert_eq!(events.next().await, Some(LinkEvent::Lost));
        queue.push(link("a".into()));
        assert_eq!(events.next().await, Some(link("a".into())));
        queue.close();
        assert_eq!(events.next().await, Some(LinkEvent::Lost));
        assert_eq!(events.next().await, None);
    }
}
