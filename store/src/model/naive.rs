//! The model backend: one map per revision.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use machinery_objects::Revision;
use machinery_sync::Mutex;

use crate::{
    Backend, Change, Commit, CommitError, CompactError, Condition, Conflict, Cursor, Entry, Event, Key,
    KeySpan, Limits, Operation, Page, Range, ReadError, Transaction, Watch, WatchError, WatchItem,
    WatchStream,
};

/// A backend that is slow and obviously correct. Clones share it.
#[derive(Clone, Debug)]
pub struct NaiveBackend(Arc<Mutex<State>>);

/// `states[r]` is the content at revision `r`, and `events[r]` are its changes. Compaction drops
/// nothing and only raises `compacted`.
#[derive(Debug)]
struct State {
    limits: Limits,
    states: Vec<BTreeMap<Key, Arc<Entry>>>,
    events: Vec<Vec<Event>>,
    compacted: Revision,
    watches: usize,
    sleepers: Vec<Waker>,
}

impl NaiveBackend {
    /// Creates an empty store at revision 1.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self(Arc::new(Mutex::new(State {
            limits,
            states: vec![BTreeMap::new(); 2],
            events: vec![Vec::new(); 2],
            compacted: Revision(1),
            watches: 0,
            sleepers: Vec::new(),
        })))
    }
}

impl Default for NaiveBackend {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

#[async_trait]
impl Backend for NaiveBackend {
    async fn revision(&self) -> Result<Revision, ReadError> {
        Ok(self.0.lock().current())
    }

    async fn range(&self, range: Range) -> Result<Page, ReadError> {
        self.0.lock().range(&range)
    }

    async fn commit(&self, transaction: Transaction) -> Result<Commit, CommitError> {
        self.0.lock().commit(&transaction)
    }

    async fn watch(&self, span: KeySpan, after: Revision) -> Result<Watch, WatchError> {
        let mut state = self.0.lock();
        let (current, compacted) = (state.current(), state.compacted);
        if after > current {
            return Err(WatchError::Future { after, current });
        }
        if after < compacted {
            return Err(WatchError::Compacted { after, compacted });
        }
        let limit = state.limits.watches;
        if state.watches >= limit {
            return Err(WatchError::TooMany { limit });
        }
        state.watches += 1;
        Ok(Watch::new(NaiveWatch { state: Arc::clone(&self.0), span, seen: after, marks: 0 }))
    }

    async fn compact(&self, to: Revision) -> Result<(), CompactError> {
        let mut state = self.0.lock();
        let current = state.current();
        if to > current {
            return Err(CompactError::Future { requested: to, current });
        }
        state.compacted = state.compacted.max(to);
        state.wake();
        Ok(())
    }
}

impl State {
    fn current(&self) -> Revision {
        Revision(self.states.len() as u64 - 1)
    }

    fn at(&self, revision: Revision) -> &BTreeMap<Key, Arc<Entry>> {
        &self.states[revision.0 as usize]
    }

    fn wake(&mut self) {
        self.sleepers.drain(..).for_each(Waker::wake);
    }

    fn range(&self, range: &Range) -> Result<Page, ReadError> {
        let current = self.current();
        let at = range.at.unwrap_or(current);
        if at > current {
            return Err(ReadError::Future { requested: at, current });
        }
        if at < self.compacted {
            return Err(ReadError::Compacted { requested: at, compacted: self.compacted });
        }
        let behind = |key: &Key| range.after.as_ref().is_none_or(|after| key > after);
        let mut entries: Vec<Arc<Entry>> = Vec::new();
        for (key, entry) in self.at(at) {
            if range.span.contains(key) && behind(key) {
                entries.push(Arc::clone(entry));
            }
        }
        let taken = range.limit.map_or(entries.len(), |limit| limit.get().min(entries.len()));
        let left = entries.split_off(taken).len() as u64;
        let last = if left > 0 { entries.last() } else { None };
        let next = last.map(|entry| Cursor { at, after: Arc::clone(&entry.key) });
        Ok(Page { at, current, entries, next, remaining: range.count.then_some(left) })
    }

