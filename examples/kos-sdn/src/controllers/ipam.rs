//! The IPAM controller: assigns addresses to attachments.

use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use machinery::controllers::{
    Awaiting, Claim, Controller, HeldLock, NameLocks, Note, Recorder, SilenceDetector, Term,
};
use machinery::informers::Index;
use machinery::objects::{
    Conflict, Deleted, Deletion, Event, Fence, Object as _, ObjectKey, Preconditions, WriteError,
};
use machinery::sync::Mutex;
use machinery::tokio::sync::Notify;
use machinery::tokio::time::Instant;
use machinery::{Next, Objects, Plane, PlaneController, Reconcile, Run};

use super::allocations::{Allocation, Allocations, Waiter};
use super::events::{is_locked, uid_of};
use super::run::{ControllerSettings, with_workers};
use crate::metrics::IpamMetrics;
use crate::model::{AttachmentStatus, Cidr, IPLock, LockSpec, NetworkAttachment, Section, Subnet, Vni};
use crate::plan::{
    AddressFailure, AddressKey, IpamDecision, IpamStep, IpamView, OwnedLock, decide, is_unanswered,
    locked_address, unanswered,
};

/// Retry delay of attachments beyond the limit of the wait queues.
const RETRY_UNQUEUED: Duration = Duration::from_secs(10);
/// Retry delay until the allocation state is built.
const EARLY: Duration = Duration::from_millis(10);

/// The IPAM controller. Cheap to clone.
#[derive(Clone)]
pub struct Ipam {
    pub(super) inner: Arc<Inner>,
    /// Fence of the leader's term for all writes.
    term: Option<Fence>,
}

pub(super) struct Inner {
    pub(super) attachments: Objects<NetworkAttachment>,
    pub(super) subnets: Objects<Subnet>,
    by_vni: Index<u32>,
    pub(super) locks: NameLocks<AddressKey, IPLock>,
    lock_objects: Objects<IPLock>,
    recorder: Recorder,
    pub(super) allocations: Mutex<Allocations>,
    /// Wakes the event loop to check for unconfirmed allocations.
    pub(super) recheck: Notify,
    nodes: SilenceDetector<NetworkAttachment, String>,
    tries: usize,
    metrics: IpamMetrics,
    /// Handle of the controller, set when it runs.
    pub(super) controller_handle: OnceLock<Controller<ObjectKey, Arc<NetworkAttachment>>>,
}

/// The controller before it runs.
pub(super) struct IpamController {
    pub(super) controller: PlaneController<ObjectKey, Arc<NetworkAttachment>>,
    pub(super) reconcile: Ipam,
}

impl IpamController {
    pub(super) fn new(
        plane: &Plane,
        recorder: &Recorder,
        settings: &ControllerSettings,
    ) -> machinery::Result<Self> {
        let of_subnet = |attachment: &NetworkAttachment| subnet_of(attachment);
        let node =
            |attachment: &NetworkAttachment| is_unanswered(attachment).then(|| attachment.spec.node.clone());
        let (attachments, (by_subnet, unanswered)) =
            plane.objects_with::<NetworkAttachment, _>(|informer| {
                (informer.index(of_subnet), Awaiting::index(informer, node))
            })?;
        let nodes = plane.silence("nodes", &attachments, unanswered, settings.silence_timeout)?;
        let (subnets, by_vni) = plane
            .objects_with::<Subnet, _>(|informer| informer.index(|subnet: &Subnet| [subnet.spec.vni]))?;
        let (named, named_by) = (subnets.clone(), by_vni);
        let locks = plane.name_locks::<NetworkAttachment, AddressKey, IPLock>(move |key| {
            let subnet = subnet_with(&named, &named_by, *key);
            let subnet_name = subnet.map(|subnet| subnet.name().to_owned()).unwrap_or_default();
            IPLock { spec: LockSpec { subnet_name }, ..IPLock::default() }
        })?;
        locks.notified_by_program();
        let ipam = Ipam {
            inner: Arc::new(Inner {
                attachments: attachments.clone(),
                subnets,
                by_vni,
                locks: locks.clone(),
                lock_objects: plane.objects()?,
                recorder: recorder.clone(),
                allocations: Mutex::new(Allocations::new(settings.waiters, settings.seed)),
                recheck: Notify::new(),
                nodes: nodes.clone(),
                tries: settings.tries,
                metrics: settings.metrics.ipam.clone(),
                controller_handle: OnceLock::new(),
            }),
            term: None,
        };
        let events = ipam.clone();
        let controller = plane
            .controller::<NetworkAttachment>("ipam")?
            .claiming(&locks)?
            .watching::<Subnet, _>(move |event| waiting_for(&attachments, &by_subnet, event))?
            .on_silence(&nodes, |change| change.overdue)
            .beside(|controller, stopping| async move { events.handle_events(controller, &stopping).await })
            .settings(with_workers(settings.ipam_workers));
        Ok(Self { controller, reconcile: ipam })
    }
}

