//! Tracking of the attachments of a load, by their events.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery::objects::ObjectKey;
use machinery::tokio::time::Instant;

use super::record::AttachmentRecord;
use crate::metrics::LoadRunMetrics;
use crate::model::{Cidr, IPLock, NetworkAttachment};
use crate::plan::{AddressKey, address_key};

/// The tracked attachments.
pub(super) struct AttachmentTracker {
    metrics: LoadRunMetrics,
    live: BTreeMap<ObjectKey, LiveAttachment>,
    pub(super) records: Vec<AttachmentRecord>,
    holders: BTreeMap<AddressKey, ObjectKey>,
    /// Locks by the UID of their owner: their events may precede or follow those of the owner.
    locks: BTreeMap<String, Arc<IPLock>>,
    /// Number of addresses that two attachments held at once, by their statuses.
    pub(super) shared: usize,
}

/// An existing attachment.
pub(super) struct LiveAttachment {
    pub(super) began: Instant,
    pub(super) deleted: Option<Instant>,
    pub(super) record: AttachmentRecord,
    block: Cidr,
    now: Option<Arc<NetworkAttachment>>,
}

/// The change that an event made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrackedChange {
    Nothing,
    /// The attachment has its interface.
    Ready,
    /// The attachment reported an error.
    Broken,
    /// The attachment was deleted.
    Gone,
}

const FULL: &str = "Referenced subnet has run out of IPs";

impl AttachmentTracker {
    pub(super) const fn new(metrics: LoadRunMetrics) -> Self {
        Self {
            metrics,
            live: BTreeMap::new(),
            records: Vec::new(),
            holders: BTreeMap::new(),
            locks: BTreeMap::new(),
            shared: 0,
        }
    }

    /// Starts tracking an attachment before its creation.
    pub(super) fn begin(&mut self, key: ObjectKey, vni: u32, node: &str, block: Cidr) {
        let record = AttachmentRecord {
            attachment: key.to_string(),
            vni,
            node: node.into(),
            easy: true,
            ..AttachmentRecord::default()
        };
        let live = LiveAttachment { began: Instant::now(), deleted: None, record, block, now: None };
        self.live.insert(key, live);
    }

    pub(super) fn live(&mut self, key: &ObjectKey) -> Option<&mut LiveAttachment> {
        self.live.get_mut(key)
    }

    pub(super) fn count(&self) -> usize {
        self.live.len()
    }

    /// Records a lock.
    pub(super) fn locked(&mut self, lock: &Arc<IPLock>) {
        if let Some(owner) = lock.metadata.owner_references.iter().flatten().next() {
            self.locks.insert(owner.uid.clone(), lock.clone());
        }
    }

    /// Records a state of an attachment. `has` reads addresses from one snapshot: the events of two
    /// attachments are not ordered.
    pub(super) fn update(
        &mut self,
        key: &ObjectKey,
        now: &Arc<NetworkAttachment>,
        has: impl Fn(&ObjectKey) -> Option<AddressKey>,
    ) -> TrackedChange {
        let Some(live) = self.live.get_mut(key) else { return TrackedChange::Nothing };
        let before = live.now.replace(now.clone()).map(|before| before.status.clone()).unwrap_or_default();
        let (status, took) = (&now.status, live.began.elapsed().as_secs_f64());
        let lock = now.metadata.uid.as_ref().and_then(|uid| self.locks.get(uid));
        live.record.record_times(now, lock.map(|lock| &**lock));
        let mut seen = |step: &str| {
            live.record.client.entry(step.into()).or_insert(took);
        };
        let easy = !status.address_contention;
        if before.ipv4.is_empty() && !status.ipv4.is_empty() {
            seen("addressed");
            self.metrics.addressed(took, easy);
        }
        let is_ready = before.ifc_name.is_empty() && !status.ifc_name.is_empty();
        if is_ready {
            seen("ready");
            self.metrics.ready(took, easy);
        }
        let mut wrong: Vec<String> = status
            .errors
            .ipam
            .iter()
            .filter(|error| *error != FULL)
            .chain(&status.errors.host)
            .cloned()
            .collect();
        if let Some(place) = address_key(now) {
            let [first, second] = [live.block.usable().start(), live.block.usable().end()].map(|of| *of);
            if !(first..=second).contains(&u32::from(place.address)) {
                wrong.push(format!("{} is outside its subnet", place.address));
            }
            if !before.ipv4.is_empty() && before.ipv4 != status.ipv4 {
                wrong.push(format!("its address changed from {} to {}", before.ipv4, status.ipv4));
            }
            let before = self.holders.insert(place, key.clone()).filter(|other| other != key);
            let both = |other: &ObjectKey| has(key) == Some(place) && has(other) == Some(place);
            if let Some(other) = before.filter(both) {
                self.shared += 1;
                wrong.push(format!("{} is also held by {other}", place.address));
            }
        }
        wrong.retain(|what| !live.record.wrong.contains(what));
        let is_broken = !wrong.is_empty();
        if is_broken {
            self.metrics.broken(took);
        }
        live.record.wrong.extend(wrong);
        match (is_broken, is_ready) {
            (true, _) => TrackedChange::Broken,
            (false, true) => TrackedChange::Ready,
            (false, false) => TrackedChange::Nothing,
        }
    }

    /// Records the deletion of an attachment.
    pub(super) fn gone(&mut self, key: &ObjectKey) -> TrackedChange {
        let Some(mut live) = self.live.remove(key) else { return TrackedChange::Nothing };
        if let Some(deleted) = live.deleted {
            live.record.client.insert("gone".into(), deleted.elapsed().as_secs_f64());
        }
        self.finish(live);
        TrackedChange::Gone
    }

    /// Records deletions without an event: the informer reports nothing for an object created and
    /// deleted between two deliveries.
    pub(super) fn sweep(&mut self, exists: impl Fn(&ObjectKey) -> bool) {
        let is_gone = |(key, live): &(&ObjectKey, &LiveAttachment)| {
            live.record.client.contains_key("delete") && !exists(key)
        };
        let gone: Vec<ObjectKey> = self.live.iter().filter(is_gone).map(|(key, _)| key.clone()).collect();
        for key in gone {
            self.gone(&key);
        }
    }

    /// Keeps the records of attachments that still exist.
    pub(super) fn finish_all(&mut self) {
        for live in std::mem::take(&mut self.live).into_values() {
            self.finish(live);
        }
    }

    fn finish(&mut self, mut live: LiveAttachment) {
        if let Some(now) = &live.now {
            let lock = now.metadata.uid.as_ref().and_then(|uid| self.locks.remove(uid));
            live.record.record_times(now, lock.as_deref());
            if let Some(place) = address_key(now)
                && self.holders.get(&place).is_some_and(|holder| holder.to_string() == live.record.attachment)
            {
                self.holders.remove(&place);
            }
        }
        self.records.push(live.record);
    }
}
