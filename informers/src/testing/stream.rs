//! A watch: a position in the history.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use machinery_objects::{EditNumber, InterestEdit, Object, ResourceVersion, WatchError, WatchEvent};

use super::fake_source::{FakeSource, FakeSourceState};
use super::fault::OnEvent;
use super::interest::InterestEdits;
use super::selection::{SelectedChange, WatchSelection, key};
use super::source::{now, unreadable};

type Polled<T> = Poll<Option<Result<WatchEvent<T>, WatchError>>>;

pub(super) struct FakeWatch<T: Object + Clone> {
    pub(super) source: FakeSource<T>,
    pub(super) id: u64,
    pub(super) selection: WatchSelection,
    pub(super) bookmarks: bool,
    /// All changes up to this revision were sent, or are in `due`.
    pub(super) at: u64,
    pub(super) due: VecDeque<WatchEvent<T>>,
    /// The last event.
    pub(super) last: Option<WatchEvent<T>>,
    pub(super) marks: u64,
    pub(super) ended: u64,
    pub(super) over: bool,
    pub(super) silent: bool,
}

impl<T: Object + Clone> FakeWatch<T> {
    pub(super) fn version(&self) -> ResourceVersion {
        let era = self.source.0.inner.lock().era;
        self.source.0.version(era, self.at)
    }

    /// Returns the next event, if there is one.
    fn next(&mut self, inner: &mut FakeSourceState<T>) -> Result<Option<WatchEvent<T>>, WatchError> {
        loop {
            if let Some(event) = self.due.pop_front() {
                return Ok(Some(event));
            }
            if self.at < inner.history.first() {
                return Err(WatchError::Expired);
            }
            let shared = &*self.source.0;
            let Some(commit) = inner.history.after(self.at) else {
                // Writes before an edit are sent before it is applied.
                let marks = inner.marks;
                let edit = inner.edits.get_mut(&self.id).and_then(|edits| edits.next(marks));
                if let Some((edit, change)) = edit {
                    self.edit(inner, edit, &change);
                    continue;
                }
                let marked = std::mem::replace(&mut self.marks, inner.marks);
                let version = shared.version(inner.era, self.at);
                let mark = WatchEvent::Bookmark { version, initial_state_ends: false };
                return Ok((self.bookmarks && marked != inner.marks).then_some(mark));
            };
            self.at += 1;
            let event = match self.selection.select_change(commit, &shared.fields, shared.can.reports_left) {
                None => continue,
                Some(SelectedChange::Present(kept, to_event)) => now(&commit.key, kept, to_event),
                Some(SelectedChange::Removed(kept, to_event)) if kept.readable => {
                    to_event(shared.last(inner.era, self.at, &kept.object))
                }
                Some(SelectedChange::Removed(..)) => {
                    let version = shared.version(inner.era, self.at);
                    WatchEvent::Unreadable(unreadable(&commit.key, Some(version), true))
                }
            };
            return Ok(Some(event));
        }
    }

    /// Changes the keys, and sends the objects under the new ones.
    fn edit(&mut self, inner: &FakeSourceState<T>, edit: EditNumber, change: &InterestEdit) {
        let Some((by, keys)) = &mut self.selection.keys else { return };
        keys.retain(|key| !change.remove.contains(key));
        let mut new = change.add.clone();
        new.retain(|key| keys.insert(key.clone()));
        let by = by.clone();
        let shared = &*self.source.0;
        let state = inner.history.at(self.at).unwrap_or_default();
        for (name, kept) in &state {
            let is_new = key(&by, &*kept.object, &shared.fields).is_some_and(|key| new.contains(&*key));
            if is_new && self.selection.selects(kept, &shared.fields) {
                self.due.push_back(now(name, kept, WatchEvent::Added));
            }
        }
        let version = shared.version(inner.era, self.at);
        self.due.push_back(WatchEvent::Complete { edit, version });
    }

    /// Applies a fault to an event; `None` if the event is lost.
    fn apply_fault(
        &mut self,
        inner: &FakeSourceState<T>,
        event: WatchEvent<T>,
        fault: OnEvent,
    ) -> Option<Polled<T>> {
        let then = match fault {
            OnEvent::Fails(error) => {
                self.over = true;
                return Some(Poll::Ready(Some(Err(error))));
            }
            OnEvent::Ends => {
                self.over = true;
                return Some(Poll::Ready(None));
            }
            OnEvent::Silent => {
                self.silent = true;
                return Some(Poll::Pending);
            }
            OnEvent::Lost => return None,
            OnEvent::Twice => Some(event.clone()),
            OnEvent::EarlierAgain => self.last.clone(),
            OnEvent::LateBookmark(revisions) => self.bookmarks.then(|| {
                let version = self.source.0.version(inner.era, self.at.saturating_sub(revisions));
                WatchEvent::Bookmark { version, initial_state_ends: false }
            }),
        };
        then.into_iter().for_each(|event| self.due.push_front(event));
        Some(Poll::Ready(Some(Ok(event))))
    }
}

impl<T: Object + Clone> Unpin for FakeWatch<T> {}

impl<T: Object + Clone> Stream for FakeWatch<T> {
    type Item = Result<WatchEvent<T>, WatchError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let source = this.source.clone();
        let mut inner = source.0.inner.lock();
        if this.over || this.ended != inner.ended {
            this.over = true;
            return Poll::Ready(None);
        }
        loop {
            let event = if this.silent { Ok(None) } else { this.next(&mut inner) };
            let event = match event {
                Ok(Some(event)) => event,
                Ok(None) => {
                    inner.wakers.insert(this.id, context.waker().clone());
                    return Poll::Pending;
                }
                Err(error) => {
                    this.over = true;
                    return Poll::Ready(Some(Err(error)));
                }
            };
            let marks = matches!(event, WatchEvent::Bookmark { .. });
            let polled = match inner.on_event() {
                None => Poll::Ready(Some(Ok(event))),
                Some(fault) => match this.apply_fault(&inner, event, fault) {
                    None => continue,
                    Some(polled) => polled,
                },
            };
            match &polled {
                Poll::Ready(Some(Ok(event))) => {
                    this.last = Some(event.clone());
                    inner.calls.bookmarks += u64::from(marks);
                    if let (WatchEvent::Complete { edit, .. }, Some(edits)) =
                        (event, inner.edits.get_mut(&this.id))
                    {
                        edits.complete(*edit);
                    }
                    inner.calls.events += u64::from(!marks);
                }
                Poll::Pending => drop(inner.wakers.insert(this.id, context.waker().clone())),
                Poll::Ready(_) => {}
            }
            return polled;
        }
    }
}

impl<T: Object + Clone> Drop for FakeWatch<T> {
    fn drop(&mut self) {
        let mut inner = self.source.0.inner.lock();
        inner.calls.open_watches -= 1;
        let edits = inner.edits.remove(&self.id);
        let waker = inner.wakers.remove(&self.id);
        drop(inner);
        drop(waker);
        edits.into_iter().for_each(InterestEdits::end);
    }
}
