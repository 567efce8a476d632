//! The fake source as a `ListWatch`.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;

use async_trait::async_trait;
use machinery_objects::{
    Capabilities, Continue, Filter, Freshness, InterestSource, ListAt, ListError, ListRequest, ListWatch,
    Object, ObjectKey, Page, ResourceVersion, SourceError, Unreadable, WatchError, WatchEvent, WatchFrom,
    WatchRequest, WatchStream,
};

use super::fake_source::{FakeSource, FakeSourceState};
use super::fault::{OnList, OnWatch};
use super::history::StoredObject;
use super::selection::WatchSelection;
use super::stream::FakeWatch;

#[async_trait]
impl<T: Object + Clone> ListWatch<T> for FakeSource<T> {
    fn capabilities(&self) -> Capabilities {
        self.0.can
    }

    async fn list(&self, request: ListRequest) -> Result<Page<T>, ListError> {
        let fault = {
            let mut inner = self.0.inner.lock();
            let inner = &mut *inner;
            let fault = if request.rest.is_some() {
                inner.calls.pages += 1;
                inner.faults.page.next()
            } else {
                inner.calls.lists += 1;
                inner.faults.list.next()
            };
            inner.calls.faults += u64::from(fault.is_some());
            fault
        };
        if fault == Some(OnList::NoAnswer) {
            pending::<()>().await;
        }
        let mut inner = self.0.inner.lock();
        self.page(&mut inner, &request, fault)
    }

    async fn watch(&self, request: WatchRequest) -> Result<WatchStream<T>, WatchError> {
        let state = matches!(request.from, WatchFrom::State(_));
        if state && !self.0.can.watches_state {
            return Err(SourceError::Unsupported { what: "watch of the state" }.into());
        }
        if request.bookmarks && !self.0.can.bookmarks {
            return Err(SourceError::Unsupported { what: "bookmarks" }.into());
        }
        let fault = self.on_watch().await?;
        let mut stream = self.begin(
            WatchSelection { filter: request.filter, keys: None },
            match &request.from {
                WatchFrom::After(version) => Some(version),
                WatchFrom::State(_) => None,
            },
            request.bookmarks,
            fault.as_ref(),
        )?;
        if state && request.bookmarks && fault != Some(OnWatch::NoEnd) {
            let end = WatchEvent::Bookmark { version: stream.version(), initial_state_ends: true };
            let times = if fault == Some(OnWatch::EndTwice) { 2 } else { 1 };
            (0..times).for_each(|_| stream.due.push_back(end.clone()));
        }
        Ok(Box::pin(stream))
    }

    async fn get(&self, key: &ObjectKey, _: Freshness) -> Result<Option<T>, ListError> {
        let fault = {
            let mut inner = self.0.inner.lock();
            inner.calls.gets += 1;
            let fault = inner.faults.get.next();
            inner.calls.faults += u64::from(fault.is_some());
            fault
        };
        let behind = match fault {
            Some(OnList::Fails(error)) => return Err(error),
            Some(OnList::NoAnswer) => pending().await,
            Some(OnList::Behind(behind)) => behind,
            _ => 0,
        };
        let inner = self.0.inner.lock();
        let at = inner.revision_behind(behind);
        let state = inner.history.at(at).unwrap_or_default();
        match state.get(key) {
            Some(kept) if !kept.readable => {
                Err(SourceError::Malformed { reason: format!("{key} is not as it should be") }.into())
            }
            there => Ok(there.map(|kept| (*kept.object).clone())),
        }
    }

    fn interests(&self) -> Option<Arc<dyn InterestSource<T>>> {
        Some(Arc::new(self.clone()))
    }
}

impl<T: Object + Clone> FakeSource<T> {
    /// Injects the fault of a watch request.
    pub(super) async fn on_watch(&self) -> Result<Option<OnWatch>, WatchError> {
        let fault = {
            let mut inner = self.0.inner.lock();
            inner.calls.watches += 1;
            let fault = inner.faults.watch.next();
            inner.calls.faults += u64::from(fault.is_some());
            fault
        };
        match fault {
            Some(OnWatch::Fails(error)) => Err(error),
            Some(OnWatch::NoAnswer) => pending().await,
            fault => Ok(fault),
        }
    }

    /// Opens a watch after a version, or one that begins with the state.
    pub(super) fn begin(
        &self,
        selection: WatchSelection,
        after: Option<&ResourceVersion>,
        bookmarks: bool,
        fault: Option<&OnWatch>,
    ) -> Result<FakeWatch<T>, WatchError> {
        let fields = &self.0.fields;
        self.check(&selection.filter)?;
        let mut inner = self.0.inner.lock();
        let behind = if let Some(OnWatch::Behind(behind)) = fault { *behind } else { 0 };
        let newest = inner.revision_behind(behind);
        let mut due = VecDeque::new();
        let at = match after {
            Some(version) => {
                let at = self.0.revision(inner.era, version).ok_or(WatchError::Expired)?;
                if at > newest {
                    let newest = Some(self.0.version(inner.era, newest));
                    return Err(WatchError::FutureRevision { newest, retry_after: None });
                }
                if at < inner.history.first() {
                    return Err(WatchError::Expired);
                }
                at
            }
            None => {
                let state = inner.history.at(newest).unwrap_or_default();
                let selected = state.iter().filter(|(_, kept)| selection.selects(kept, fields));
                due.extend(selected.map(|(key, kept)| now(key, kept, WatchEvent::Added)));
                newest
            }
        };
        inner.watches += 1;
        inner.calls.open_watches += 1;
        Ok(FakeWatch {
            source: self.clone(),
            id: inner.watches,
            selection,
            bookmarks,
            at,
            due,
            last: None,
            marks: inner.marks,
            ended: inner.ended,
            over: fault == Some(&OnWatch::EndsAtOnce),
            silent: false,
        })
    }

