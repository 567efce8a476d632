//! The source, as its readers have it.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;

use async_trait::async_trait;
use machinery_objects::{
    Capabilities, Continue, Filter, Freshness, InterestSource, ListAt, ListError, ListRequest, ListWatch,
    Object, ObjectKey, Page, ResourceVersion, SourceError, Unreadable, WatchError, WatchEvent, WatchFrom,
    WatchRequest, WatchStream,
};

use super::fault::{OnList, OnWatch};
use super::history::Kept;
use super::plane::{Inside, Plane};
use super::selection::Selection;
use super::stream::Stream;

#[async_trait]
impl<T: Object + Clone> ListWatch<T> for Plane<T> {
    fn capabilities(&self) -> Capabilities {
        self.0.can
    }

    async fn list(&self, request: ListRequest) -> Result<Page<T>, ListError> {
        let fault = {
            let mut inside = self.0.inside.lock();
            let inside = &mut *inside;
            let fault = if request.rest.is_some() {
                inside.asked.pages += 1;
                inside.faults.page.next()
            } else {
                inside.asked.lists += 1;
                inside.faults.list.next()
            };
            inside.asked.faults += u64::from(fault.is_some());
            fault
        };
        if fault == Some(OnList::NoAnswer) {
            pending::<()>().await;
        }
        let mut inside = self.0.inside.lock();
        self.page(&mut inside, &request, fault)
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
            Selection { filter: request.filter, keys: None },
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
            let mut inside = self.0.inside.lock();
            inside.asked.gets += 1;
            let fault = inside.faults.get.next();
            inside.asked.faults += u64::from(fault.is_some());
            fault
        };
        let behind = match fault {
            Some(OnList::Fails(error)) => return Err(error),
            Some(OnList::NoAnswer) => pending().await,
            Some(OnList::Behind(behind)) => behind,
            _ => 0,
        };
        let inside = self.0.inside.lock();
        let at = inside.revision_behind(behind);
        let state = inside.history.at(at).unwrap_or_default();
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

impl<T: Object + Clone> Plane<T> {
    /// Waits for ever, or fails, if that is to be.
    pub(super) async fn on_watch(&self) -> Result<Option<OnWatch>, WatchError> {
        let fault = {
            let mut inside = self.0.inside.lock();
            inside.asked.watches += 1;
            let fault = inside.faults.watch.next();
            inside.asked.faults += u64::from(fault.is_some());
            fault
        };
        match fault {
            Some(OnWatch::Fails(error)) => Err(error),
            Some(OnWatch::NoAnswer) => pending().await,
            fault => Ok(fault),
        }
    }

    /// A watch after a version, or one that begins with the state.
    pub(super) fn begin(
        &self,
        selection: Selection,
        after: Option<&ResourceVersion>,
        bookmarks: bool,
        fault: Option<&OnWatch>,
    ) -> Result<Stream<T>, WatchError> {
        let fields = &self.0.fields;
        self.check(&selection.filter)?;
        let mut inside = self.0.inside.lock();
        let behind = if let Some(OnWatch::Behind(behind)) = fault { *behind } else { 0 };
        let newest = inside.revision_behind(behind);
        let mut due = VecDeque::new();
        let at = match after {
            Some(version) => {
                let at = self.0.revision(inside.era, version).ok_or(WatchError::Expired)?;
                if at > newest {
                    let newest = Some(self.0.version(inside.era, newest));
                    return Err(WatchError::FutureRevision { newest, retry_after: None });
                }
                if at < inside.history.first() {
                    return Err(WatchError::Expired);
                }
                at
            }
            None => {
                let state = inside.history.at(newest).unwrap_or_default();
                let selected = state.iter().filter(|(_, kept)| selection.selects(kept, fields));
                due.extend(selected.map(|(key, kept)| now(key, kept, WatchEvent::Added)));
                newest
            }
        };
        inside.watches += 1;
        inside.asked.open += 1;
        Ok(Stream {
            plane: self.clone(),
            id: inside.watches,
            selection,
            bookmarks,
            at,
            due,
            last: None,
            marks: inside.marks,
            ended: inside.ended,
            over: fault == Some(&OnWatch::EndsAtOnce),
            silent: false,
        })
    }

    fn page(
        &self,
        inside: &mut Inside<T>,
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
            Some(rest) => place(rest, inside.era).ok_or(ListError::Expired { rest: None })?,
            None => (self.moment(inside, &request.at, behind)?, String::new()),
        };
        let Some(state) = inside.history.at(at) else { return Err(ListError::Expired { rest: None }) };
        let selection = Selection { filter: request.filter.clone(), keys: None };
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
        inside.asked.listed += (items.len() + unreadable.len()) as u64;
        let rest = goes_on.then(|| Continue::new(&format!("{} {at} {last}", inside.era))).flatten();
        let version = self.0.version(inside.era, at);
        Ok(Page { items, unreadable, version, rest, remaining: Some(remaining) })
    }

    /// The revision that a list is to show.
    fn moment(&self, inside: &Inside<T>, at: &ListAt, behind: u64) -> Result<u64, ListError> {
        let newest = inside.revision_behind(behind);
        let (wanted, exactly) = match at {
            ListAt::Fresh(Freshness::AtLeast(version)) => (version, false),
            ListAt::Exactly(version) => (version, true),
            ListAt::Fresh(_) => return Ok(newest),
        };
        let wanted = self.0.revision(inside.era, wanted).ok_or(ListError::Expired { rest: None })?;
        if wanted > newest {
            let newest = Some(self.0.version(inside.era, newest));
            return Err(ListError::FutureRevision { newest, retry_after: None });
        }
        Ok(if exactly { wanted } else { newest })
    }

    pub(super) fn check(&self, filter: &Filter) -> Result<(), SourceError> {
        let check = self.0.fields.check(&filter.fields);
        check.map_err(|error| SourceError::Invalid { reason: error.to_string(), causes: Vec::new() })
    }
}

impl<T> Inside<T> {
    pub(super) fn revision_behind(&self, behind: u64) -> u64 {
        self.history.revision().saturating_sub(behind).max(self.history.first())
    }
}

/// What is told of an object that is there.
pub(super) fn now<T: Object + Clone>(
    key: &ObjectKey,
    kept: &Kept<T>,
    tell: fn(T) -> WatchEvent<T>,
) -> WatchEvent<T> {
    if kept.readable {
        return tell((*kept.object).clone());
    }
    WatchEvent::Unreadable(unreadable(key, kept.object.version(), false))
}

pub(super) fn unreadable(key: &ObjectKey, version: Option<ResourceVersion>, is_gone: bool) -> Unreadable {
    Unreadable { key: key.clone(), version, is_gone, reason: "it is not as it should be".into() }
}

/// Where a list goes on, if it is one of this time.
fn place(rest: &Continue, era: u64) -> Option<(u64, String)> {
    let mut parts = rest.as_str().splitn(3, ' ');
    let of: u64 = parts.next()?.parse().ok()?;
    let at = parts.next()?.parse().ok()?;
    (of == era).then_some((at, parts.next()?.to_owned()))
}