impl Ipam {
    /// Returns the number of attachments waiting for an address.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.inner.allocations.lock().waiting()
    }

    /// Returns this controller fenced by a term, if the server supports fences. The allocation
    /// state is rebuilt: other leaders may have changed it.
    pub(super) fn in_term(&self, term: &Term) -> Self {
        self.inner.allocations.lock().forget();
        self.inner.recheck.notify_one();
        let term = self.inner.attachments.has_fences().then(|| term.fence().clone());
        Self { inner: self.inner.clone(), term }
    }

    pub(super) async fn wake(&self, all: impl IntoIterator<Item = Waiter>) {
        let Some(controller) = self.inner.controller_handle.get() else { return };
        for waiter in all {
            controller.request(waiter.key, &"an address is free").await;
        }
    }

    /// Returns the subnet that contains an address; subnets of a network are disjoint.
    pub(super) fn subnet_with(&self, key: AddressKey) -> Option<ObjectKey> {
        subnet_with(&self.inner.subnets, &self.inner.by_vni, key)
    }
}

impl Reconcile<Arc<NetworkAttachment>> for Ipam {
    type Error = machinery::Error;

    async fn reconcile(&self, attachment: &Arc<NetworkAttachment>, run: &Run) -> machinery::Result<Next> {
        let Inner { subnets, locks, .. } = &*self.inner;
        let (waiter, subnet_key) = (waiting(attachment), subnet_of(attachment));
        let subnet = subnet_key.as_ref().and_then(|key| subnets.get(key));
        let mut held = locks.held(&**attachment)?;
        held.extend(self.recover_lock(attachment, subnet.as_deref(), &held).await?);
        let owned: Vec<_> = held.iter().map(|held| self.owned(attachment, held)).collect();
        let view =
            IpamView { attachment: Some(attachment), gone: None, subnet: subnet.as_deref(), locks: &owned };
        let IpamDecision { release, step } = decide(&view);
        for lock in held.iter().filter(|held| release.iter().any(|lock| lock.uid == held.uid().as_str())) {
            self.release(lock, run).await?;
        }
        match (step, subnet, subnet_key) {
            (IpamStep::Done, ..) if is_unanswered(attachment) && self.inner.nodes.is_overdue(attachment) => {
                self.write(attachment, unanswered(attachment), None, run).await?;
            }
            (IpamStep::Done | IpamStep::Wait, ..) => {}
            (IpamStep::None(trouble), ..) => {
                self.write(attachment, trouble.written(attachment), None, run).await?
            }
            (IpamStep::Write(address), Some(subnet), _) => {
                let lock = held.iter().find(|held| held.key().address == address.address());
                // Fenced by the lock: an address whose lock was released meanwhile is not written.
                let fence = lock.and_then(|held| held.fence().ok());
                self.write(attachment, address.written(attachment, &subnet), fence, run).await?;
                self.inner.allocations.lock().served(&waiter);
                return Ok(Next::Done);
            }
            (IpamStep::Pick { vni, range }, Some(subnet), Some(subnet_key)) => {
                let from = AddressSource { subnet: &subnet, subnet_key: &subnet_key, vni, range };
                return self.pick(attachment, &from, run).await;
            }
            // These steps require a subnet.
            (IpamStep::Write(_) | IpamStep::Pick { .. }, ..) => {}
        }
        let woken = self.inner.allocations.lock().leave(&waiter);
        self.wake(woken).await;
        Ok(Next::Done)
    }
}

