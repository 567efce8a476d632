//! A source in the process: pods that are there, and a watch that somebody else makes.

use crate::informer::pods::pods;
use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use k8s_openapi::api::core::v1::Pod;
use machinery_objects::{
    Capabilities, Continue, ListError, ListRequest, ListWatch, Page, Revision, SourceError, WatchError,
    WatchEvent, WatchRequest, WatchStream,
};
use machinery_sync::Mutex;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub(super) type Changes = BoxStream<'static, Arc<Pod>>;

pub(super) struct Source {
    there: Vec<Arc<Pod>>,
    changes: Mutex<Option<Changes>>,
}

impl Source {
    /// `changes` are told once.
    pub(super) fn new(there: Vec<Arc<Pod>>, changes: Changes) -> Arc<Self> {
        Arc::new(Self { there, changes: Mutex::new(Some(changes)) })
    }
}

#[async_trait]
impl ListWatch<Arc<Pod>> for Source {
    /// Pods come again in versions that they had before, so versions are in no order.
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

/// Random pods in their other version, for ever; as many at a time as a source would have ready that is not alone in the world.
pub(super) fn ready(objects: usize, stopping: CancellationToken) -> Changes {
    const AT_ONCE: usize = 64;
    let versions = [pods(objects, 0), pods(objects, 1)];
    let order = crate::informer::pods::shuffled(objects);
    let changes = stream::iter(0_usize..).then(move |n| {
        let pod = versions[(n / objects + 1) % 2][order[n % objects]].clone();
        async move {
            if n.is_multiple_of(AT_ONCE) {
                tokio::task::yield_now().await;
            }
            pod
        }
    });
    Box::pin(changes.take_until(stopping.cancelled_owned()))
}
