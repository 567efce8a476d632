//! The watches of a backend with one flaw.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::{FutureExt, Stream};
use machinery_objects::Revision;
use machinery_sync::Mutex;

use super::flaw::Flaw;
use super::flawed::{FlawState, FlawedBackend};
use crate::{Backend, Change, Entry, Event, KeySpan, Watch, WatchError, WatchItem, WatchStream};

pub(super) struct FlawedWatch {
    backend: Arc<dyn Backend>,
    inner: Watch,
    flaw: Flaw,
    known: Arc<Mutex<FlawState>>,
    span: KeySpan,
    /// The revision of the last item.
    last: Revision,
    /// Items to yield next.
    ready: VecDeque<WatchItem>,
    /// An item held back until the next one is yielded.
    held: Option<WatchItem>,
    /// Whether to drop the first revision.
    skips: bool,
    /// Whether to drop the deletes of the first revision.
    skips_deletes: bool,
}

impl FlawedWatch {
    pub(super) fn new(of: &FlawedBackend, inner: Watch, span: KeySpan, after: Revision) -> Self {
        let mut known = of.known.lock();
        let skips = of.flaw == Flaw::ResumesTooLate && known.now();
        let skips_deletes = of.flaw == Flaw::LosesDeleteAtCompaction && after == known.compacted;
        drop(known);
        Self {
            backend: Arc::clone(&of.inner),
            inner,
            flaw: of.flaw,
            known: Arc::clone(&of.known),
            span,
            last: after,
            ready: VecDeque::new(),
            held: None,
            skips,
            skips_deletes,
        }
    }

    fn now(&self) -> bool {
        self.known.lock().now()
    }

    fn take(&mut self, seen: WatchItem) {
        match seen {
            WatchItem::Changes { revision, events } => self.take_changes(revision, events),
            WatchItem::Progress(mark) => {
                self.ready.extend(self.held.take());
                self.ready.push_back(WatchItem::Progress(mark));
                if self.flaw == Flaw::MarksGoBack && self.now() {
                    self.ready.push_back(WatchItem::Progress(Revision(mark.0.saturating_sub(1))));
                }
            }
        }
    }

    fn take_changes(&mut self, revision: Revision, mut events: Vec<Event>) {
        match self.flaw {
            Flaw::LeaksOtherKeys
                if events.iter().all(|event| self.span.contains(event.key())) || !self.now() =>
            {
                events.retain(|event| self.span.contains(event.key()));
            }
            Flaw::DropsEvent if self.now() => events.clear(),
            Flaw::DropsPartOfRevision if events.len() > 1 && self.now() => {
                events.pop();
            }
            Flaw::RepeatsEvent if self.now() => events.extend(events.last().cloned()),
            Flaw::SplitsRevision if events.len() > 1 && self.now() => {
                let rest = events.split_off(1);
                self.ready.push_back(WatchItem::Changes { revision, events });
                events = rest;
            }
            Flaw::WrongBefore => events.iter_mut().for_each(|event| self.spoil_before(event)),
            Flaw::WrongCreate => events.iter_mut().for_each(|event| self.spoil_create(event)),
            Flaw::WrongValue => events.iter_mut().for_each(|event| self.spoil_value(event)),
            _ => {}
        }
        if std::mem::take(&mut self.skips) {
            return;
        }
        if std::mem::take(&mut self.skips_deletes) {
            events.retain(|event| matches!(event.change, Change::Put(_)));
        }
        if events.is_empty() {
            return;
        }
        let seen = WatchItem::Changes { revision, events };
        if self.flaw == Flaw::SwapsRevisions && self.held.is_none() && self.now() {
            self.held = Some(seen);
            return;
        }
        self.ready.push_back(seen);
        self.ready.extend(self.held.take());
    }

    fn spoil_before(&self, event: &mut Event) {
        if let Some(before) = &mut event.before
            && self.now()
        {
            *before = Arc::new(Entry { value: (*b"another").into(), ..(**before).clone() });
        }
    }

    fn spoil_create(&self, event: &mut Event) {
        if let Some(after) = event.after().cloned()
            && self.now()
        {
            event.before = if event.before.is_some() { None } else { Some(after) };
        }
    }

    fn spoil_value(&self, event: &mut Event) {
        if let Change::Put(after) = &mut event.change
            && self.now()
        {
            *after = Arc::new(Entry { value: (*b"another").into(), ..(**after).clone() });
        }
    }

    /// Restarts the watch after the gap.
    fn skip_gap(&mut self, compacted: Revision) -> bool {
        match self.backend.watch(self.span.clone(), compacted).now_or_never() {
            Some(Ok(watch)) => {
                self.inner = watch;
                true
            }
            _ => false,
        }
    }
}

impl WatchStream for FlawedWatch {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WatchItem, WatchError>> {
        loop {
            if let Some(seen) = self.ready.pop_front() {
                let (WatchItem::Changes { revision, .. } | WatchItem::Progress(revision)) = &seen;
                self.last = *revision;
                return Poll::Ready(Ok(seen));
            }
            match Pin::new(&mut self.inner).poll_next(cx) {
                Poll::Ready(Some(Ok(seen))) => self.take(seen),
                Poll::Ready(Some(Err(WatchError::TooSlow { compacted, .. })))
                    if self.flaw == Flaw::HidesGap && self.skip_gap(compacted) => {}
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
                Poll::Ready(None) => unreachable!("a watch ends with an error"),
                Poll::Pending => {
                    let (seen, compacted) = (self.last, self.known.lock().compacted);
                    if self.flaw == Flaw::EndsQuietWatch && seen < compacted {
                        return Poll::Ready(Err(WatchError::TooSlow { seen, compacted }));
                    }
                    match self.held.take() {
                        Some(held) => self.ready.push_back(held),
                        None => return Poll::Pending,
                    }
                }
            }
        }
    }

    fn request_progress(&mut self) {
        if self.flaw == Flaw::MarksTooEarly && self.now() {
            let newest = self.known.lock().newest;
            self.ready.push_back(WatchItem::Progress(newest));
        }
        self.inner.request_progress();
    }
}
