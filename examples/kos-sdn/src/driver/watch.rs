//! What becomes of the attachments of a load, as they tell it.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery::objects::ObjectKey;
use machinery::tokio::time::Instant;

use crate::metrics::DriverRun;
use crate::model::{Cidr, IPLock, NetworkAttachment};
use crate::plan::{AddressKey, Record, place_of};

/// What is known of all of them.
pub(super) struct Watched {
    metrics: DriverRun,
    live: BTreeMap<ObjectKey, Live>,
    pub(super) records: Vec<Record>,
    having: BTreeMap<AddressKey, ObjectKey>,
    /// The locks, by the UID of their owners: they may be told of before or after these.
    locks: BTreeMap<String, Arc<IPLock>>,
    /// So many addresses were had by two at once, as they told it.
    pub(super) shared: usize,
}

/// One that is there.
pub(super) struct Live {
    pub(super) began: Instant,
    pub(super) deleted: Option<Instant>,
    pub(super) record: Record,
    block: Cidr,
    now: Option<Arc<NetworkAttachment>>,
}

/// What was just heard of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    Nothing,
    /// It has its interface.
    Ready,
    /// It says that something is wrong.
    Broken,
    /// It is gone.
    Gone,
}

const FULL: &str = "Referenced subnet has run out of IPs";

impl Watched {
    pub(super) const fn new(metrics: DriverRun) -> Self {
        Self {
            metrics,
            live: BTreeMap::new(),
            records: Vec::new(),
            having: BTreeMap::new(),
            locks: BTreeMap::new(),
            shared: 0,
        }
    }

    /// One is about to be made.
    pub(super) fn begins(&mut self, key: ObjectKey, vni: u32, node: &str, block: Cidr) {
        let record =
            Record { attachment: key.to_string(), vni, node: node.into(), easy: true, ..Record::default() };
        let live = Live { began: Instant::now(), deleted: None, record, block, now: None };
        self.live.insert(key, live);
    }

    pub(super) fn live(&mut self, key: &ObjectKey) -> Option<&mut Live> {
        self.live.get_mut(key)
    }

    pub(super) fn count(&self) -> usize {
        self.live.len()
    }

    /// A lock was made.
    pub(super) fn locked(&mut self, lock: &Arc<IPLock>) {
        if let Some(owner) = lock.metadata.owner_references.iter().flatten().next() {
            self.locks.insert(owner.uid.clone(), lock.clone());
        }
    }

    /// One is this now. What all have is read of one moment: what is told of two is not in the order in which it happened.
    pub(super) fn is(
        &mut self,
        key: &ObjectKey,
        now: &Arc<NetworkAttachment>,
        has: impl Fn(&ObjectKey) -> Option<AddressKey>,
    ) -> News {
        let Some(live) = self.live.get_mut(key) else { return News::Nothing };
        let before = live.now.replace(now.clone()).map(|before| before.status.clone()).unwrap_or_default();
        let (status, took) = (&now.status, live.began.elapsed().as_secs_f64());
        let lock = now.metadata.uid.as_ref().and_then(|uid| self.locks.get(uid));
        live.record.says(now, lock.map(|lock| &**lock));
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
        if let Some(place) = place_of(now) {
            let [first, second] = [live.block.usable().start(), live.block.usable().end()].map(|of| *of);
            if !(first..=second).contains(&u32::from(place.address)) {
                wrong.push(format!("{} is not of its subnet", place.address));
            }
            if !before.ipv4.is_empty() && before.ipv4 != status.ipv4 {
                wrong.push(format!("its address changed from {} to {}", before.ipv4, status.ipv4));
            }
            let before = self.having.insert(place, key.clone()).filter(|other| other != key);
            let both = |other: &ObjectKey| has(key) == Some(place) && has(other) == Some(place);
            if let Some(other) = before.filter(both) {
                self.shared += 1;
                wrong.push(format!("{} is had by {other}, too", place.address));
            }
        }
        wrong.retain(|what| !live.record.wrong.contains(what));
        let is_broken = !wrong.is_empty();
        if is_broken {
            self.metrics.broken(took);
        }
        live.record.wrong.extend(wrong);
        match (is_broken, is_ready) {
            (true, _) => News::Broken,
            (false, true) => News::Ready,
            (false, false) => News::Nothing,
        }
    }

    /// One is there no more.
    pub(super) fn gone(&mut self, key: &ObjectKey) -> News {
        let Some(mut live) = self.live.remove(key) else { return News::Nothing };
        if let Some(deleted) = live.deleted {
            live.record.client.insert("gone".into(), deleted.elapsed().as_secs_f64());
        }
        self.ends(live);
        News::Gone
    }

    /// Who was deleted and is not there, and of whom it was never told: of what comes and goes between two looks nothing is.
    pub(super) fn sweep(&mut self, is_there: impl Fn(&ObjectKey) -> bool) {
        let is_gone =
            |(key, live): &(&ObjectKey, &Live)| live.record.client.contains_key("delete") && !is_there(key);
        let gone: Vec<ObjectKey> = self.live.iter().filter(is_gone).map(|(key, _)| key.clone()).collect();
        for key in gone {
            self.gone(&key);
        }
    }

    /// What is there still is kept, as far as it came.
    pub(super) fn end(&mut self) {
        for live in std::mem::take(&mut self.live).into_values() {
            self.ends(live);
        }
    }

    fn ends(&mut self, mut live: Live) {
        if let Some(now) = &live.now {
            let lock = now.metadata.uid.as_ref().and_then(|uid| self.locks.remove(uid));
            live.record.says(now, lock.as_deref());
            if let Some(place) = place_of(now)
                && self.having.get(&place).is_some_and(|who| who.to_string() == live.record.attachment)
            {
                self.having.remove(&place);
            }
        }
        self.records.push(live.record);
    }
}
