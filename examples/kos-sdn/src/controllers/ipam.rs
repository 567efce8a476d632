//! Gives attachments addresses.

use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::join;
use jiff::Timestamp;
use machinery::controllers::{Claim, Controller, Held, NameLocks, Note, Recorder, Term};
use machinery::informers::Index;
use machinery::objects::{
    Conflict, Deleted, Deletion, Event, Fence, Object as _, ObjectKey, Preconditions, WriteError,
};
use machinery::sync::Mutex;
use machinery::tokio::sync::Notify;
use machinery::tokio::time::Instant;
use machinery::{Next, Objects, Plane, PlaneController, Reconcile, Run};

use super::known::{Found, Known, Waiting};
use super::listen::{is_locked, uid_of};
use super::run::{ControllerSettings, with_workers};
use super::silence::Silent;
use crate::metrics::IpamMetrics;
use crate::model::{AttachmentStatus, Cidr, IPLock, LockSpec, NetworkAttachment, Section, Subnet, Vni};
use crate::plan::{
    AddressKey, Decision, OwnedLock, Step, Trouble, View, address_of, decide, is_unanswered, unanswered,
};

/// So long until one looks again for whom there was no place in the line.
const AGAIN: Duration = Duration::from_secs(10);
/// So long until one looks again who came before the line was known.
const EARLY: Duration = Duration::from_millis(10);

/// The controller of addresses. Cheap to clone.
#[derive(Clone)]
pub struct Ipam {
    pub(super) inner: Arc<Inner>,
    /// What its writes rest on, besides locks.
    term: Option<Fence>,
}

pub(super) struct Inner {
    pub(super) attachments: Objects<NetworkAttachment>,
    pub(super) subnets: Objects<Subnet>,
    by_vni: Index<u32>,
    pub(super) locks: NameLocks<AddressKey, IPLock>,
    lock_objects: Objects<IPLock>,
    recorder: Recorder,
    pub(super) known: Mutex<Known>,
    /// Told when the listener has to look again at what is known, which tells of nothing by itself.
    pub(super) look: Notify,
    pub(super) silent: Silent,
    tries: usize,
    metrics: IpamMetrics,
    /// Set when it runs.
    pub(super) wakes: OnceLock<Controller<ObjectKey, Arc<NetworkAttachment>>>,
}

/// It, not running yet.
pub(super) struct Giving {
    pub(super) controller: PlaneController<ObjectKey, Arc<NetworkAttachment>>,
    pub(super) reconcile: Ipam,
}

impl Giving {
    pub(super) fn new(
        plane: &Plane,
        recorder: &Recorder,
        settings: &ControllerSettings,
    ) -> machinery::Result<Self> {
        let of_subnet = |attachment: &NetworkAttachment| subnet_of(attachment);
        let not_answered = |attachment: &NetworkAttachment| is_unanswered(attachment).then_some(());
        let (attachments, (by_subnet, unanswered)) =
            plane.objects_with::<NetworkAttachment, _>(|informer| {
                (informer.index(of_subnet), informer.index(not_answered))
            })?;
        let (subnets, by_vni) = plane
            .objects_with::<Subnet, _>(|informer| informer.index(|subnet: &Subnet| [subnet.spec.vni]))?;
        let (named, named_by) = (subnets.clone(), by_vni);
        let locks = plane.name_locks::<NetworkAttachment, AddressKey, IPLock>(move |key| {
            let subnet = subnet_with(&named, &named_by, *key);
            let subnet_name = subnet.map(|subnet| subnet.name().to_owned()).unwrap_or_default();
            IPLock { spec: LockSpec { subnet_name }, ..IPLock::default() }
        })?;
        let ipam = Ipam {
            inner: Arc::new(Inner {
                attachments: attachments.clone(),
                subnets,
                by_vni,
                locks: locks.clone(),
                lock_objects: plane.objects()?,
                recorder: recorder.clone(),
                known: Mutex::new(Known::new(settings.waiters, settings.seed)),
                look: Notify::new(),
                silent: Silent::new(unanswered, settings.patience),
                tries: settings.tries,
                metrics: settings.metrics.ipam.clone(),
                wakes: OnceLock::new(),
            }),
            term: None,
        };
        let heard = ipam.clone();
        let controller = plane
            .controller::<NetworkAttachment>("ipam")?
            .claiming(&locks)?
            .watching::<Subnet, _>(move |event| waiting_for(&attachments, &by_subnet, event))?
            .beside(|controller, stopping| async move {
                join(heard.listen(controller, &stopping), heard.attends(&stopping)).await;
            })
            .settings(with_workers(settings.ipam_workers));
        Ok(Self { controller, reconcile: ipam })
    }
}

