//! The gate that all effects of a controller pass, and that crashes it.

use async_trait::async_trait;
use machinery::objects::{
    Deleted, Deletion, Fence, ObjectKey, Patch, Preconditions, WriteError, Writer, WriterCapabilities,
    Written,
};
use machinery::tokio::sync::SetOnce;
use machinery_sync::Mutex;
use std::collections::BTreeMap;
use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CrashPoint {
    Before,
    After,
}

/// Counts effects, and blocks all from the crash on.
#[derive(Default)]
pub(crate) struct Gate {
    effects: AtomicUsize,
    crash_at: Option<(usize, CrashPoint)>,
    pub(crate) crashed: SetOnce<()>,
}

impl Gate {
    pub(crate) fn crashing(at: (usize, CrashPoint)) -> Arc<Self> {
        Arc::new(Self { crash_at: Some(at), ..Self::default() })
    }

    pub(crate) fn effects(&self) -> usize {
        self.effects.load(SeqCst)
    }

    pub(crate) async fn pass<T>(&self, effect: impl Future<Output = T> + Send) -> T {
        if self.crashed.get().is_some() {
            return pending().await;
        }
        let nth = self.effects.fetch_add(1, SeqCst) + 1;
        if self.crash_at == Some((nth, CrashPoint::Before)) {
            return self.crash().await;
        }
        let done = effect.await;
        if self.crash_at == Some((nth, CrashPoint::After)) {
            return self.crash().await;
        }
        done
    }

    async fn crash<T>(&self) -> T {
        let _ = self.crashed.set(());
        pending().await
    }
}

/// The external effect: names of hosts, as a switch would know them.
#[derive(Default)]
pub(crate) struct Outside(Mutex<BTreeMap<String, String>>);

impl Outside {
    pub(crate) fn get(&self, who: &str) -> Option<String> {
        self.0.lock().get(who).cloned()
    }

    pub(crate) fn all(&self) -> BTreeMap<String, String> {
        self.0.lock().clone()
    }

    /// Sets or removes a name; an unchanged one is no effect.
    pub(crate) async fn set(&self, gate: &Gate, who: &str, what: Option<&str>) {
        if self.get(who).as_deref() == what {
            return;
        }
        gate.pass(async {
            let mut all = self.0.lock();
            match what {
                Some(what) => all.insert(who.into(), what.into()),
                None => all.remove(who),
            }
        })
        .await;
    }
}

pub(crate) struct GatedWriter<K> {
    pub(crate) inner: Arc<dyn Writer<K>>,
    pub(crate) gate: Arc<Gate>,
}

#[async_trait]
impl<K: Send + Sync + 'static> Writer<K> for GatedWriter<K> {
    fn capabilities(&self) -> WriterCapabilities {
        self.inner.capabilities()
    }

    async fn create(&self, object: &K, fence: Option<&Fence>) -> Result<Written<K>, WriteError> {
        self.gate.pass(self.inner.create(object, fence)).await
    }

    async fn update(&self, object: &K, only_if: &Preconditions) -> Result<Written<K>, WriteError> {
        self.gate.pass(self.inner.update(object, only_if)).await
    }

    async fn update_status(&self, object: &K, only_if: &Preconditions) -> Result<Written<K>, WriteError> {
        self.gate.pass(self.inner.update_status(object, only_if)).await
    }

    async fn delete(&self, key: &ObjectKey, deletion: &Deletion) -> Result<Deleted<K>, WriteError> {
        self.gate.pass(self.inner.delete(key, deletion)).await
    }

    async fn patch(
        &self,
        key: &ObjectKey,
        patch: &Patch,
        only_if: &Preconditions,
    ) -> Result<Written<K>, WriteError> {
        self.gate.pass(self.inner.patch(key, patch, only_if)).await
    }
}
