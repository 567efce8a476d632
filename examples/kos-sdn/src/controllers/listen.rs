//! What the controller of addresses hears of, besides what it runs for: which addresses are taken, and who has gone.

use std::sync::Arc;

use machinery::controllers::{Controller, key_of_name};
use machinery::informers::deliver::Told;
use machinery::objects::{Event, ObjectKey};
use machinery::tokio;
use machinery::tokio_util::sync::CancellationToken;

use super::ipam::{Inner, Ipam};
use crate::model::{IPLock, NetworkAttachment};
use crate::plan::AddressKey;

impl Ipam {
    /// Keeps what is known of addresses up to date, and wakes who waits for one.
    pub(super) async fn listen(
        self,
        controller: Controller<ObjectKey, Arc<NetworkAttachment>>,
        stopping: CancellationToken,
    ) {
        let Inner { attachments, locks, known, wakes, .. } = &*self.inner;
        let _ = wakes.set(controller);
        let (Ok(mut locked), Ok(mut attached)) = (locks.informer().events(), attachments.informer().events())
        else {
            return;
        };
        loop {
            let woken = tokio::select! {
                biased;
                () = stopping.cancelled() => return,
                told = locked.next() => match told {
                    None => return,
                    Some(Told::Event(name, event)) => self.of_lock(&name, &event),
                    Some(_) => None,
                },
                told = attached.next() => match told {
                    None => return,
                    Some(Told::Event(key, Event::Deleted { .. } | Event::Left { .. })) => known.lock().leaves(&key),
                    Some(_) => None,
                },
            };
            self.wake(woken).await;
        }
    }

    fn of_lock(&self, name: &ObjectKey, event: &Event<Arc<IPLock>>) -> Option<ObjectKey> {
        // What is called after no address is warned of by the locks themselves.
        let key = key_of_name::<AddressKey>(name.name()).ok()?;
        let mut known = self.inner.known.lock();
        match event {
            Event::Added { .. } | Event::Updated { .. } => {
                known.taken(key);
                None
            }
            gone => {
                let subnet = ObjectKey::new(name.namespace(), &gone.object().spec.subnet_name).ok()?;
                known.freed(key, &subnet)
            }
        }
    }
}
