//! Reads of a handle.

use std::num::NonZeroU64;
use std::sync::Arc;

use async_trait::async_trait;
use machinery_objects::{
    Capabilities, Continue, FieldSelector, Filter, Freshness, InterestSource, ListAt as At, ListError,
    ListRequest, ListWatch, NameRule, ObjectKey, Page, ResourceVersion, Revision, SourceError, WatchError,
    WatchRequest, WatchStream,
};
use machinery_store::Entry;
use serde::de::DeserializeOwned;
use tokio::task::yield_now;

use super::Handle;
use super::errors::{broken, list_error, source_error};
use crate::kind::{Kind, Subresource};
use crate::refusal::Refusal;
use crate::request::{ContinueToken, FieldLabels, ListAt, check_fields};
use crate::select::Selection;
use crate::storage::Moment;
use crate::verbs::list::list_page;

/// Number of objects to process before yielding to other tasks.
const TURN: usize = 128;

#[async_trait]
impl<K> ListWatch<Arc<K>> for Handle<K>
where
    K: DeserializeOwned + Send + Sync + 'static,
{
    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    async fn list(&self, request: ListRequest) -> Result<Page<Arc<K>>, ListError> {
        let kind = self.served("list")?;
        let selection = self.selection(&kind, &request.filter)?;
        let object_request =
            self.object_request(&kind, Subresource::Main, request.filter.namespace.as_deref(), "");
        self.allow("list", &object_request, &request.filter.fields)?;
        let at = at(&request)?;
        let found = list_page(&object_request, &at, request.limit.map(NonZeroU64::from), &selection).await;
        let found = match found {
            Ok(found) => found,
            Err(refusal) => return Err(self.list_error(refusal).await),
        };
        let (mut items, mut unreadable) = (Vec::with_capacity(found.entries.len()), Vec::new());
        for (at, entry) in found.entries.iter().enumerate() {
            if at % TURN == TURN - 1 {
                yield_now().await;
            }
            match self.object(&kind, entry, entry.modified) {
                Ok(object) => items.push(object),
                Err(error) => unreadable.push(broken(&kind, entry, entry.modified, false, &error)),
            }
        }
        let rest = found.next.as_deref().and_then(Continue::new);
        let remaining = if rest.is_some() { found.remaining } else { Some(0) };
        Ok(Page { items, unreadable, version: found.at.into(), rest, remaining })
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream<Arc<K>>, WatchError> {
        self.follow(request).await
    }

    fn interests(&self) -> Option<Arc<dyn InterestSource<Arc<K>>>> {
        Some(Arc::new(self.clone()))
    }

    async fn get(&self, key: &ObjectKey, fresh: Freshness) -> Result<Option<Arc<K>>, ListError> {
        let kind = self.served("get")?;
        let object_request = self.object_request(&kind, Subresource::Main, key.namespace(), key.name());
        self.allow("get", &object_request, &FieldSelector::default())?;
        if kind.namespaced != key.namespace().is_some() {
            return Ok(None);
        }
        let moment = match &fresh {
            Freshness::Newest | Freshness::Any => Moment::Newest,
            Freshness::AtLeast(version) => Moment::AtLeast(revision(version)?),
        };
        let entry: Option<Arc<Entry>> = match self.shared.objects.get(&object_request.key(), moment).await {
            Ok(entry) => entry,
            Err(refusal) => return Err(self.list_error(refusal).await),
        };
        Ok(entry.map(|entry| self.object(&kind, &entry, entry.modified)).transpose()?)
    }
}

impl<K> Handle<K> {
    /// Builds the selection of a filter. Name and namespace are selectable for every kind, unlike
    /// on the wire.
    pub(super) fn selection(&self, kind: &Arc<Kind>, filter: &Filter) -> Result<Selection, SourceError> {
        if let Some(namespace) = &filter.namespace {
            let wrong = match NameRule::PathSegment.check(namespace) {
                Ok(()) if kind.namespaced => None,
                Ok(()) => Some(format!("{} are not namespaced: list all", self.kind)),
                Err(error) => Some(format!("there can be no namespace {namespace:?}: {error}")),
            };
            if let Some(reason) = wrong {
                return Err(SourceError::Invalid { reason, causes: Vec::new() });
            }
        }
        let fields: Vec<String> = kind.selectable.iter().map(|selectable| selectable.field.clone()).collect();
        check_fields(&filter.fields, FieldLabels::These { namespaced: true, fields: &fields })
            .map_err(source_error)?;
        Ok(Selection { kind: kind.clone(), labels: filter.labels.clone(), fields: filter.fields.clone() })
    }

    async fn list_error(&self, refusal: Refusal) -> ListError {
        list_error(refusal, self.shared.objects.revision().await.ok())
    }
}

/// The resourceVersion semantics of a list.
fn at(request: &ListRequest) -> Result<ListAt, SourceError> {
    if let Some(rest) = &request.rest {
        return ContinueToken::decode(rest.as_str()).map(ListAt::After).map_err(source_error);
    }
    Ok(match &request.at {
        At::Fresh(Freshness::Newest) => ListAt::Newest,
        At::Fresh(Freshness::Any) => ListAt::Any,
        At::Fresh(Freshness::AtLeast(version)) => ListAt::NotOlderThan(revision(version)?.0),
        At::Exactly(version) => ListAt::Exact(revision(version)?.0),
    })
}

/// Parses a resourceVersion of this server.
pub(super) fn revision(version: &ResourceVersion) -> Result<Revision, SourceError> {
    let reason = || format!("{:?} is no version of this server", version.to_string());
    version.revision().ok_or_else(|| SourceError::Invalid { reason: reason(), causes: Vec::new() })
}
