//! Gives attachments addresses.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use machinery::controllers::{Claim, Controller, Held, NameLocks, Note, Recorder};
use machinery::informers::Index;
use machinery::informers::deliver::Told;
use machinery::objects::{Event, Fence, ObjectKey, WriteError};
use machinery::sync::Mutex;
use machinery::tokio;
use machinery::tokio_util::sync::CancellationToken;
use machinery::{Next, Objects, Plane, Reconcile, Run};

use super::known::{Found, Known};
use crate::model::{AttachmentStatus, Cidr, IPLock, LockSpec, NetworkAttachment, Subnet, Vni};
use crate::plan::{AddressKey, Decision, OwnedLock, Step, Trouble, View, address_of, decide};

/// What the controller of addresses may take.
#[derive(Clone, Copy, Debug)]
pub struct IpamSettings {
    /// So many attachments may wait for an address. Whoever comes after them looks again from time to time.
    pub waiters: usize,
    /// So many addresses are tried in one run, if others are always faster.
    pub tries: usize,
    /// Where the row of numbers begins by which addresses are chosen.
    pub seed: u64,
}

impl Default for IpamSettings {
    fn default() -> Self {
        Self { waiters: 1 << 20, tries: 16, seed: 0 }
    }
}

/// So long until one looks again for whom there was no place in the line.
const AGAIN: Duration = Duration::from_secs(10);

/// The controller of addresses. Cheap to clone.
#[derive(Clone)]
pub struct Ipam(Arc<Inner>);

struct Inner {
    attachments: Objects<NetworkAttachment>,
    subnets: Objects<Subnet>,
    locks: NameLocks<AddressKey, IPLock>,
    recorder: Recorder,
    known: Mutex<Known>,
    tries: usize,
    wakes: Controller<ObjectKey, Arc<NetworkAttachment>>,
}

impl Ipam {
    /// Runs it for as long as the plane runs. It says what the informers of subnets and attachments have, so this comes before anybody reads
    /// them.
    ///
    /// # Errors
    /// The plane has stopped, has another, or somebody reads subnets or attachments already.
    pub fn run(plane: &Plane, recorder: &Recorder, settings: IpamSettings) -> machinery::Result<Self> {
        let of_subnet = |attachment: &NetworkAttachment| subnet_of(attachment);
        let (attachments, by_subnet) =
            plane.objects_with::<NetworkAttachment, _>(|informer| informer.index(of_subnet))?;
        let (subnets, by_vni) = plane
            .objects_with::<Subnet, _>(|informer| informer.index(|subnet: &Subnet| [subnet.spec.vni]))?;
        let named = subnets.clone();
        let locks = plane.name_locks::<NetworkAttachment, AddressKey, IPLock>(move |key| {
            let subnet_name = name_of_subnet(&named, &by_vni, *key).unwrap_or_default();
            IPLock { spec: LockSpec { subnet_name }, ..IPLock::default() }
        })?;
        let who = attachments.clone();
        let controller = plane
            .controller::<NetworkAttachment>("ipam")?
            .claiming(&locks)?
            .watching::<Subnet, _>(move |event| waiting_for(&who, &by_subnet, event))?
            .build()?;
        let (known, tries) = (Mutex::new(Known::new(settings.waiters, settings.seed)), settings.tries);
        let (recorder, wakes) = (recorder.clone(), controller.clone());
        let ipam = Self(Arc::new(Inner { attachments, subnets, locks, recorder, known, tries, wakes }));
        let (heard, reconcile, stopping) = (ipam.clone(), ipam.clone(), plane.stopping().clone());
        plane.run(|stopping| async move { heard.listen(stopping).await });
        plane.spawn(async move { Ok(controller.run(reconcile, stopping).await.map(drop)?) });
        Ok(ipam)
    }