    fn page(
        &self,
        inner: &mut FakeSourceState<T>,
        request: &ListRequest,
        fault: Option<OnList>,
    ) -> Result<Page<T>, ListError> {
        let behind = match &fault {
            Some(OnList::Fails(error)) => return Err(error.clone()),
            Some(OnList::Behind(behind)) => *behind,
            _ => 0,
        };
        self.check(&request.filter)?;
        let (at, after) = match &request.rest {
            Some(rest) => parse_continue(rest, inner.era).ok_or(ListError::Expired { rest: None })?,
            None => (self.list_revision(inner, &request.at, behind)?, String::new()),
        };
        let Some(state) = inner.history.at(at) else { return Err(ListError::Expired { rest: None }) };
        let selection = WatchSelection { filter: request.filter.clone(), keys: None };
        let mut selected = state
            .iter()
            .filter(|(key, _)| request.rest.is_none() || key.as_str() > &*after)
            .filter(|(_, kept)| selection.selects(kept, &self.0.fields))
            .peekable();
        let mut limit = request.limit.map_or(usize::MAX, |limit| limit.get() as usize);
        if fault == Some(OnList::Empty) {
            limit = 0;
        }
        let (mut items, mut unreadable, mut last) = (Vec::new(), Vec::new(), after.clone());
        while items.len() + unreadable.len() < limit
            && let Some((key, kept)) = selected.next()
        {
            key.as_str().clone_into(&mut last);
            match now(key, kept, WatchEvent::Added) {
                WatchEvent::Unreadable(found) => unreadable.push(found),
                _ => items.push((*kept.object).clone()),
            }
        }
        let remaining = selected.count() as u64;
        if remaining == 0 && fault == Some(OnList::Endless) {
            last.clear();
        }
        let goes_on = remaining > 0 || matches!(fault, Some(OnList::Empty | OnList::Endless));
        inner.calls.listed += (items.len() + unreadable.len()) as u64;
        let rest = goes_on.then(|| Continue::new(&format!("{} {at} {last}", inner.era))).flatten();
        let version = self.0.version(inner.era, at);
        Ok(Page { items, unreadable, version, rest, remaining: Some(remaining) })
    }

    /// Returns the revision of a list.
    fn list_revision(&self, inner: &FakeSourceState<T>, at: &ListAt, behind: u64) -> Result<u64, ListError> {
        let newest = inner.revision_behind(behind);
        let (requested, exactly) = match at {
            ListAt::Fresh(Freshness::AtLeast(version)) => (version, false),
            ListAt::Exactly(version) => (version, true),
            ListAt::Fresh(_) => return Ok(newest),
        };
        let requested = self.0.revision(inner.era, requested).ok_or(ListError::Expired { rest: None })?;
        if requested > newest {
            let newest = Some(self.0.version(inner.era, newest));
            return Err(ListError::FutureRevision { newest, retry_after: None });
        }
        Ok(if exactly { requested } else { newest })
    }

    pub(super) fn check(&self, filter: &Filter) -> Result<(), SourceError> {
        let check = self.0.fields.check(&filter.fields);
        check.map_err(|error| SourceError::Invalid { reason: error.to_string(), causes: Vec::new() })
    }
}

impl<T> FakeSourceState<T> {
    pub(super) fn revision_behind(&self, behind: u64) -> u64 {
        self.history.revision().saturating_sub(behind).max(self.history.first())
    }
}

/// Returns the event of an existing object.
pub(super) fn now<T: Object + Clone>(
    key: &ObjectKey,
    kept: &StoredObject<T>,
    to_event: fn(T) -> WatchEvent<T>,
) -> WatchEvent<T> {
    if kept.readable {
        return to_event((*kept.object).clone());
    }
    WatchEvent::Unreadable(unreadable(key, kept.object.version(), false))
}

pub(super) fn unreadable(key: &ObjectKey, version: Option<ResourceVersion>, is_gone: bool) -> Unreadable {
    Unreadable { key: key.clone(), version, is_gone, reason: "it is not as it should be".into() }
}

/// Parses a continue token; `None` if it is from before a restore.
fn parse_continue(rest: &Continue, era: u64) -> Option<(u64, String)> {
    let mut parts = rest.as_str().splitn(3, ' ');
    let of: u64 = parts.next()?.parse().ok()?;
    let at = parts.next()?.parse().ok()?;
    (of == era).then_some((at, parts.next()?.to_owned()))
}
