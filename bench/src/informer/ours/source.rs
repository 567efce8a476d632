//! An in-process source: initial pods, and a watch from a given stream.

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use k8s_openapi::api::core::v1::Pod;
use machinery_objects::{
    Capabilities, Continue, ListError, ListRequest, ListWatch, Page, Revision, SourceError, WatchError,
    WatchEvent, WatchRequest, WatchStream,
};
use machinery_sync::Mutex;
use std::sync::Arc;

pub(crate) type Changes = BoxStream<'static, Arc<Pod>>;

pub(crate) struct Source {
    there: Vec<Arc<Pod>>,
    changes: Mutex<Option<Changes>>,
}

impl Source {
    /// `changes` are yielded once.
    pub(crate) fn new(there: Vec<Arc<Pod>>, changes: Changes) -> Arc<Self> {
        Arc::new(Self { there, changes: Mutex::new(Some(changes)) })
    }
}

#[async_trait]
impl ListWatch<Arc<Pod>> for Source {
    /// Pods return to earlier versions, so versions are unordered.
    fn capabilities(&self) -> Capabilities {
        Capabilities::LEAST
    }

    async fn list(&self, request: ListRequest) -> Result<Page<Arc<Pod>>, ListError> {
        let from = request.rest.and_then(|rest| rest.as_str().parse().ok()).unwrap_or(0);
        let limit = request.limit.map_or(self.there.len(), |limit| limit.get() as usize);
        let to = self.there.len().min(from + limit);
        Ok(Page {
            items: self.there[from..to].to_vec(),
            unreadable: vec![],
            version: Revision(1).into(),
            rest: if to < self.there.len() { Continue::new(&to.to_string()) } else { None },
            remaining: None,
        })
    }

    async fn watch(&self, _: WatchRequest) -> Result<WatchStream<Arc<Pod>>, WatchError> {
        let changes = self.changes.lock().take();
        let changes = changes.ok_or(SourceError::Unsupported { what: "watch twice" })?;
        Ok(Box::pin(changes.map(|pod| Ok(WatchEvent::Modified(pod)))))
    }
}