    /// How many wait for an address.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.known.lock().waiting()
    }

    /// Keeps what is known of addresses up to date, and wakes who waits for one.
    async fn listen(&self, stopping: CancellationToken) {
        let Inner { attachments, locks, known, .. } = &*self.0;
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
        let key = machinery::controllers::key_of_name::<AddressKey>(name.name()).ok()?;
        let mut known = self.0.known.lock();
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

    async fn wake(&self, who: Option<ObjectKey>) {
        if let Some(who) = who {
            self.0.wakes.request(who, &"an address is free").await;
        }
    }
}

impl Reconcile<Arc<NetworkAttachment>> for Ipam {
    type Error = machinery::Error;

    async fn reconcile(&self, attachment: &Arc<NetworkAttachment>, run: &Run) -> machinery::Result<Next> {
        let Inner { attachments, subnets, locks, known, .. } = &*self.0;
        let who = machinery::objects::Object::key(&**attachment);
        let subnet_key = subnet_of(attachment);
        let subnet = subnet_key.as_ref().and_then(|key| subnets.get(key));
        let mut held = locks.held(&**attachment)?;
        held.extend(self.unseen(attachment, subnet.as_deref(), &held).await?);
        let owned: Vec<_> = held.iter().map(|held| self.owned(attachment, held)).collect();
        let view =
            View { attachment: Some(attachment), gone: None, subnet: subnet.as_deref(), locks: &owned };
        let Decision { release, step } = decide(&view);
        for lock in held.iter().filter(|held| release.iter().any(|lock| lock.uid == held.uid().as_str())) {
            locks.release(lock).await?;
        }
        let (Some(subnet), Some(subnet_key)) = (subnet, subnet_key) else {
            if let Step::None(trouble) = step {
                self.write(attachment, trouble.written(attachment), None, run).await?;
            }
            let woken = known.lock().leaves(&who);
            self.wake(woken).await;
            return Ok(Next::Done);
        };
        match step {
            Step::Done | Step::Wait => {}
            Step::None(trouble) => self.write(attachment, trouble.written(attachment), None, run).await?,
            Step::Write(address) => {
                let lock = held.iter().find(|held| held.key().address == address.address());
                let fence = lock.and_then(|held| held.fence().ok());
                self.write(attachment, address.written(attachment, &subnet), fence.as_ref(), run).await?;
                known.lock().served(&who);
                return Ok(Next::Done);
            }
            Step::Pick { vni, range } => {
                for _ in 0..self.0.tries {
                    let found = known.lock().find(&subnet_key, &who, vni, &range);
                    let key = match found {
                        Found::Free(key) => key,
                        full => {
                            let status = Trouble::Full.written(attachment);
                            self.write(attachment, status, None, run).await?;
                            return Ok(if full == Found::Full { Next::Done } else { Next::After(AGAIN) });
                        }
                    };
                    if let Some(held) = self.claim(attachment, key).await? {
                        run.wrote(held.token(), locks.informer());
                        known.lock().served(&who);
                        let Some(address) = address_of(&self.owned(attachment, &held)) else { break };
                        let status = address.written(attachment, &subnet);
                        self.write(attachment, status, held.fence().ok().as_ref(), run).await?;
                        let text = format!("Assigned IPv4 address {}", address.address());
                        self.0.recorder.note(Note::normal(
                            attachments.about(attachment),
                            "AddressAssigned",
                            text,
                        ));
                        return Ok(Next::Done);
                    }
                }
                return Err("others were always faster: it tries again".into());
            }
        }
        let woken = known.lock().leaves(&who);
        self.wake(woken).await;
        Ok(Next::Done)
    }
}

impl Ipam {
    /// The lock that the status tells of, if the cache does not show it yet. If it is gone, and the address is still free, it is had again.
    async fn unseen(
        &self,
        attachment: &NetworkAttachment,
        subnet: Option<&Subnet>,
        held: &[Held<AddressKey>],
    ) -> machinery::Result<Option<Held<AddressKey>>> {
        let status = &attachment.status;
        let is_shown = held.iter().any(|held| held.uid().as_str() == status.lock_uid);
        let (Ok(vni), Ok(address)) = (Vni::new(status.address_vni), status.ipv4.parse()) else {
            return Ok(None);
        };
        let is_wanted = attachment.metadata.deletion_timestamp.is_none()
            && subnet.is_some_and(|subnet| subnet.status.validated && holds(subnet, vni, address));
        if is_shown || !is_wanted {
            return Ok(None);
        }
        match self.0.locks.claim(attachment, &AddressKey { vni, address }).await? {
            Claim::Held(held) => Ok(Some(held)),
            Claim::Taken(_) => Ok(None),
        }
    }

