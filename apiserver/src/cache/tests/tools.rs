//! Fixtures: kinds and caches.

use std::sync::Arc;

use machinery_store::{Backend, Watch};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::super::ring::RingLimits;
use crate::cache::WatchCache;
use crate::crd;
use crate::kind::{Kind, KindNames};
use crate::metrics::SelectionCounters;
use crate::storage::{Objects, Place, encode};

/// A namespaced kind with two selectable fields.
pub(super) fn kind() -> Arc<Kind> {
    let field = json!({"type": "string"});
    let definition = json!({"spec": {
        "group": "example.com", "scope": "Namespaced",
        "versions": [{
            "name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {"type": "object", "properties": {"color": field, "size": field}}},
            }},
            "selectableFields": [{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.size"}],
        }],
    }});
    let names = KindNames { kind: "Widget".into(), plural: "widgets".into(), ..KindNames::default() };
    let made = crd::kinds(&definition, &names, &Default::default());
    made.stored.expect("it is stored")
}

/// A kind that covers all keys.
pub(super) fn kind_of_everything() -> Arc<Kind> {
    let mut kind = Arc::into_inner(kind()).expect("nobody else has it");
    kind.place = Place::everywhere();
    kind.selectable.clear();
    Arc::new(kind)
}

pub(super) fn stored(kind: &Kind, object: &Value) -> Vec<u8> {
    encode(object.as_object().expect("an object"), kind.print)
}

/// A cache with its task, which stops with this value.
pub(super) struct Running {
    pub(super) cache: Arc<WatchCache>,
    stopping: CancellationToken,
    tasks: TaskTracker,
}

impl Running {
    pub(super) async fn begin(backend: Arc<dyn Backend>, kind: Arc<Kind>, revisions: usize) -> Self {
        let limits = RingLimits { revisions, bytes: 1 << 20 }.into();
        let loaded = WatchCache::load(
            (kind, Vec::new()),
            Objects::new(backend),
            limits,
            7,
            SelectionCounters::default(),
        )
        .await;
        let (cache, watch): (Arc<WatchCache>, Watch) =
            loaded.unwrap_or_else(|refusal| panic!("{}", refusal.message));
        let (stopping, tasks) = (CancellationToken::new(), TaskTracker::new());
        let (fed, stopped) = (cache.clone(), stopping.clone());
        tasks.spawn(async move { fed.run(watch, &stopped).await });
        Self { cache, stopping, tasks }
    }

    pub(super) async fn stop(self) {
        self.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}
