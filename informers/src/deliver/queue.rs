//! The delivery queue of a handler: for each key the change from the last delivered to the current
//! state.

use super::marks::Marks;
use super::{Change, Delivery, Removal, Steps};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use machinery_objects::{Bookmark, Event};
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::mem::{replace, take};
use std::time::Instant;

/// The delivery queue of a handler, which coalesces the changes of each key.
///
/// Keys are in the order in which they were queued. A queued key that changes again keeps its
/// position, and is delivered as one change from the last delivered to the then current state. An
/// object that is added and deleted while queued is not delivered at all. So the queue is bounded
/// by the number of keys that the handler knows or the cache holds.
pub struct DeliveryQueue<N, T> {
    hasher: FixedState,
    /// The slot of each queued key.
    slots: HashTable<u32>,
    /// The queued keys, linked in order.
    due: Vec<Option<QueuedKey<N, T>>>,
    vacant: Vec<u32>,
    first: u32,
    last: u32,
    /// The marks after the last key.
    end: Marks,
}

struct QueuedKey<N, T> {
    key: N,
    hash: u64,
    /// The state that was delivered last; `None` if the handler knows no such object.
    delivered: Option<T>,
    latest: Change<T>,
    steps: Steps,
    /// The marks that are delivered before the key.
    marks: Marks,
    since: Instant,
    prev: u32,
    next: u32,
}

/// A key and a state that a queue no longer needs. Drop them outside locks: this may be the last
/// reference to an object.
#[must_use = "drop it where no lock is held"]
pub struct Displaced<N, T>(Option<N>, Option<T>);

/// A delivery with its steps, and the states that the queue no longer needs.
type TakenDelivery<N, T> = (Delivery<N, T>, Steps, Displaced<N, T>);

const NIL: u32 = u32::MAX;

/// Capacity that an empty queue keeps.
const MIN_CAPACITY: usize = 64;

impl<N, T> DeliveryQueue<N, T> {
    /// Creates an empty queue. The seed is for its hash table.
    pub fn new(seed: u64) -> Self {
        Self {
            hasher: FixedState::with_seed(seed),
            slots: HashTable::new(),
            due: Vec::new(),
            vacant: Vec::new(),
            first: NIL,
            last: NIL,
            end: Marks::default(),
        }
    }

    /// Returns the number of queued keys.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns whether there is neither a queued key nor a mark.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.end.is_empty()
    }

    /// Returns the time since which the first key has been queued.
    pub fn oldest(&self) -> Option<Instant> {
        (self.first != NIL).then(|| self.at(self.first).since)
    }

    /// Returns the number of keys for which memory is allocated; it is freed when the queue is
    /// emptied.
    pub fn capacity(&self) -> usize {
        self.due.capacity()
    }

    /// Appends a mark.
    pub fn mark(&mut self, mark: Bookmark) {
        self.end.add(mark);
    }

    fn at(&self, slot: u32) -> &QueuedKey<N, T> {
        self.due[slot as usize].as_ref().expect("only keys that are due are linked")
    }

    fn at_mut(&mut self, slot: u32) -> &mut QueuedKey<N, T> {
        self.due[slot as usize].as_mut().expect("only keys that are due are linked")
    }

    /// Unlinks a key, and moves the marks before it to its successor.
    fn unlink(&mut self, slot: u32) -> QueuedKey<N, T> {
        let mut due = self.due[slot as usize].take().expect("only keys that are due are linked");
        match due.prev {
            NIL => self.first = due.next,
            prev => self.at_mut(prev).next = due.next,
        }
        match due.next {
            NIL => self.last = due.prev,
            next => self.at_mut(next).prev = due.prev,
        }
        let marks = take(&mut due.marks);
        let next = match due.next {
            NIL => &mut self.end,
            next => &mut self.at_mut(next).marks,
        };
        next.prepend(marks);
        self.vacant.push(slot);
        due
    }

    /// Removes a key.
    fn remove(&mut self, slot: u32) -> QueuedKey<N, T> {
        let due = self.unlink(slot);
        if let Ok(found) = self.slots.find_entry(due.hash, |&at| at == slot) {
            found.remove();
        }
        self.shrink_if_empty();
        due
    }

    fn shrink_if_empty(&mut self) {
        // A burst must not occupy memory for ever.
        if self.slots.is_empty() && self.due.capacity() > MIN_CAPACITY {
            self.slots = HashTable::new();
            self.due = Vec::new();
            self.vacant = Vec::new();
        }
    }

    /// Appends a key.
    fn push(&mut self, due: QueuedKey<N, T>) {
        let (hash, prev) = (due.hash, due.prev);
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.due.push(None);
            u32::try_from(self.due.len() - 1).expect("fewer than 2^32 keys are due to one handler")
        });
        self.due[slot as usize] = Some(due);
        match prev {
            NIL => self.first = slot,
            prev => self.at_mut(prev).next = slot,
        }
        self.last = slot;
        let hash_of = |&slot: &u32| self.due[slot as usize].as_ref().map_or(0, |due| due.hash);
        self.slots.insert_unique(hash, slot, hash_of);
    }
}

