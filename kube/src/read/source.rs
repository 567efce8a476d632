//! The port to read.

use std::sync::Arc;

use async_trait::async_trait;
use machinery_objects::{
    Capabilities, Freshness, InterestSource, ListError, ListRequest, ListWatch, Object, ObjectKey, Page,
    Scope, SourceError, WatchError, WatchFrom, WatchRequest, WatchStream,
};
use serde::de::DeserializeOwned;

use super::event::Marks;
use super::object::object;
use super::page::page;
use super::watch::follow;
use crate::call::Failed;
use crate::{Remote, request};

/// For what a server has no watches that begin with the state.
const STATE: &str = "watch from the state";

#[async_trait]
impl<O: Object + DeserializeOwned> ListWatch<O> for Remote<O> {
    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::LEAST;
        capabilities.bookmarks = true;
        capabilities.watches_state = self.caller.server.watches_state;
        capabilities.versions_are_ordered = self.caller.server.versions_are_ordered;
        capabilities.tells_traces = self.caller.server.machinery;
        capabilities
    }

    async fn list(&self, request: ListRequest) -> Result<Page<O>, ListError> {
        let asked = request::list(&self.caller.kind, &request)?;
        match self.caller.answer(asked).await.map_err(Failed::source_error)? {
            Ok(body) => Ok(page(&body)?),
            Err(refusal) => Err(refusal.list_error()),
        }
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream<O>, WatchError> {
        let server = &self.caller.server;
        let marks = match request.from {
            WatchFrom::After(_) => Marks::Bookmarks,
            WatchFrom::State(_) if server.watches_state => Marks::State,
            WatchFrom::State(_) => return Err(SourceError::Unsupported { what: STATE }.into()),
        };
        let asked = request::watch(&self.caller.kind, &request)?;
        match self.caller.begin(asked).await.map_err(Failed::source_error)? {
            Ok(body) => Ok(follow(body, marks, server.line_bytes)),
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
        let asked = request::get(kind, key, &fresh)?;
        match self.caller.answer(asked).await.map_err(Failed::source_error)? {
            Ok(body) => Ok(Some(object(&body)?)),
            Err(refusal) if refusal.is_of_an_absent_object() => Ok(None),
            Err(refusal) => Err(refusal.list_error()),
        }
    }

    fn interests(&self) -> Option<Arc<dyn InterestSource<O>>> {
        self.caller.server.machinery.then(|| Arc::new(self.clone()) as Arc<dyn InterestSource<O>>)
    }
}