/// The subnet to allocate from.
struct AddressSource<'a> {
    subnet: &'a Subnet,
    subnet_key: &'a ObjectKey,
    vni: Vni,
    range: RangeInclusive<u32>,
}

impl Ipam {
    /// Allocates and locks an address, or queues the attachment.
    async fn pick(
        &self,
        attachment: &NetworkAttachment,
        from: &AddressSource<'_>,
        run: &Run,
    ) -> machinery::Result<Next> {
        let Inner { attachments, locks, allocations, tries, metrics, .. } = &*self.inner;
        let waiter = waiting(attachment);
        for _ in 0..*tries {
            let found = allocations.lock().allocate(
                from.subnet_key,
                &waiter,
                waiting_since(attachment),
                from.vni,
                &from.range,
            );
            let key = match found {
                Allocation::Free(key) => key,
                Allocation::Early => return Ok(Next::After(EARLY)),
                full => {
                    self.write(attachment, AddressFailure::Full.written(attachment), None, run).await?;
                    // The deletion event may precede the queueing: no other event would dequeue the
                    // waiter.
                    if attachments.get(&waiter.key).is_none_or(|now| uid_of(&now) != waiter.uid) {
                        let woken = allocations.lock().leave(&waiter);
                        self.wake(woken).await;
                    }
                    return Ok(if full == Allocation::Full {
                        Next::Done
                    } else {
                        Next::After(RETRY_UNQUEUED)
                    });
                }
            };
            let Some(held) = self.claim(attachment, &waiter, key, from.subnet_key).await? else { continue };
            // Before the status is written: the run after a failure has to see this lock as well.
            run.wrote(held.token(), locks.informer());
            allocations.lock().served(&waiter);
            metrics.locked(attachment, from.subnet);
            let address = locked_address(&self.owned(attachment, &held))
                .ok_or("the server created a lock without UID")?;
            let status = address.written(attachment, from.subnet);
            self.write(attachment, status, held.fence().ok(), run).await?;
            let text = format!("Assigned IPv4 address {}", address.address());
            let about = attachments.about(attachment);
            self.inner.recorder.note(Note::normal(about, "AddressAssigned", text));
            return Ok(Next::Done);
        }
        Err("all claims were lost to other controllers; it will be retried".into())
    }

    /// Releases a lock; a lock recreated by another owner stays.
    async fn release(&self, lock: &HeldLock<AddressKey>, run: &Run) -> Result<(), WriteError> {
        let only_if = Preconditions { uid: Some(lock.uid().clone()), ..Preconditions::default() };
        // Not `NameLocks::release`, which cannot carry the fence of the term.
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
        // Until the cache shows the deletion, the next run would decide on the lock again.
        run.wrote(&token, self.inner.locks.informer());
        Ok(())
    }

    /// Returns the lock named in the status if the cache does not show it yet. A deleted lock is
    /// recreated if its address is still free.
    async fn recover_lock(
        &self,
        attachment: &NetworkAttachment,
        subnet: Option<&Subnet>,
        held: &[HeldLock<AddressKey>],
    ) -> machinery::Result<Option<HeldLock<AddressKey>>> {
        let status = &attachment.status;
        let is_cached = held.iter().any(|held| held.uid().as_str() == status.lock_uid);
        let (Ok(vni), Ok(address)) = (Vni::new(status.address_vni), status.ipv4.parse()) else {
            return Ok(None);
        };
        let is_desired = attachment.metadata.deletion_timestamp.is_none()
            && subnet.is_some_and(|subnet| subnet.status.validated && holds(subnet, vni, address));
        if is_cached || !is_desired {
            return Ok(None);
        }
        match self.inner.locks.claim(attachment, &AddressKey { vni, address }).await? {
            Claim::Held(held) => Ok(Some(held)),
            Claim::Taken(_) => Ok(None),
        }
    }

