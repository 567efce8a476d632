//! The IPAM controller: assigns addresses to attachments.

use std::sync::Arc;

use jiff::Timestamp;
use machinery::controllers::{
    Allocation, AllocationRequest, Allocator, AllocatorSettings, Awaiting, HeldLock, Note, Recorder,
    SilenceDetector, Term,
};
use machinery::informers::Index;
use machinery::objects::{Event, Fence, Object as _, ObjectKey, Preconditions, Uid, WriteError};
use machinery::tokio::time::{Duration, Instant};
use machinery::{Next, Objects, Plane, PlaneController, Reconcile, Run};

use super::run::{ControllerSettings, with_workers};
use crate::metrics::IpamMetrics;
use crate::model::{
    AttachmentStatus, Cidr, IPAM_FIELDS, IPLock, LockSpec, NetworkAttachment, SILENCE_FIELDS, Subnet,
};
use crate::plan::{
    AddressFailure, AddressKey, address_pool, assigned, is_on_interface, is_unanswered, recorded_address,
    subnet_pool, unanswered, waiting_since,
};

/// Retry delay of attachments beyond the limit of the wait queues.
const RETRY_UNQUEUED: Duration = Duration::from_secs(10);

/// The IPAM controller. Cheap to clone.
#[derive(Clone)]
pub struct Ipam {
    pub(super) inner: Arc<Inner>,
    allocator: Allocator<AddressKey, IPLock>,
    /// Fence of the leader's term for all writes.
    term: Option<Fence>,
}

pub(super) struct Inner {
    pub(super) attachments: Objects<NetworkAttachment>,
    subnets: Objects<Subnet>,
    recorder: Recorder,
    nodes: SilenceDetector<NetworkAttachment, String>,
    metrics: IpamMetrics,
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
        let (named, metrics) = (subnets.clone(), settings.metrics.ipam.clone());
        let locks = plane.name_locks::<NetworkAttachment, AddressKey, IPLock>(move |key| IPLock {
            spec: LockSpec { subnet_name: subnet_with(&named, &by_vni, *key) },
            ..IPLock::default()
        })?;
        let mut allocations = AllocatorSettings::new(Timestamp::now);
        (allocations.waiters, allocations.attempts) = (settings.waiters, settings.tries);
        allocations.seed = settings.seed;
        let calls = metrics.clone();
        allocations.observer = Arc::new(move |call| calls.lock_call(call));
        let (inner, recorder) = (attachments.clone(), recorder.clone());
        let inner = Inner { attachments: inner, subnets, recorder, nodes: nodes.clone(), metrics };
        let ipam =
            Ipam { inner: Arc::new(inner), allocator: Allocator::new(&locks, allocations), term: None };
        let waiting = ipam.inner.clone();
        let waiting = move |attachment: &NetworkAttachment| {
            let since = waiting_since(attachment)?;
            Some((subnet_pool(&*waiting.subnets.get(&subnet_of(attachment)?)?)?, since))
        };
        let controller = plane
            .controller::<NetworkAttachment>("ipam")?
            .allocating(&ipam.allocator, waiting)?
            .watching::<Subnet, _>(move |event| waiting_for(&attachments, &by_subnet, event))?
            .on_silence(&nodes, |change| change.overdue)
            .settings(with_workers(settings.ipam_workers));
        Ok(Self { controller, reconcile: ipam })
    }
}

impl Ipam {
    /// Returns this controller fenced by a term, if the server supports fences.
    pub(super) fn in_term(&self, term: &Term) -> Self {
        let term = self.inner.attachments.has_fences().then(|| term.fence().clone());
        Self { inner: self.inner.clone(), allocator: self.allocator.in_term(term.as_ref()), term }
    }
}

impl Reconcile<Arc<NetworkAttachment>> for Ipam {
    type Error = machinery::Error;

