//! What the controller of addresses hears of, besides what it runs for: which addresses are taken, and who has gone.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use machinery::controllers::{Controller, key_of_name, name_of_key};
use machinery::informers::deliver::Told;
use machinery::objects::{Event, Object as _, ObjectKey, WriteToken};
use machinery::tokio;
use machinery::tokio::time::{Instant, sleep};
use machinery::tokio_util::sync::CancellationToken;

use super::ipam::{Inner, Ipam, subnet_of, waits_since};
use super::known::{Line, Waiting};
use crate::model::{Cidr, IPLock, NetworkAttachment, Vni};
use crate::plan::AddressKey;

/// So long nothing is told until it is looked whether something never will be.
const IDLE: Duration = Duration::from_millis(10);
/// So long it is not looked where something is told all the time.
const BUSY: Duration = Duration::from_millis(200);

impl Ipam {
    /// Keeps what is known of addresses up to date, and wakes who waits for one.
    pub(super) async fn listen(
        &self,
        controller: Controller<ObjectKey, Arc<NetworkAttachment>>,
        stopping: &CancellationToken,
    ) {
        let Inner { attachments, locks, subnets, known, wakes, look, .. } = &*self.inner;
        let _ = wakes.set(controller);
        let (Ok(mut locked), Ok(mut attached)) = (locks.informer().events(), attachments.informer().events())
        else {
            return;
        };
        let mut untold_since = None;
        loop {
            if !known.lock().is_ready() {
                let synced = async {
                    locks.informer().synced().await.is_ok()
                        && attachments.informer().synced().await.is_ok()
                        && subnets.informer().synced().await.is_ok()
                };
                if stopping.run_until_cancelled(synced).await != Some(true) {
                    return;
                }
                self.wake(self.begins()).await;
            }
            let has_untold = known.lock().has_untold();
            untold_since = untold_since.or_else(|| Some(Instant::now())).filter(|_| has_untold);
            if untold_since.is_some_and(|since| since.elapsed() >= BUSY) {
                untold_since = None;
                self.wake(self.sweep()).await;
                continue;
            }
            let idle = async { if has_untold { sleep(IDLE).await } else { pending().await } };
            let woken: Vec<Waiting> = tokio::select! {
                biased;
                () = stopping.cancelled() => return,
                () = look.notified() => continue,
                told = locked.next() => match told {
                    None => return,
                    Some(Told::Event(name, event)) => self.of_lock(&name, &event).into_iter().collect(),
                    Some(_) => continue,
                },
                told = attached.next() => match told {
                    None => return,
                    Some(Told::Event(_, event)) => self.of_attachment(&event).into_iter().collect(),
                    Some(_) => continue,
                },
                () = idle => {
                    untold_since = None;
                    self.sweep()
                }
            };
            self.wake(woken).await;
        }
    }

    /// Looks for what is never told.
    fn sweep(&self) -> Vec<Waiting> {
        let Inner { attachments, known, .. } = &*self.inner;
        known.lock().sweep(
            |key, subnet, made| {
                made.is_some_and(|made| !self.shows(made)) || is_locked(&self.inner, key, subnet)
            },
            |who| attachments.get(&who.key).is_some_and(|now| uid_of(&now) == who.uid),
        )
    }

    /// Remembers what the caches have. Who waited before stands where it stood, and nobody who comes new is before it.
    fn begins(&self) -> Vec<Waiting> {
        let Inner { attachments, locks, known, .. } = &*self.inner;
        let mut lines: BTreeMap<ObjectKey, Vec<(jiff::Timestamp, Waiting)>> = BTreeMap::new();
        for (key, attachment) in attachments.read().iter() {
            let is_going = attachment.metadata.deletion_timestamp.is_some();
            if let (Some(since), Some(subnet), false) =
                (waits_since(attachment), subnet_of(attachment), is_going)
            {
                let who = Waiting { key: key.clone(), uid: uid_of(attachment) };
                lines.entry(subnet).or_default().push((since, who));
            }
        }
        let lines = lines.into_iter().map(|(subnet, mut waiting)| {
            waiting.sort();
            let of = self.inner.subnets.get(&subnet).and_then(|subnet| {
                let block = subnet.spec.ipv4.parse::<Cidr>().ok()?;
                Some((Vni::new(subnet.spec.vni).ok()?, block.usable()))
            });
            Line { subnet, of, waiting }
        });
        let lines: Vec<Line> = lines.collect();
        let locks = locks.informer().read();
        let locked = locks.iter().filter_map(|(name, _)| {
            let key = key_of_name::<AddressKey>(name.name()).ok()?;
            Some((key, self.subnet_with(key)?))
        });
        let locked: Vec<_> = locked.collect();
        let mut known = known.lock();
        known.forget();
        known.begin(locked, lines)
    }

    /// Whether the cache of locks has come as far as a write.
    fn shows(&self, made: &WriteToken) -> bool {
        let reached = self.inner.locks.informer().reached(made, Duration::ZERO).now_or_never();
        reached.is_some_and(|reached| reached.is_ok())
    }

    fn of_lock(&self, name: &ObjectKey, event: &Event<Arc<IPLock>>) -> Option<Waiting> {
        // What is called after no address is warned of by the locks themselves.
        let key = key_of_name::<AddressKey>(name.name()).ok()?;
        if matches!(event, Event::Added { .. } | Event::Updated { .. }) {
            self.inner.known.lock().taken(key);
            return None;
        }
        let subnet_name = &event.object().spec.subnet_name;
        let subnet = self.subnet_with(key).or_else(|| ObjectKey::new(name.namespace(), subnet_name).ok());
        self.inner.known.lock().freed(key, subnet.as_ref())
    }

    /// Who has gone waits no more. Another of its name is not who waited. Who comes and goes before that is told is found when it is due.
    fn of_attachment(&self, event: &Event<Arc<NetworkAttachment>>) -> Option<Waiting> {
        let gone = match event {
            Event::Deleted { last, .. } | Event::Left { last, .. } => last,
            Event::Updated { old, object } if uid_of(old) != uid_of(object) => old,
            _ => return None,
        };
        self.inner.known.lock().leaves(&Waiting { key: gone.key(), uid: uid_of(gone) })
    }
}

/// Whether there is a lock on an address, as far as the cache shows.
pub(super) fn is_locked(inner: &Inner, key: &AddressKey, subnet: &ObjectKey) -> bool {
    let name = name_of_key(key).ok().and_then(|name| ObjectKey::new(subnet.namespace(), &name).ok());
    name.is_some_and(|name| inner.locks.informer().get(&name).is_some())
}

pub(super) fn uid_of(attachment: &NetworkAttachment) -> String {
    attachment.metadata.uid.clone().unwrap_or_default()
}
