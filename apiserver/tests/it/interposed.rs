//! A store that runs a function right before the next write with a condition on a key: after all
//! reads of its writer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures::future::BoxFuture;
use machinery_objects::Revision;
use machinery_store::{
    Backend, Commit, CommitError, CompactError, KeySpan, Memory, Page, Range, ReadError, Transaction, Watch,
    WatchError,
};
use tokio::sync::Mutex;

type Deed = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

#[derive(Clone)]
pub(crate) struct Interposed {
    pub(crate) inner: Memory,
    next: Arc<Mutex<Vec<(&'static str, Deed)>>>,
    /// How many writes were tried since, that rest on the key.
    tried: Arc<AtomicUsize>,
    watched: Arc<AtomicUsize>,
}

impl Interposed {
    pub(crate) fn over(inner: Memory) -> Self {
        Self { inner, next: Arc::default(), tried: Arc::default(), watched: Arc::default() }
    }

    /// Runs this before the next write that has a condition on the key, directly on the store.
    pub(crate) async fn before<F>(&self, key: &'static str, deed: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.next.lock().await.push((key, Box::new(|| Box::pin(deed))));
        self.tried.store(0, Ordering::Relaxed);
    }

    /// How often a write was tried that rests on a key before which something was to happen.
    pub(crate) fn tried(&self) -> usize {
        self.tried.load(Ordering::Relaxed)
    }

    /// How many watches of widgets were begun.
    pub(crate) fn watched(&self) -> usize {
        self.watched.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Backend for Interposed {
    async fn revision(&self) -> Result<Revision, ReadError> {
        self.inner.revision().await
    }

    async fn range(&self, range: Range) -> Result<Page, ReadError> {
        self.inner.range(range).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Commit, CommitError> {
        let mut next = self.next.lock().await;
        let rests = |key: &str| transaction.conditions.iter().any(|condition| **condition.key() == *key);
        let due = next.iter().position(|(key, _)| rests(key)).map(|at| next.remove(at));
        drop(next);
        if let Some((_, deed)) = due {
            deed().await;
        }
        self.tried.fetch_add(1, Ordering::Relaxed);
        self.inner.commit(transaction).await
    }

    async fn watch(&self, span: KeySpan, after: Revision) -> Result<Watch, WatchError> {
        if format!("{span:?}").contains("widgets") {
            self.watched.fetch_add(1, Ordering::Relaxed);
        }
        self.inner.watch(span, after).await
    }

    async fn compact(&self, to: Revision) -> Result<(), CompactError> {
        self.inner.compact(to).await
    }
}
