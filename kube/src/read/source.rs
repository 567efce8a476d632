//! The read port: [`ListWatch`] over HTTP.

use std::sync::Arc;

use async_trait::async_trait;
use machinery_objects::{
    Capabilities, Freshness, InterestSource, ListError, ListRequest, ListWatch, Object, ObjectKey, Page,
    Scope, SourceError, WatchError, WatchFrom, WatchRequest, WatchStream,
};
use serde::de::DeserializeOwned;

use super::event::BookmarkMode;
use super::object::object;
use super::page::page;
use super::watch::read_events;
use crate::call::CallError;
use crate::{Remote, request};

/// The unsupported feature of servers without watches from the state.
const STATE: &str = "watch from the state";

#[async_trait]
impl<O: Object + DeserializeOwned> ListWatch<O> for Remote<O> {
    fn capabilities(&self) -> Capabilities {
        // Without `reports_left`: a watch sends `DELETED` also for an object that left a selector.
        let mut capabilities = Capabilities::LEAST;
        capabilities.bookmarks = true;
        capabilities.watches_state = self.caller.server.watches_state;
        capabilities.versions_are_ordered = self.caller.server.versions_are_ordered;
        capabilities.carries_traces = self.caller.server.machinery;
        capabilities
    }

    async fn list(&self, request: ListRequest) -> Result<Page<O>, ListError> {
        let http_request = request::list(&self.caller.kind, &request)?;
        match self.caller.fetch(http_request).await.map_err(CallError::source_error)? {
            Ok(body) => Ok(page(&body)?),
            Err(refusal) => Err(refusal.list_error()),
        }
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream<O>, WatchError> {
        let server = &self.caller.server;
        let mode = match request.from {
            WatchFrom::After(_) => BookmarkMode::Bookmarks,
            WatchFrom::State(_) if server.watches_state => BookmarkMode::State,
            WatchFrom::State(_) => return Err(SourceError::Unsupported { what: STATE }.into()),
        };
        let http_request = request::watch(&self.caller.kind, &request)?;
        match self.caller.open(http_request).await.map_err(CallError::source_error)? {
            Ok(body) => Ok(read_events(body, mode, server.line_bytes)),
            // A server with the feature turned off refuses the parameter.
            Err(refusal) if refusal.is_about("sendInitialEvents") => {
                Err(SourceError::Unsupported { what: STATE }.into())
            }
            Err(refusal) => Err(refusal.watch_error()),
        }
    }

    async fn get(&self, key: &ObjectKey, fresh: Freshness) -> Result<Option<O>, ListError> {
        let kind = &self.caller.kind;
        if key.is_unnamed() || key.namespace().is_some() != (kind.scope() == Scope::Namespaced) {
            return Ok(None);
        }
        let http_request = request::get(kind, key, &fresh)?;
        match self.caller.fetch(http_request).await.map_err(CallError::source_error)? {
            Ok(body) => Ok(Some(object(&body)?)),
            Err(refusal) if refusal.is_of_an_absent_object() => Ok(None),
            Err(refusal) => Err(refusal.list_error()),
        }
    }

    fn interests(&self) -> Option<Arc<dyn InterestSource<O>>> {
        self.caller.server.machinery.then(|| Arc::new(self.clone()) as Arc<dyn InterestSource<O>>)
    }
}
