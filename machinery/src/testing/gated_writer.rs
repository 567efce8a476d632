//! A writer of objects behind a crash gate.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use machinery_objects::{
    Deleted, Deletion, Fence, Kind, Object, ObjectKey, Patch, Preconditions, WriteError, Writer,
    WriterCapabilities, Written,
};

use super::crash_gate::CrashGate;

impl CrashGate {
    /// Returns a writer each of whose writes is an effect. A [plane](crate::Plane) behind the gate
    /// has such writers.
    pub fn writer<O: Object>(
        self: &Arc<Self>,
        kind: &Kind,
        writer: Arc<dyn Writer<O>>,
    ) -> Arc<dyn Writer<O>> {
        Arc::new(GatedWriter { writer, gate: self.clone(), resource: Some(kind.plural().into()) })
    }

    /// Returns a writer whose writes are not counted, and end with the crash: of Leases and Events,
    /// whose number depends on time.
    pub fn uncounted_writer<O: Object>(self: &Arc<Self>, writer: Arc<dyn Writer<O>>) -> Arc<dyn Writer<O>> {
        Arc::new(GatedWriter { writer, gate: self.clone(), resource: None })
    }
}

struct GatedWriter<O> {
    writer: Arc<dyn Writer<O>>,
    gate: Arc<CrashGate>,
    /// The plural name in the names of effects. `None`: writes are not counted.
    resource: Option<String>,
}

impl<O> GatedWriter<O> {
    async fn pass<T>(&self, verb: &str, key: impl fmt::Display, write: impl Future<Output = T> + Send) -> T {
        match &self.resource {
            Some(resource) => self.gate.pass(format!("{verb} {resource} {key}"), write).await,
            None => self.gate.pass_uncounted(write).await,
        }
    }
}

#[async_trait]
impl<O: Object> Writer<O> for GatedWriter<O> {
    fn capabilities(&self) -> WriterCapabilities {
        self.writer.capabilities()
    }

    async fn create(&self, object: &O, fence: Option<&Fence>) -> Result<Written<O>, WriteError> {
        self.pass("create", object.key(), self.writer.create(object, fence)).await
    }

    async fn update(&self, object: &O, only_if: &Preconditions) -> Result<Written<O>, WriteError> {
        self.pass("update", object.key(), self.writer.update(object, only_if)).await
    }

    async fn update_status(&self, object: &O, only_if: &Preconditions) -> Result<Written<O>, WriteError> {
        self.pass("update status of", object.key(), self.writer.update_status(object, only_if)).await
    }

    async fn delete(&self, key: &ObjectKey, deletion: &Deletion) -> Result<Deleted<O>, WriteError> {
        self.pass("delete", key, self.writer.delete(key, deletion)).await
    }

    async fn patch(
        &self,
        key: &ObjectKey,
        patch: &Patch,
        only_if: &Preconditions,
    ) -> Result<Written<O>, WriteError> {
        let verb = if patch.status { "patch status of" } else { "patch" };
        self.pass(verb, key, self.writer.patch(key, patch, only_if)).await
    }
}
