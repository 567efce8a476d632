//! Trace contexts of runs: a run is a child of the newest change that caused it.

use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use machinery_objects::{Event, Object, SpanIds, Traceparent};
use machinery_sync::Mutex;
use tracing::Span;
use tracing::field::display;

use crate::Request;

/// Limit of keys with a pending trace.
const KEYS: usize = 1 << 16;
/// Limit of links beside the parent.
const LINKS: usize = 3;

/// Traces that wait for the next run of their key. Most keys have none.
pub(super) struct Traces<K> {
    of: Mutex<HashMap<K, PendingTrace, FixedState>>,
    /// Number of entries: a reader that finds zero takes no lock.
    keys: AtomicUsize,
}

/// Pending trace of one key: parent and links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PendingTrace {
    newest: TracedChange,
    links: [Option<Traceparent>; LINKS],
}

/// A change of an object that was made in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TracedChange {
    /// Revision of the change; 0 where versions are not numbers.
    revision: u64,
    trace: Traceparent,
}

impl TracedChange {
    /// Returns the trace of an event, if it has one. `is_last`: the object records the trace of its
    /// last change, and no older one.
    pub(super) fn of<T: Object>(event: &Event<Arc<T>>, is_last: bool) -> Option<Self> {
        let object = event.object();
        let trace = object.traceparent()?;
        let is_traced = match event {
            Event::Added { .. } => true,
            // On other servers an update keeps the trace of the creation, which is not its cause.
            Event::Updated { old, .. } => is_last || old.traceparent() != Some(trace),
            // The trace of a deletion is known only if the object was marked for deletion before.
            Event::Deleted { .. } => is_last && object.is_deleting(),
            _ => false,
        };
        let revision = object.version().and_then(|version| version.revision());
        is_traced.then(|| Self { revision: revision.map_or(0, |revision| revision.0), trace })
    }
}

impl PendingTrace {
    /// Returns the trace of the newest change.
    pub(super) const fn newest(&self) -> Traceparent {
        self.newest.trace
    }

    const fn of(newest: TracedChange) -> Self {
        Self { newest, links: [None; LINKS] }
    }

    /// Adds a change; of two with equal revisions the later one counts as the newest.
    fn add(&mut self, change: TracedChange) {
        // Sources deliver independently: the newest change is found by revision, not by arrival.
        let older = if change.revision >= self.newest.revision {
            std::mem::replace(&mut self.newest, change)
        } else {
            change
        };
        self.link(older.trace);
    }

    /// Adds a link, if one is free.
    fn link(&mut self, trace: Traceparent) {
        if trace == self.newest.trace || self.links.contains(&Some(trace)) {
            return;
        }
        if let Some(free) = self.links.iter_mut().find(|link| link.is_none()) {
            *free = Some(trace);
        }
    }

    /// Merges a later pending trace into this one.
    fn merged_with(mut self, later: Self) -> Self {
        self.add(later.newest);
        for link in later.links.into_iter().flatten() {
            self.link(link);
        }
        self
    }
}

impl<K: Request> Traces<K> {
    pub(super) fn new(seed: u64) -> Self {
        Self { of: Mutex::new(HashMap::with_hasher(FixedState::with_seed(seed))), keys: AtomicUsize::new(0) }
    }

    /// Records the trace of a change; returns `false` at the limit.
    pub(super) fn note(&self, key: &K, change: TracedChange) -> bool {
        self.put(key, PendingTrace::of(change))
    }

    /// Takes the pending trace for a run of the key.
    pub(super) fn take(&self, key: &K) -> Option<PendingTrace> {
        // Relaxed: a source notes the trace before it queues the key, and the queue orders the two.
        if self.keys.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut of = self.of.lock();
        let taken = of.remove_entry(key);
        self.keys.store(of.len(), Ordering::Relaxed);
        drop(of);
        taken.map(|(_, waiting)| waiting)
    }

    /// Restores the trace of a failed run and merges it with later changes.
    pub(super) fn put_back(&self, key: &K, waiting: PendingTrace) {
        let later = self.take(key);
        let _ = self.put(key, later.map_or(waiting, |later| waiting.merged_with(later)));
    }

    fn put(&self, key: &K, waiting: PendingTrace) -> bool {
        let mut of = self.of.lock();
        if let Some(existing) = of.get_mut(key) {
            *existing = existing.merged_with(waiting);
            return true;
        }
        let has_capacity = of.len() < KEYS;
        if has_capacity {
            of.insert(key.clone(), waiting);
            self.keys.store(of.len(), Ordering::Relaxed);
        }
        has_capacity
    }
}

/// Derives the seed of a controller's span ids from its name: controllers with one seed differ.
pub(super) fn seed(seed: u64, controller: &str) -> u64 {
    FixedState::with_seed(seed).hash_one(controller)
}

/// Records the trace fields in the span of a run and returns the trace context. With a disabled
/// span the parent is passed on.
pub(super) fn start_span(
    span: &Span,
    caused_by: Option<&PendingTrace>,
    ids: &SpanIds,
) -> Option<Traceparent> {
    let parent = caused_by.map(|waiting| waiting.newest.trace);
    // The ID of an unrecorded span would cut the tree: W3C lets others pass the parent on.
    if span.is_disabled() {
        return parent;
    }
    let own = parent.map_or_else(|| ids.root(), |parent| parent.child(ids.span()));
    span.record("trace_id", display(own.trace()));
    span.record("span_id", display(own.span()));
    if let Some(parent) = parent {
        span.record("parent_id", display(parent.span()));
    }
    if !own.is_sampled() {
        span.record("sampled", false);
    }
    let mut links = caused_by.into_iter().flat_map(|waiting| waiting.links).flatten().peekable();
    if links.peek().is_some() {
        let links: Vec<String> = links.map(|link| link.to_string()).collect();
        span.record("links", links.join(" "));
    }
    Some(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(revision: u64, span: u64) -> TracedChange {
        let trace = SpanIds::seeded(span).root();
        TracedChange { revision, trace }
    }

    #[test]
    fn the_newest_change_is_the_parent_and_others_are_links() {
        let traces = Traces::<u8>::new(0);
        let changes = [change(3, 3), change(7, 7), change(7, 8), change(5, 5), change(3, 3), change(1, 1)];
        assert!(changes.into_iter().all(|change| traces.note(&0, change)));
        let waiting = traces.take(&0).unwrap();
        assert_eq!(waiting.newest, changes[2]);
        assert_eq!(waiting.links, [0, 1, 3].map(|at: usize| Some(changes[at].trace)));
        assert_eq!(traces.take(&0), None);
    }

    #[test]
    fn a_failed_runs_trace_is_merged_with_later_changes() {
        let traces = Traces::<u8>::new(0);
        traces.note(&0, change(3, 3));
        let failed = traces.take(&0).unwrap();
        traces.note(&0, change(5, 5));
        traces.put_back(&0, failed);
        let waiting = traces.take(&0).unwrap();
        assert_eq!((waiting.newest, waiting.links[0]), (change(5, 5), Some(change(3, 3).trace)));
        traces.put_back(&0, failed);
        assert_eq!(traces.take(&0), Some(failed));
    }

    #[test]
    fn the_number_of_traced_keys_is_bounded() {
        let traces = Traces::<usize>::new(0);
        assert!((0..KEYS).all(|key| traces.note(&key, change(1, 1))));
        assert!(!traces.note(&KEYS, change(1, 1)));
        assert!(traces.note(&0, change(2, 2)), "it has its place");
        assert!(traces.take(&1).is_some() && traces.note(&KEYS, change(1, 1)));
    }
}