    fn commit(&mut self, transaction: &Transaction) -> Result<Commit, CommitError> {
        self.admit(transaction)?;
        let revision = self.current();
        let mut map = self.at(revision).clone();
        for (place, condition) in transaction.conditions.iter().enumerate() {
            if !self.holds(condition) {
                let key = Arc::clone(condition.key());
                let current = map.get(&key).cloned();
                return Err(CommitError::Conflict(Box::new(Conflict {
                    condition: place,
                    key,
                    current,
                    revision,
                })));
            }
        }

        let new = revision.next();
        let (mut before, mut events) = (Vec::new(), Vec::new());
        for operation in &transaction.operations {
            let old = map.remove(operation.key());
            match operation {
                Operation::Put(key, value) => {
                    let created = old.as_ref().map_or(new, |old| old.created);
                    let (key, value) = (Arc::clone(key), Arc::clone(value));
                    let entry = Arc::new(Entry { key: Arc::clone(&key), value, created, modified: new });
                    map.insert(key, Arc::clone(&entry));
                    events.push(Event { before: old.clone(), change: Change::Put(entry) });
                }
                Operation::Delete(key) if old.is_some() => {
                    events.push(Event { before: old.clone(), change: Change::Deleted(Arc::clone(key)) });
                }
                Operation::Delete(_) => {}
            }
            before.push(old);
        }
        if events.is_empty() {
            return Ok(Commit { revision, changed: false, before });
        }
        let adds: usize = events.iter().map(put_bytes).sum();
        let (used, quota) = (self.held() + adds as u64, self.limits.quota_bytes);
        let mark = |event: &Event| {
            let there = event.before.as_ref().map(|before| before.value.len());
            event.after().is_none_or(|entry| Limits::fits_reserve(entry.value.len(), there))
        };
        let most = if events.iter().all(mark) { Limits::with_reserve(quota) } else { quota };
        if adds > 0 && used > most {
            return Err(CommitError::QuotaExceeded { used, quota });
        }
        self.states.push(map);
        self.events.push(events);
        self.wake();
        Ok(Commit { revision: new, changed: true, before })
    }

    /// Checks limits that do not depend on the state.
    fn admit(&self, transaction: &Transaction) -> Result<(), CommitError> {
        let limits = &self.limits;
        let count = transaction.conditions.len() + transaction.operations.len();
        if count > limits.operations {
            return Err(CommitError::TooManyOperations { count, limit: limits.operations });
        }
        let mut bytes = 0;
        let conditioned = transaction.conditions.iter().map(Condition::key);
        for key in conditioned.chain(transaction.operations.iter().map(Operation::key)) {
            if key.is_empty() {
                return Err(CommitError::EmptyKey);
            }
            bytes += fits("key", key.len(), limits.key_bytes)?;
        }
        for operation in &transaction.operations {
            if let Operation::Put(_, value) = operation {
                bytes += fits("value", value.len(), limits.value_bytes)?;
            }
        }
        fits("transaction", bytes, limits.transaction_bytes)?;
        let mut keys = BTreeSet::new();
        let mut repeated = transaction.operations.iter().map(Operation::key).filter(|key| !keys.insert(*key));
        repeated.next().map_or(Ok(()), |key| Err(CommitError::RepeatedKey { key: Arc::clone(key) }))
    }

    fn holds(&self, condition: &Condition) -> bool {
        let now = self.at(self.current());
        match condition {
            Condition::Absent(key) => !now.contains_key(key),
            Condition::At(key, revision) => now.get(key).is_some_and(|entry| entry.modified == *revision),
            Condition::Unchanged(_, revision) if *revision > self.current() => false,
            Condition::Unchanged(key, revision) => match now.get(key) {
                Some(entry) => entry.modified <= *revision,
                None => *revision >= self.compacted && !self.at(*revision).contains_key(key),
            },
        }
    }

    /// Returns the bytes of keys and values at readable revisions.
    fn held(&self) -> u64 {
        let oldest = self.compacted.0 as usize;
        let kept = self.states[oldest].values().map(|entry| entry.key.len() + entry.value.len());
        let since = self.events[oldest + 1..].iter().flatten().map(put_bytes);
        kept.chain(since).sum::<usize>() as u64
    }
}

fn put_bytes(event: &Event) -> usize {
    event.after().map_or(0, |entry| entry.key.len() + entry.value.len())
}

fn fits(what: &'static str, bytes: usize, limit: usize) -> Result<usize, CommitError> {
    if bytes > limit { Err(CommitError::TooLarge { what, bytes, limit }) } else { Ok(bytes) }
}

/// A watch that has yielded every change up to `seen`.
struct NaiveWatch {
    state: Arc<Mutex<State>>,
    span: KeySpan,
    seen: Revision,
    marks: usize,
}

impl WatchStream for NaiveWatch {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WatchItem, WatchError>> {
        let mut state = self.state.lock();
        let current = state.current();
        let mut revision = self.seen;
        while revision < current {
            revision = revision.next();
            let all = state.events[revision.0 as usize].iter();
            let events: Vec<Event> = all.filter(|event| self.span.contains(event.key())).cloned().collect();
            if events.is_empty() {
                continue;
            }
            if revision <= state.compacted {
                return Poll::Ready(Err(WatchError::TooSlow { seen: self.seen, compacted: state.compacted }));
            }
            self.seen = revision;
            return Poll::Ready(Ok(WatchItem::Changes { revision, events }));
        }
        self.seen = current;
        if self.marks > 0 {
            self.marks -= 1;
            return Poll::Ready(Ok(WatchItem::Progress(current)));
        }
        state.sleepers.push(cx.waker().clone());
        Poll::Pending
    }

    fn request_progress(&mut self) {
        self.marks += 1;
        self.state.lock().wake();
    }
}

impl Drop for NaiveWatch {
    fn drop(&mut self) {
        self.state.lock().watches -= 1;
    }
}