impl<N: Hash + Eq + Clone, T: Clone> DeliveryQueue<N, T> {
    /// Appends a change, or merges it into the entry of its key if that is queued. O(1).
    ///
    /// `before` is the state in the cache before the change: the state delivered last, unless the
    /// key is queued.
    pub fn put(
        &mut self,
        now: Instant,
        key: &N,
        before: Option<&T>,
        change: &Change<T>,
    ) -> Option<Displaced<N, T>> {
        self.put_steps(now, key, before, change, Steps::ONE)
    }

    /// Like [`put`](Self::put), with the steps of the change.
    pub fn put_steps(
        &mut self,
        now: Instant,
        key: &N,
        before: Option<&T>,
        change: &Change<T>,
        steps: Steps,
    ) -> Option<Displaced<N, T>> {
        let hash = self.hasher.hash_one(key);
        let found = self.slots.find(hash, |&slot| self.at(slot).key == *key).copied();
        let Some(slot) = found else {
            if before.is_some() || matches!(change, Change::Present { .. }) {
                let (key, delivered, change) = (key.clone(), before.cloned(), change.clone());
                let marks = take(&mut self.end);
                let prev = self.last;
                self.push(QueuedKey {
                    key,
                    hash,
                    delivered,
                    latest: change,
                    steps,
                    marks,
                    since: now,
                    prev,
                    next: NIL,
                });
            }
            return None;
        };
        let due = self.at_mut(slot);
        if due.delivered.is_none() && matches!(change, Change::Removed { .. }) {
            let due = self.remove(slot);
            return Some(Displaced(Some(due.key), Some(due.latest.into_object())));
        }
        // In its position: moved to the end, a key that changes often would never be delivered.
        due.steps = due.steps.and(steps);
        let next = merge(&due.latest, change);
        Some(Displaced(None, Some(replace(&mut due.latest, next).into_object())))
    }

    /// Takes the next delivery.
    pub fn take(&mut self) -> Option<Delivery<N, T>> {
        self.next().map(|(delivered, ..)| delivered)
    }

    /// Takes the next delivery with its steps, and the states that the queue no longer needs.
    pub(super) fn next(&mut self) -> Option<TakenDelivery<N, T>> {
        let first = self.first;
        let marks = match first {
            NIL => &mut self.end,
            _ => &mut self.at_mut(first).marks,
        };
        if let Some(mark) = marks.take() {
            return Some((Delivery::Mark(mark), Steps::ONE, Displaced(None, None)));
        }
        if first == NIL {
            return None;
        }
        let mut due = self.remove(first);
        // A removal is delivered with its own last state, which may be another.
        let spare = if matches!(due.latest, Change::Removed { .. }) { due.delivered.take() } else { None };
        let event = Delivery::Event(due.key, event_of(due.delivered, due.latest));
        Some((event, due.steps, Displaced(None, spare)))
    }

    /// Appends an object of the initial snapshot.
    pub fn put_initial(&mut self, now: Instant, key: &N, object: &T) -> Option<Displaced<N, T>> {
        let change = Change::Present { object: object.clone(), initial: true };
        self.put_steps(now, key, None, &change, Steps::LISTED)
    }

    /// Appends the changes of a queue that follow the changes of this one.
    pub fn append(&mut self, mut later: Self) -> Vec<Displaced<N, T>> {
        let mut displaced = Vec::new();
        while later.first != NIL {
            let first = later.first;
            let marks = take(&mut later.at_mut(first).marks);
            self.end.append(marks);
            let due = later.unlink(first);
            let before = due.delivered.as_ref();
            displaced.extend(self.put_steps(due.since, &due.key, before, &due.latest, due.steps));
            displaced.push(Displaced(Some(due.key), due.delivered));
            displaced.push(Displaced(None, Some(due.latest.into_object())));
        }
        self.end.append(later.end);
        displaced
    }
}

/// Merges two changes of a queued key.
fn merge<T: Clone>(earlier: &Change<T>, later: &Change<T>) -> Change<T> {
    match (earlier, later) {
        (Change::Present { initial, .. }, Change::Present { object, .. }) => {
            Change::Present { object: object.clone(), initial: *initial }
        }
        // A deleted object cannot leave the filter.
        (
            Change::Removed { removal: removal @ Removal::Deleted { .. }, .. },
            Change::Removed { last, removal: Removal::Left(_) },
        ) => Change::Removed { last: last.clone(), removal: *removal },
        _ => later.clone(),
    }
}

fn event_of<T>(delivered: Option<T>, now: Change<T>) -> Event<T> {
    match (delivered, now) {
        (None, Change::Present { object, initial }) => Event::Added { object, initial },
        (Some(old), Change::Present { object, .. }) => Event::Updated { old, object },
        (_, Change::Removed { last, removal: Removal::Deleted { final_state_known } }) => {
            Event::Deleted { last, final_state_known }
        }
        (_, Change::Removed { last, removal: Removal::Left(because) }) => Event::Left { last, because },
    }
}

impl<N, T> fmt::Debug for DeliveryQueue<N, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeliveryQueue").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<N, T> fmt::Debug for Displaced<N, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Displaced")
    }
}
