//! Event handling of the IPAM controller: locks and attachments update the allocation state.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use machinery::controllers::{Controller, key_of_name, name_of_key};
use machinery::informers::deliver::Delivery;
use machinery::objects::{Event, Object as _, ObjectKey, WriteToken};
use machinery::tokio;
use machinery::tokio::time::{Instant, sleep};
use machinery::tokio_util::sync::CancellationToken;

use super::allocations::{InitialWaitQueue, Waiter};
use super::ipam::{Inner, Ipam, subnet_of, waiting_since};
use crate::model::{Cidr, IPLock, NetworkAttachment, Vni};
use crate::plan::AddressKey;

/// Delay of a sweep after the last event.
const IDLE: Duration = Duration::from_millis(10);
/// Maximum delay of a sweep while events keep arriving.
const BUSY: Duration = Duration::from_millis(200);

impl Ipam {
    /// Applies events to the allocation state, and wakes waiters.
    pub(super) async fn handle_events(
        &self,
        controller: Controller<ObjectKey, Arc<NetworkAttachment>>,
        stopping: &CancellationToken,
    ) {
        let Inner { attachments, locks, subnets, allocations, controller_handle, recheck, .. } = &*self.inner;
        let _ = controller_handle.set(controller);
        // Before the rebuild, so that each change after its snapshot is delivered as an event.
        let (Ok(mut locked), Ok(mut attached)) = (locks.informer().events(), attachments.informer().events())
        else {
            return;
        };
        let mut unconfirmed_since = None;
        loop {
            if !allocations.lock().is_ready() {
                let synced = async {
                    locks.informer().synced().await.is_ok()
                        && attachments.informer().synced().await.is_ok()
                        && subnets.informer().synced().await.is_ok()
                };
                if stopping.run_until_cancelled(synced).await != Some(true) {
                    return;
                }
                self.wake(self.rebuild()).await;
            }
            let has_unconfirmed = allocations.lock().has_unconfirmed();
            unconfirmed_since =
                unconfirmed_since.or_else(|| Some(Instant::now())).filter(|_| has_unconfirmed);
            if unconfirmed_since.is_some_and(|since| since.elapsed() >= BUSY) {
                unconfirmed_since = None;
                self.wake(self.sweep()).await;
                continue;
            }
            let idle = async { if has_unconfirmed { sleep(IDLE).await } else { pending().await } };
            let woken: Vec<Waiter> = tokio::select! {
                biased;
                () = stopping.cancelled() => return,
                () = recheck.notified() => continue,
                notice = locked.next() => match notice {
                    None => return,
                    Some(Delivery::Event(name, event)) => self.on_lock_event(&name, &event).into_iter().collect(),
                    Some(_) => continue,
                },
                notice = attached.next() => match notice {
                    None => return,
                    Some(Delivery::Event(_, event)) => self.on_attachment_event(&event).into_iter().collect(),
                    Some(_) => continue,
                },
                () = idle => {
                    unconfirmed_since = None;
                    self.sweep()
                }
            };
            self.wake(woken).await;
        }
    }

    /// Resolves allocations that no event will confirm.
    fn sweep(&self) -> Vec<Waiter> {
        let Inner { attachments, allocations, .. } = &*self.inner;
        allocations.lock().sweep(
            |key, subnet, made| {
                made.is_some_and(|made| !self.has_reached(made)) || is_locked(&self.inner, key, subnet)
            },
            |waiter| attachments.get(&waiter.key).is_some_and(|now| uid_of(&now) == waiter.uid),
        )
    }

    /// Rebuilds the allocation state from the caches. Waiters regain their positions, ahead of new
    /// ones.
    fn rebuild(&self) -> Vec<Waiter> {
        let Inner { attachments, locks, allocations, .. } = &*self.inner;
        let mut queues: BTreeMap<ObjectKey, Vec<(jiff::Timestamp, Waiter)>> = BTreeMap::new();
        for (key, attachment) in attachments.read().iter() {
            let is_deleting = attachment.metadata.deletion_timestamp.is_some();
            if let (Some(since), Some(subnet), false) =
                (waiting_since(attachment), subnet_of(attachment), is_deleting)
            {
                let waiter = Waiter { key: key.clone(), uid: uid_of(attachment) };
                queues.entry(subnet).or_default().push((since, waiter));
            }
        }
        let queues = queues.into_iter().map(|(subnet, mut waiting)| {
            // By the recorded time: after a restart all waiters arrive at once, in any order.
            waiting.sort();
            let of = self.inner.subnets.get(&subnet).and_then(|subnet| {
                let block = subnet.spec.ipv4.parse::<Cidr>().ok()?;
                Some((Vni::new(subnet.spec.vni).ok()?, block.usable()))
            });
            InitialWaitQueue { subnet, of, waiting }
        });
        let queues: Vec<InitialWaitQueue> = queues.collect();
        let locks = locks.informer().read();
        let locked = locks.iter().filter_map(|(name, _)| {
            let key = key_of_name::<AddressKey>(name.name()).ok()?;
            Some((key, self.subnet_with(key)?))
        });
        let locked: Vec<_> = locked.collect();
        let mut allocations = allocations.lock();
        allocations.forget();
        allocations.rebuild(locked, queues)
    }

    /// Returns true if the cache of locks has reached a write.
    fn has_reached(&self, made: &WriteToken) -> bool {
        let reached = self.inner.locks.informer().wait_for(made, Duration::ZERO).now_or_never();
        reached.is_some_and(|reached| reached.is_ok())
    }

    fn on_lock_event(&self, name: &ObjectKey, event: &Event<Arc<IPLock>>) -> Option<Waiter> {
        // NameLocks warns of locks with malformed names.
        let key = key_of_name::<AddressKey>(name.name()).ok()?;
        if matches!(event, Event::Added { .. } | Event::Updated { .. }) {
            self.inner.allocations.lock().lock_seen(key);
            return None;
        }
        let subnet_name = &event.object().spec.subnet_name;
        // The subnet may be deleted already; its waiters are found by the name in the lock.
        let subnet = self.subnet_with(key).or_else(|| ObjectKey::new(name.namespace(), subnet_name).ok());
        self.inner.allocations.lock().lock_gone(key, subnet.as_ref())
    }

    /// Dequeues a deleted attachment. A recreated one is a new waiter. A waiter created and deleted
    /// between two deliveries is found by a sweep.
    fn on_attachment_event(&self, event: &Event<Arc<NetworkAttachment>>) -> Option<Waiter> {
        let gone = match event {
            Event::Deleted { last, .. } | Event::Left { last, .. } => last,
            Event::Updated { old, object } if uid_of(old) != uid_of(object) => old,
            _ => return None,
        };
        self.inner.allocations.lock().leave(&Waiter { key: gone.key(), uid: uid_of(gone) })
    }
}

/// Returns true if the cache shows a lock on the address.
pub(super) fn is_locked(inner: &Inner, key: &AddressKey, subnet: &ObjectKey) -> bool {
    let name = name_of_key(key).ok().and_then(|name| ObjectKey::new(subnet.namespace(), &name).ok());
    name.is_some_and(|name| inner.locks.informer().get(&name).is_some())
}

pub(super) fn uid_of(attachment: &NetworkAttachment) -> String {
    attachment.metadata.uid.clone().unwrap_or_default()
}