    async fn reconcile(&self, attachment: &Arc<NetworkAttachment>, run: &Run) -> machinery::Result<Next> {
        let Inner { attachments, subnets, recorder, metrics, .. } = &*self.inner;
        let subnet = subnet_of(attachment).and_then(|key| subnets.get(&key));
        let pool = match address_pool(attachment, subnet.as_deref()) {
            _ if attachment.is_deleting() => None,
            Ok(pool) => pool,
            Err(trouble) => {
                self.allocator.leave(&**attachment);
                self.write(attachment, trouble.written(attachment), None, run).await?;
                return Ok(Next::Done);
            }
        };
        let (Some(pool), Some(subnet)) = (pool, subnet) else {
            self.allocator.leave(&**attachment);
            return Ok(Next::Done);
        };
        let lock_uid = Uid::new(&attachment.status.lock_uid);
        let request = AllocationRequest::of(&pool)
            .recorded_under(recorded_address(attachment), lock_uid)
            .in_use(|key| is_on_interface(attachment, *key));
        let allocation = self.allocator.allocate(&**attachment, &request, run).await?;
        match &allocation {
            Allocation::New(lock) | Allocation::Held(lock) => {
                let is_new = matches!(allocation, Allocation::New(_));
                if is_new {
                    metrics.locked(attachment, &subnet);
                }
                self.write(attachment, self.with_address(attachment, &subnet, lock), Some(lock), run).await?;
                if is_new {
                    let text = format!("Assigned IPv4 address {}", lock.key().address);
                    recorder.note(Note::normal(attachments.about(attachment), "AddressAssigned", text));
                }
            }
            Allocation::Full(waiter) => {
                self.write(attachment, AddressFailure::Full.written(attachment), None, run).await?;
                return Ok(if waiter.is_queued { Next::Done } else { Next::After(RETRY_UNQUEUED) });
            }
            Allocation::Deleting => {}
        }
        Ok(Next::Done)
    }
}

impl Ipam {
    fn with_address(
        &self,
        attachment: &NetworkAttachment,
        subnet: &Subnet,
        lock: &HeldLock<AddressKey>,
    ) -> AttachmentStatus {
        let status = assigned(attachment, subnet, *lock.key(), lock.uid());
        let is_complete = status == attachment.status;
        if is_complete && is_unanswered(attachment) && self.inner.nodes.is_overdue(attachment) {
            return unanswered(attachment);
        }
        status
    }

    /// Writes a status, if it differs. Fenced by the lock: an address whose lock was released
    /// meanwhile is not written.
    async fn write(
        &self,
        attachment: &NetworkAttachment,
        status: AttachmentStatus,
        lock: Option<&HeldLock<AddressKey>>,
        run: &Run,
    ) -> Result<(), WriteError> {
        if status == attachment.status {
            return Ok(());
        }
        let fence = lock.and_then(|lock| lock.fence().ok());
        let attachments = self.inner.attachments.clone();
        let attachments =
            fence.iter().chain(&self.term).fold(attachments, |objects, fence| objects.fenced(fence));
        let (since, has_errors) = (Instant::now(), !status.errors.ipam.is_empty());
        let mut says = NetworkAttachment { status, ..attachment.clone() };
        let status = &mut says.status;
        let fields = if status.errors.host == attachment.status.errors.host {
            status.conditions.set(status.address_assigned(), &attachment.metadata, Timestamp::now());
            IPAM_FIELDS
        } else {
            status.conditions.set(status.ready(), &attachment.metadata, Timestamp::now());
            SILENCE_FIELDS
        };
        let (writer, none) = (attachments.writer(), Preconditions::default());
        let written = match &self.term {
            Some(_) => fields.apply(&*writer, attachment, &says, &none).await,
            // Another controller may write the same fields.
            None => fields.apply_if_unchanged(&*writer, attachment, &says, &none).await,
        };
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
}

/// Returns the key of the attachment's subnet.
fn subnet_of(attachment: &NetworkAttachment) -> Option<ObjectKey> {
    ObjectKey::new(attachment.metadata.namespace.as_deref(), &attachment.spec.subnet).ok()
}

/// Returns the attachments of a subnet once its validation has a result.
fn waiting_for(
    attachments: &Objects<NetworkAttachment>,
    by_subnet: &Index<ObjectKey>,
    event: &Event<Arc<Subnet>>,
) -> Vec<ObjectKey> {
    let subnet = event.object();
    if event.is_present() && !subnet.status.validated && subnet.status.errors.is_empty() {
        return Vec::new(); // the result of validation follows
    }
    let key = machinery::objects::Object::key(&**subnet);
    attachments.read().by(by_subnet, &key).map(|(attachment, _)| attachment.clone()).collect()
}

/// Returns the name of the subnet that contains an address; subnets of a network are disjoint.
fn subnet_with(subnets: &Objects<Subnet>, by_vni: &Index<u32>, key: AddressKey) -> String {
    let subnets = subnets.read();
    let contains =
        |subnet: &Subnet| subnet.spec.ipv4.parse::<Cidr>().is_ok_and(|block| block.contains(key.address));
    let mut of_vni = subnets.by(by_vni, &key.vni.number());
    of_vni.find(|(_, subnet)| contains(subnet)).map(|(key, _)| key.name().to_owned()).unwrap_or_default()
}