impl Ipam {
    /// How many wait for an address.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.inner.known.lock().waiting()
    }

    /// The same, but what it writes rests on a term, if the server holds such things. What others did meanwhile is remembered first.
    pub(super) fn in_term(&self, term: &Term) -> Self {
        self.inner.known.lock().forget();
        self.inner.look.notify_one();
        let term = self.inner.attachments.has_fences().then(|| term.fence().clone());
        Self { inner: self.inner.clone(), term }
    }

    pub(super) async fn wake(&self, all: impl IntoIterator<Item = Waiting>) {
        self.ask(all, &"an address is free").await;
    }

    pub(super) async fn ask(&self, all: impl IntoIterator<Item = Waiting>, why: &'static &'static str) {
        let Some(controller) = self.inner.wakes.get() else { return };
        for who in all {
            controller.request(who.key, why).await;
        }
    }

    /// The subnet that an address is of. No two of a network overlap.
    pub(super) fn subnet_with(&self, key: AddressKey) -> Option<ObjectKey> {
        subnet_with(&self.inner.subnets, &self.inner.by_vni, key)
    }
}

impl Reconcile<Arc<NetworkAttachment>> for Ipam {
    type Error = machinery::Error;

    async fn reconcile(&self, attachment: &Arc<NetworkAttachment>, run: &Run) -> machinery::Result<Next> {
        let Inner { subnets, locks, .. } = &*self.inner;
        let (who, subnet_key) = (waiting(attachment), subnet_of(attachment));
        let subnet = subnet_key.as_ref().and_then(|key| subnets.get(key));
        let mut held = locks.held(&**attachment)?;
        held.extend(self.unseen(attachment, subnet.as_deref(), &held).await?);
        let owned: Vec<_> = held.iter().map(|held| self.owned(attachment, held)).collect();
        let view =
            View { attachment: Some(attachment), gone: None, subnet: subnet.as_deref(), locks: &owned };
        let Decision { release, step } = decide(&view);
        for lock in held.iter().filter(|held| release.iter().any(|lock| lock.uid == held.uid().as_str())) {
            self.release(lock, run).await?;
        }
        match (step, subnet, subnet_key) {
            (Step::Done, ..) if is_unanswered(attachment) && self.inner.silent.has(&who) => {
                self.write(attachment, unanswered(attachment), None, run).await?;
            }
            (Step::Done | Step::Wait, ..) => {}
            (Step::None(trouble), ..) => {
                self.write(attachment, trouble.written(attachment), None, run).await?
            }
            (Step::Write(address), Some(subnet), _) => {
                let lock = held.iter().find(|held| held.key().address == address.address());
                let fence = lock.and_then(|held| held.fence().ok());
                self.write(attachment, address.written(attachment, &subnet), fence, run).await?;
                self.inner.known.lock().served(&who);
                return Ok(Next::Done);
            }
            (Step::Pick { vni, range }, Some(subnet), Some(subnet_key)) => {
                let from = From { subnet: &subnet, subnet_key: &subnet_key, vni, range };
                return self.pick(attachment, &from, run).await;
            }
            // It decides so of a subnet only.
            (Step::Write(_) | Step::Pick { .. }, ..) => {}
        }
        let woken = self.inner.known.lock().leaves(&who);
        self.wake(woken).await;
        Ok(Next::Done)
    }
}

/// Where an address is to be from.
struct From<'a> {
    subnet: &'a Subnet,
    subnet_key: &'a ObjectKey,
    vni: Vni,
    range: RangeInclusive<u32>,
}

impl Ipam {
    /// Gives an address, or a place in the line.
    async fn pick(
        &self,
        attachment: &NetworkAttachment,
        from: &From<'_>,
        run: &Run,
    ) -> machinery::Result<Next> {
        let Inner { attachments, locks, known, tries, metrics, .. } = &*self.inner;
        let who = waiting(attachment);
        for _ in 0..*tries {
            let found =
                known.lock().find(from.subnet_key, &who, waits_since(attachment), from.vni, &from.range);
            let key = match found {
                Found::Free(key) => key,
                Found::Early => return Ok(Next::After(EARLY)),
                full => {
                    self.write(attachment, Trouble::Full.written(attachment), None, run).await?;
                    // If it went meanwhile, that was told before it had a place: nobody else takes it out of the line.
                    if attachments.get(&who.key).is_none_or(|now| uid_of(&now) != who.uid) {
                        let woken = known.lock().leaves(&who);
                        self.wake(woken).await;
                    }
                    return Ok(if full == Found::Full { Next::Done } else { Next::After(AGAIN) });
                }
            };
            let Some(held) = self.claim(attachment, &who, key, from.subnet_key).await? else { continue };
            run.wrote(held.token(), locks.informer());
            known.lock().served(&who);
            metrics.locked(attachment, from.subnet);
            let address =
                address_of(&self.owned(attachment, &held)).ok_or("a lock without a UID was made")?;
            let status = address.written(attachment, from.subnet);
            self.write(attachment, status, held.fence().ok(), run).await?;
            let text = format!("Assigned IPv4 address {}", address.address());
            let about = attachments.about(attachment);
            self.inner.recorder.note(Note::normal(about, "AddressAssigned", text));
            return Ok(Next::Done);
        }
        Err("others were always faster: it tries again".into())
    }

