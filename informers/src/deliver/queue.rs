//! What a handler is yet to be told: of each key the way from what it was told last to what is now.

use super::marks::Marks;
use super::{Change, Delivery, Removal};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use machinery_objects::{Event, Mark};
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::mem::{replace, take};
use std::time::Instant;

/// What a handler is yet to be told.
///
/// Keys are in the order in which they became due. One that is due keeps its place when it changes again, and is told of
/// once: from what the handler knows to what is then. One that came and went in between is nothing to tell. So what is in
/// here is bounded by the keys that the handler knows or the cache has, whatever happens meanwhile.
pub struct DeliveryQueue<N, T> {
    hasher: FixedState,
    /// The slot of each key that is due.
    slots: HashTable<u32>,
    /// The keys, linked in their order.
    due: Vec<Option<QueuedKey<N, T>>>,
    vacant: Vec<u32>,
    first: u32,
    last: u32,
    /// What is behind the last key.
    end: Marks,
}

struct QueuedKey<N, T> {
    key: N,
    hash: u64,
    /// What the handler was told last; `None` if it knows nothing of it, or that it is gone.
    delivered: Option<T>,
    latest: Change<T>,
    /// What is told before it.
    marks: Marks,
    since: Instant,
    prev: u32,
    next: u32,
}

/// What an inbox needs no more. Where it was changed under a lock, drop it outside: this may be the last of an object.
#[must_use = "drop it where no lock is held"]
pub struct Displaced<N, T>(Option<N>, Option<T>);

const NIL: u32 = u32::MAX;

/// So little is kept however empty it is.
const MIN_CAPACITY: usize = 64;

impl<N, T> DeliveryQueue<N, T> {
    /// An inbox with nothing in it. The seed is for its hash table.
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

    /// How many keys are due.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is nothing to tell, not even a mark.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.end.is_empty()
    }

    /// Since when the key that is told next has been due.
    pub fn oldest(&self) -> Option<Instant> {
        (self.first != NIL).then(|| self.at(self.first).since)
    }

    /// For how many keys there is room: it comes back when an inbox has been emptied.
    pub fn capacity(&self) -> usize {
        self.due.capacity()
    }

    /// Puts a mark behind all that is due.
    pub fn mark(&mut self, mark: Mark) {
        self.end.add(mark);
    }

    fn at(&self, slot: u32) -> &QueuedKey<N, T> {
        self.due[slot as usize].as_ref().expect("only keys that are due are linked")
    }

    fn at_mut(&mut self, slot: u32) -> &mut QueuedKey<N, T> {
        self.due[slot as usize].as_mut().expect("only keys that are due are linked")
    }

    /// Takes a key's place away, and leaves the marks before it to what comes next.
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

    /// Takes a key out.
    fn remove(&mut self, slot: u32) -> QueuedKey<N, T> {
        let due = self.unlink(slot);
        if let Ok(found) = self.slots.find_entry(due.hash, |&at| at == slot) {
            found.remove();
        }
        self.shrink_if_empty();
        due
    }

    fn shrink_if_empty(&mut self) {
        if self.slots.is_empty() && self.due.capacity() > MIN_CAPACITY {
            self.slots = HashTable::new();
            self.due = Vec::new();
            self.vacant = Vec::new();
        }
    }

    /// Gives a key the last place.
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
    /// Puts a change behind all that is due, or in its place if its key is due already. O(1).
    ///
    /// `before` is what the cache had until now, which is what the handler was told last unless the key is due.
    pub fn put(
        &mut self,
        now: Instant,
        key: &N,
        before: Option<&T>,
        change: &Change<T>,
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
        let next = merge(&due.latest, change);
        Some(Displaced(None, Some(replace(&mut due.latest, next).into_object())))
    }

    /// What is to be told next.
    pub fn take(&mut self) -> Option<Delivery<N, T>> {
        self.next().map(|(delivered, _)| delivered)
    }

    /// The same, and what is needed no more.
    pub(super) fn next(&mut self) -> Option<(Delivery<N, T>, Displaced<N, T>)> {
        let first = self.first;
        let marks = match first {
            NIL => &mut self.end,
            _ => &mut self.at_mut(first).marks,
        };
        if let Some(mark) = marks.take() {
            return Some((Delivery::Mark(mark), Displaced(None, None)));
        }
        if first == NIL {
            return None;
        }
        let mut due = self.remove(first);
        // Who is told of an end is told the last state, which may be another.
        let spare = if matches!(due.latest, Change::Removed { .. }) { due.delivered.take() } else { None };
        Some((Delivery::Event(due.key, event_of(due.delivered, due.latest)), Displaced(None, spare)))
    }

    /// Puts an object that was there when all began behind all that is due.
    pub fn put_initial(&mut self, now: Instant, key: &N, object: &T) -> Option<Displaced<N, T>> {
        self.put(now, key, None, &Change::Present { object: object.clone(), initial: true })
    }

    /// Puts all behind that happened after what is in here.
    pub fn append(&mut self, mut later: Self) -> Vec<Displaced<N, T>> {
        let mut displaced = Vec::new();
        while later.first != NIL {
            let first = later.first;
            let marks = take(&mut later.at_mut(first).marks);
            self.end.append(marks);
            let due = later.unlink(first);
            displaced.extend(self.put(due.since, &due.key, due.delivered.as_ref(), &due.latest));
            displaced.push(Displaced(Some(due.key), due.delivered));
            displaced.push(Displaced(None, Some(due.latest.into_object())));
        }
        self.end.append(later.end);
        displaced
    }
}

/// What is, of a key that changes once more before it is told.
fn merge<T: Clone>(earlier: &Change<T>, later: &Change<T>) -> Change<T> {
    match (earlier, later) {
        (Change::Present { initial, .. }, Change::Present { object, .. }) => {
            Change::Present { object: object.clone(), initial: *initial }
        }
        // What is deleted cannot leave any more.
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