    /// Claims an address. Returns `None` if another attachment holds it.
    async fn claim(
        &self,
        attachment: &NetworkAttachment,
        waiter: &Waiter,
        key: AddressKey,
        subnet: &ObjectKey,
    ) -> machinery::Result<Option<HeldLock<AddressKey>>> {
        let Inner { locks, allocations, metrics, .. } = &*self.inner;
        let since = Instant::now();
        let claims = ClaimGuard { inner: &self.inner, key, waiter };
        let claimed = locks.claim(attachment, &key).await;
        metrics.claimed(since, &claimed);
        // Under one guard, so that events delivered later are applied after the claim.
        let woken = {
            let mut allocations = allocations.lock();
            if let Ok(Claim::Held(held)) = &claimed {
                allocations.claim_succeeded(key, waiter, held.token());
                None
            } else {
                let is_taken = is_locked(&self.inner, &key, subnet);
                allocations.claim_ended(key, waiter, is_taken)
            }
        };
        std::mem::forget(claims); // the result is recorded
        self.inner.recheck.notify_one();
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
            // Deleted meanwhile; its event follows.
            Err(WriteError::NotFound) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn owned(&self, attachment: &NetworkAttachment, held: &HeldLock<AddressKey>) -> OwnedLock {
        let lock = self.inner.locks.informer().get(held.lock());
        OwnedLock {
            key: *held.key(),
            uid: held.uid().as_str().to_owned(),
            owner_uid: attachment.metadata.uid.clone().unwrap_or_default(),
            created: lock.and_then(|lock| lock.metadata.creation_timestamp.as_ref().map(|time| time.0)),
        }
    }
}

/// Ends a claim on drop, also if the run is cancelled: then the result is unknown and a sweep
/// checks it.
struct ClaimGuard<'a> {
    inner: &'a Inner,
    key: AddressKey,
    waiter: &'a Waiter,
}

impl Drop for ClaimGuard<'_> {
    fn drop(&mut self) {
        let _none = self.inner.allocations.lock().claim_ended(self.key, self.waiter, true);
        self.inner.recheck.notify_one();
    }
}

fn waiting(attachment: &NetworkAttachment) -> Waiter {
    Waiter { key: attachment.key(), uid: uid_of(attachment) }
}

/// Returns the time since when the attachment waits for a full subnet, if it does.
pub(super) fn waiting_since(attachment: &NetworkAttachment) -> Option<Timestamp> {
    let is_confirmed = attachment.status.errors.ipam == [AddressFailure::Full.to_string()];
    is_confirmed.then(|| attachment.extended_metadata.written(Section::Address)).flatten()
}

/// Returns the key of the attachment's subnet.
pub(super) fn subnet_of(attachment: &NetworkAttachment) -> Option<ObjectKey> {
    ObjectKey::new(attachment.metadata.namespace.as_deref(), &attachment.spec.subnet).ok()
}

/// Returns the attachments of a subnet once its validation has a result.
fn waiting_for(
    attachments: &Objects<NetworkAttachment>,
    by_subnet: &Index<ObjectKey>,
    event: &Event<Arc<Subnet>>,
) -> Vec<ObjectKey> {
    let subnet = event.object();
    let exists = matches!(event, Event::Added { .. } | Event::Updated { .. });
    if exists && !subnet.status.validated && subnet.status.errors.is_empty() {
        return Vec::new(); // the result of validation follows
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
