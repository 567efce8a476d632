//! The fights of a controller: the detector behind a lock, and its reports.

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use machinery_informers::InformerId;
use machinery_objects::ObjectKey;
use machinery_sync::Mutex;
use tokio::time::Instant;

pub(crate) use super::detector::Side;
use super::detector::{Fight, FightDetector, FightVerdict};
use super::fields::ChangedFields;

/// A write fight: this controller and somebody else undo each other's change of a field.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WriteFight {
    /// The name of the controller.
    pub controller: Arc<str>,
    /// The informer of the object.
    pub informer: InformerId,
    /// The object.
    pub object: ObjectKey,
    /// The path of the field, such as `status.address`.
    pub field: String,
    /// The field manager of the other writer, if the informer caches managed fields.
    pub manager: Option<String>,
    /// How often per second the controller's value is undone.
    pub per_second: f64,
    /// The present delay of the controller's next run for the object.
    pub delay: Duration,
}

/// Called when a fight begins.
pub(crate) type FightHook = Arc<dyn Fn(&WriteFight) + Send + Sync>;

/// The fights of a controller, kept across its restarts.
pub(crate) struct SharedFights<K> {
    controller: Arc<str>,
    detector: Mutex<FightDetector<(K, InformerId)>>,
    /// Without a write nothing has to be looked up.
    in_use: AtomicBool,
    began: AtomicU64,
    hook: Option<FightHook>,
}

impl<K: Hash + Eq + Clone> SharedFights<K> {
    pub(crate) fn new(controller: &Arc<str>, hook: Option<FightHook>, seed: u64) -> Self {
        Self {
            controller: controller.clone(),
            detector: Mutex::new(FightDetector::new(seed)),
            in_use: AtomicBool::new(false),
            began: AtomicU64::new(0),
            hook,
        }
    }

    /// Returns whether a run has written anything.
    pub(crate) fn is_in_use(&self) -> bool {
        self.in_use.load(Relaxed)
    }

    /// Returns whether the fields of a change of this object are needed.
    pub(crate) fn is_suspect(&self, key: &K, informer: InformerId, object: &ObjectKey) -> bool {
        let key = (key.clone(), informer);
        self.detector.lock().is_suspect(&key, object)
    }

    /// Records a change of an object. Returns the time by which the next run is delayed.
    pub(crate) fn record(
        &self,
        key: &K,
        informer: InformerId,
        object: &ObjectKey,
        side: Side,
        fields: Option<&ChangedFields>,
    ) -> Duration {
        self.in_use.store(true, Relaxed);
        let key = (key.clone(), informer);
        let recorded = self.detector.lock().record(Instant::now(), (&key, object), side, fields);
        let FightVerdict { began, delay } = recorded;
        if let Some(fight) = began {
            self.report(&self.describe(informer, object.clone(), fight));
        }
        delay
    }

    fn report(&self, fight: &WriteFight) {
        self.began.fetch_add(1, Relaxed);
        tracing::warn!(
            controller = %fight.controller, object = %fight.object, field = %fight.field,
            manager = fight.manager.as_deref().unwrap_or("unknown"), per_second = fight.per_second,
            "another writer undoes this controller's writes of a field, which are slowed: let one of the two write it"
        );
        if let Some(hook) = &self.hook {
            hook(fight);
        }
    }

    fn describe(&self, informer: InformerId, object: ObjectKey, fight: Fight) -> WriteFight {
        let per_second = fight.rate();
        let Fight { field, manager, delay, .. } = fight;
        WriteFight {
            controller: self.controller.clone(),
            informer,
            object,
            field,
            manager,
            per_second,
            delay,
        }
    }

    /// Returns the number of fights that have begun.
    #[cfg(feature = "prometheus")]
    pub(crate) fn began(&self) -> u64 {
        self.began.load(Relaxed)
    }

    /// Returns the fights that are going on, with the keys of their runs.
    pub(crate) fn going_on(&self) -> Vec<(K, WriteFight)> {
        if !self.is_in_use() {
            return Vec::new();
        }
        let fights = self.detector.lock().fights(Instant::now());
        let described = fights
            .into_iter()
            .map(|((key, informer), object, fight)| (key, self.describe(informer, object, fight)));
        described.collect()
    }
}