    /// Gives a lock back; what is another's by now stays.
    async fn release(&self, lock: &Held<AddressKey>, run: &Run) -> Result<(), WriteError> {
        let only_if = Preconditions { uid: Some(lock.uid().clone()), ..Preconditions::default() };
        let locks = self.inner.lock_objects.clone();
        let locks = self.term.iter().fold(locks, |locks, term| locks.fenced(term));
        let deletion = Deletion { only_if, ..Deletion::default() };
        let since = Instant::now();
        let deleted = locks.delete_if(lock.lock(), &deletion).await;
        self.inner.metrics.released(since, &deleted);
        let token = match deleted {
            Ok(Deleted::Gone(token)) => token,
            Ok(Deleted::Marked(written)) => written.token,
            Err(WriteError::NotFound | WriteError::Conflict(Conflict::Uid { .. })) => return Ok(()),
            Err(error) => return Err(error),
        };
        // Until that can be read, it would be decided on again.
        run.wrote(&token, self.inner.locks.informer());
        Ok(())
    }

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
        match self.inner.locks.claim(attachment, &AddressKey { vni, address }).await? {
            Claim::Held(held) => Ok(Some(held)),
            Claim::Taken(_) => Ok(None),
        }
    }

    /// Claims an address. `None` is that another has it.
    async fn claim(
        &self,
        attachment: &NetworkAttachment,
        who: &Waiting,
        key: AddressKey,
        subnet: &ObjectKey,
    ) -> machinery::Result<Option<Held<AddressKey>>> {
        let Inner { locks, known, metrics, .. } = &*self.inner;
        let since = Instant::now();
        let claims = Claims { inner: &self.inner, key, who };
        let claimed = locks.claim(attachment, &key).await;
        metrics.claimed(since, &claimed);
        // What the cache has is marked, and what it will have will be. Under the lock, so that what is told now is told after it.
        let woken = {
            let mut known = known.lock();
            if let Ok(Claim::Held(held)) = &claimed {
                known.made(key, who, held.token());
                None
            } else {
                let is_taken = is_locked(&self.inner, &key, subnet);
                known.claimed(key, who, is_taken)
            }
        };
        std::mem::forget(claims); // what came of it is known
        self.inner.look.notify_one();
        self.wake(woken).await;
        if let Ok(Claim::Held(held)) = claimed {
            return Ok(Some(held));
        }
        claimed?;
        Ok(None)
    }

    async fn write(
        &self,
        attachment: &NetworkAttachment,
        status: AttachmentStatus,
        fence: Option<Fence>,
        run: &Run,
    ) -> Result<(), WriteError> {
        if status == attachment.status {
            return Ok(());
        }
        let attachments = self.inner.attachments.clone();
        let attachments =
            fence.iter().chain(&self.term).fold(attachments, |objects, fence| objects.fenced(fence));
        let (since, has_errors) = (Instant::now(), !status.errors.ipam.is_empty());
        let says = NetworkAttachment { status, ..attachment.clone() };
        let written = attachments.update_status(&says).await;
        let after = written.as_ref().map(|written| &written.object);
        self.inner.metrics.wrote(since, attachment, after, has_errors);
        match written {
            Ok(written) => run.wrote(&written.token, &attachments),
            // It went, which will be told.
            Err(WriteError::NotFound) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn owned(&self, attachment: &NetworkAttachment, held: &Held<AddressKey>) -> OwnedLock {
        let lock = self.inner.locks.informer().get(held.lock());
        OwnedLock {
            key: *held.key(),
            uid: held.uid().as_str().to_owned(),
            owner_uid: attachment.metadata.uid.clone().unwrap_or_default(),
            created: lock.and_then(|lock| lock.metadata.creation_timestamp.as_ref().map(|time| time.0)),
        }
    }
}

/// A claim under way. It ends also for who is stopped in it: then nobody knows what came of it, and the sweep looks.
struct Claims<'a> {
    inner: &'a Inner,
    key: AddressKey,
    who: &'a Waiting,
}

impl Drop for Claims<'_> {
    fn drop(&mut self) {
        let _none = self.inner.known.lock().claimed(self.key, self.who, true);
        self.inner.look.notify_one();
    }
}

fn waiting(attachment: &NetworkAttachment) -> Waiting {
    Waiting { key: attachment.key(), uid: uid_of(attachment) }
}

/// When it was told that there is none, if it still is.
pub(super) fn waits_since(attachment: &NetworkAttachment) -> Option<Timestamp> {
    let is_told = attachment.status.errors.ipam == [Trouble::Full.to_string()];
    is_told.then(|| attachment.extended_metadata.written(Section::Address)).flatten()
}

/// Where its subnet is.
pub(super) fn subnet_of(attachment: &NetworkAttachment) -> Option<ObjectKey> {
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

fn subnet_with(subnets: &Objects<Subnet>, by_vni: &Index<u32>, key: AddressKey) -> Option<ObjectKey> {
    let subnets = subnets.read();
    let mut of_it = subnets.by(by_vni, &key.vni.number());
    of_it.find(|(_, subnet)| holds(subnet, key.vni, key.address)).map(|(subnet, _)| subnet.clone())
}

fn holds(subnet: &Subnet, vni: Vni, address: Ipv4Addr) -> bool {
    subnet.spec.vni == vni.number()
        && subnet.spec.ipv4.parse::<Cidr>().is_ok_and(|block| block.contains(address))
}