    /// Claims an address. `None` is that another has it.
    async fn claim(
        &self,
        attachment: &NetworkAttachment,
        key: AddressKey,
    ) -> machinery::Result<Option<Held<AddressKey>>> {
        let Inner { locks, known, .. } = &*self.0;
        let claimed = locks.claim(attachment, &key).await;
        if let Ok(Claim::Held(held)) = claimed {
            return Ok(Some(held));
        }
        let name = machinery::controllers::name_of_key(&key)?;
        let name = ObjectKey::new(attachment.metadata.namespace.as_deref(), &name)?;
        // What the cache has is marked; what it will have, will be. Under the lock, so that a mark that comes now stays.
        let mut known = known.lock();
        if locks.informer().get(&name).is_none() {
            known.let_go(key);
        }
        drop(known);
        claimed?;
        Ok(None)
    }

    async fn write(
        &self,
        attachment: &NetworkAttachment,
        status: AttachmentStatus,
        fence: Option<&Fence>,
        run: &Run,
    ) -> Result<(), WriteError> {
        if status == attachment.status {
            return Ok(());
        }
        let attachments = &self.0.attachments;
        let attachment = NetworkAttachment { status, ..attachment.clone() };
        let written = match fence {
            Some(fence) => attachments.fenced(fence).update_status(&attachment).await?,
            None => attachments.update_status(&attachment).await?,
        };
        run.wrote(&written.token, attachments);
        Ok(())
    }

    fn owned(&self, attachment: &NetworkAttachment, held: &Held<AddressKey>) -> OwnedLock {
        let lock = self.0.locks.informer().get(held.lock());
        OwnedLock {
            key: *held.key(),
            uid: held.uid().as_str().to_owned(),
            owner_uid: attachment.metadata.uid.clone().unwrap_or_default(),
            created: lock.and_then(|lock| lock.metadata.creation_timestamp.as_ref().map(|time| time.0)),
        }
    }
}

/// Where its subnet is.
fn subnet_of(attachment: &NetworkAttachment) -> Option<ObjectKey> {
    ObjectKey::new(attachment.metadata.namespace.as_deref(), &attachment.spec.subnet).ok()
}

/// Those who refer to a subnet of which something is known.
fn waiting_for(
    attachments: &Objects<NetworkAttachment>,
    by_subnet: &Index<ObjectKey>,
    event: &Event<Arc<Subnet>>,
) -> Vec<ObjectKey> {
    let subnet = event.object();
    let is_there = matches!(event, Event::Added { .. } | Event::Updated { .. });
    if is_there && !subnet.status.validated && subnet.status.errors.is_empty() {
        return Vec::new(); // the validator's word will come
    }
    let key = machinery::objects::Object::key(&**subnet);
    attachments.read().by(by_subnet, &key).map(|(attachment, _)| attachment.clone()).collect()
}

/// The subnet that an address is of. No two of a network overlap.
fn name_of_subnet(subnets: &Objects<Subnet>, by_vni: &Index<u32>, key: AddressKey) -> Option<String> {
    let subnets = subnets.read();
    let mut of_it = subnets.by(by_vni, &key.vni.number());
    let (name, _) = of_it.find(|(_, subnet)| holds(subnet, key.vni, key.address))?;
    Some(name.name().to_owned())
}

fn holds(subnet: &Subnet, vni: Vni, address: Ipv4Addr) -> bool {
    subnet.spec.vni == vni.number()
        && subnet.spec.ipv4.parse::<Cidr>().is_ok_and(|block| block.contains(address))
}
