//! Recording of calls to a backend and its answers.

use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use futures::FutureExt;
use machinery_objects::Revision;
use machinery_sync::Mutex;

use super::calls::{CallRecord, Exchange, History, WatchRecord};
use crate::{
    Backend, Commit, CommitError, CompactError, KeySpan, Page, Range, ReadError, Transaction, Watch,
    WatchError, WatchItem, WatchStream,
};

/// Creates clients of a backend, and records their calls and answers.
#[derive(Clone)]
pub struct Recorder {
    backend: Arc<dyn Backend>,
    record: Arc<Mutex<Recording>>,
}

#[derive(Default)]
struct Recording {
    time: u64,
    clients: usize,
    history: History,
}

impl Recording {
    fn now(&mut self) -> u64 {
        self.time += 1;
        self.time
    }
}

/// A client with at most one call at a time: a recorded [`Backend`].
pub struct Client {
    recorder: Recorder,
    number: usize,
}

impl Recorder {
    /// Records calls to `backend`, which is empty and at revision `first`.
    pub fn new(backend: Arc<dyn Backend>, first: Revision) -> Self {
        let history = History { first, ..History::default() };
        let record = Recording { history, ..Recording::default() };
        Self { backend, record: Arc::new(Mutex::new(record)) }
    }

    /// Creates the next client.
    #[must_use]
    pub fn client(&self) -> Client {
        let mut record = self.record.lock();
        record.clients += 1;
        Client { recorder: self.clone(), number: record.clients - 1 }
    }

    /// Returns the history recorded so far.
    #[must_use]
    pub fn history(&self) -> History {
        self.record.lock().history.clone()
    }
}

impl Client {
    fn call(&self, exchange: Exchange) -> usize {
        let mut record = self.recorder.record.lock();
        let call = CallRecord { client: self.number, called: record.now(), answered: None, exchange };
        record.history.calls.push(call);
        record.history.calls.len() - 1
    }

    fn answer(&self, call: usize, fill: impl FnOnce(&mut Exchange)) {
        let mut record = self.recorder.record.lock();
        let now = record.now();
        let call = &mut record.history.calls[call];
        call.answered = Some(now);
        fill(&mut call.exchange);
    }
}

#[async_trait]
impl Backend for Client {
    async fn revision(&self) -> Result<Revision, ReadError> {
        let call = self.call(Exchange::Revision(None));
        let answer = self.recorder.backend.revision().await;
        self.answer(call, |exchange| *exchange = Exchange::Revision(Some(answer.clone())));
        answer
    }

    async fn range(&self, range: Range) -> Result<Page, ReadError> {
        let call = self.call(Exchange::Range(range.clone(), None));
        let answer = self.recorder.backend.range(range.clone()).await;
        self.answer(call, |exchange| *exchange = Exchange::Range(range, Some(answer.clone())));
        answer
    }

    async fn commit(&self, transaction: Transaction) -> Result<Commit, CommitError> {
        let call = self.call(Exchange::Commit(transaction.clone(), None));
        let answer = self.recorder.backend.commit(transaction.clone()).await;
        self.answer(call, |exchange| *exchange = Exchange::Commit(transaction, Some(answer.clone())));
        answer
    }

    async fn watch(&self, span: KeySpan, after: Revision) -> Result<Watch, WatchError> {
        let place = {
            let mut record = self.recorder.record.lock();
            let called = record.now();
            let (client, answered, end) = (self.number, None, None);
            let (requests, seen) = (Vec::new(), Vec::new());
            let watched =
                WatchRecord { client, span: span.clone(), after, called, answered, requests, seen, end };
            record.history.watches.push(watched);
            record.history.watches.len() - 1
        };
        let answer = self.recorder.backend.watch(span, after).await;
        let mut record = self.recorder.record.lock();
        record.history.watches[place].answered = Some(record.now());
        match answer {
            Ok(inner) => {
                Ok(Watch::new(RecordedWatch { inner, record: Arc::clone(&self.recorder.record), place }))
            }
            Err(error) => {
                record.history.watches[place].end = Some(error.clone());
                Err(error)
            }
        }
    }

    async fn compact(&self, to: Revision) -> Result<(), CompactError> {
        let call = self.call(Exchange::Compact(to, None));
        let answer = self.recorder.backend.compact(to).await;
        self.answer(call, |exchange| *exchange = Exchange::Compact(to, Some(answer.clone())));
        answer
    }
}

struct RecordedWatch {
    inner: Watch,
    record: Arc<Mutex<Recording>>,
    place: usize,
}

impl WatchStream for RecordedWatch {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WatchItem, WatchError>> {
        let Poll::Ready(answer) = Box::pin(self.inner.next()).poll_unpin(cx) else { return Poll::Pending };
        let mut record = self.record.lock();
        let now = record.now();
        let watched = &mut record.history.watches[self.place];
        match &answer {
            Ok(seen) => watched.seen.push((now, seen.clone())),
            Err(error) => watched.end = Some(error.clone()),
        }
        Poll::Ready(answer)
    }

    fn request_progress(&mut self) {
        let mut record = self.record.lock();
        let now = record.now();
        record.history.watches[self.place].requests.push(now);
        drop(record);
        self.inner.request_progress();
    }
}
