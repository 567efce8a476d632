//! The lookup map, for programs with one informer per key.

use super::{Lookup, LookupSnapshot, NameChange, NameTable};
use machinery_objects::{Event, ObjectKey, Revision};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Finds the informer that holds the object with a given name, among informers of one key each.
///
/// Each informer has a key, and its handler updates the map. After each change of a name, once it
/// is visible, the map calls the callback with that name: so a caller that finds a name ambiguous
/// can drop it, and is called again when the ambiguity ends.
///
/// The map is meant for names with few holders: an update costs time linear in their number.
///
/// ```
/// use machinery_informers::{Lookup, LookupMap};
/// use machinery_objects::{ObjectKey, Revision};
///
/// let (changed, queue) = std::sync::mpsc::channel(); // in a program, a work queue
/// let changed = move |name: &ObjectKey| changed.send(name.clone()).expect("it is open");
/// let map = LookupMap::new(42, changed);
/// let name: ObjectKey = "default/vm-1".parse()?;
///
/// map.put(&17, &name, "10.0.0.5", Some(Revision(3)));
/// map.put(&18, &name, "10.0.0.5", Some(Revision(8))); // it moved, and 18 receives the event first
/// assert_eq!(map.lookup(&name), Lookup::Ambiguous(vec![17, 18]));
/// assert_eq!(map.newest(&name), Lookup::Unique(18, "10.0.0.5")); // decided by version
///
/// while queue.try_recv().is_ok() {} // a caller that finds the name ambiguous drops it
/// map.remove(&17, &name, Some(Revision(8))); // the event of 17 arrives
/// assert_eq!(queue.try_recv(), Ok(name.clone())); // the name is reported again
/// assert_eq!(map.lookup(&name), Lookup::Unique(18, "10.0.0.5"));
/// # Ok::<(), machinery_objects::NameError>(())
/// ```
pub struct LookupMap<F, T> {
    names: NameTable<F, T>,
    changed: Box<dyn Fn(&ObjectKey) + Send + Sync>,
}

impl<F, T> LookupMap<F, T>
where
    F: Ord + Clone + Send + Sync + 'static,
    T: Clone + Send + Sync + 'static,
{
    /// Creates an empty map that calls `changed` with each changed name, on the changing thread and
    /// outside locks. The seed is for the hash table; it should be secret if names come from
    /// untrusted clients.
    pub fn new(seed: u64, changed: impl Fn(&ObjectKey) + Send + Sync + 'static) -> Self {
        Self { names: NameTable::new(seed), changed: Box::new(changed) }
    }

    /// Applies an event of an informer's handler. The version is the object's, for a deletion that
    /// of its last state; `None` where versions are not ordered.
    pub fn apply(&self, key: &F, name: &ObjectKey, event: &Event<T>, version: Option<Revision>) {
        match event {
            // The version of the deletion is unknown.
            Event::Deleted { final_state_known: false, .. } => self.remove(key, name, None),
            event if event.is_present() => self.put(key, name, event.object().clone(), version),
            _ => self.remove(key, name, version),
        }
    }

    /// Records that an informer holds an object in this version; `None` where versions are not
    /// ordered.
    pub fn put(&self, key: &F, name: &ObjectKey, object: T, version: Option<Revision>) {
        let mut change = self.names.change();
        change.put(key, name, object, version);
        self.notify(&change.commit());
    }

    /// Records that an informer no longer holds an object. The version is that of the deletion;
    /// `None` where it is unknown or versions are not ordered.
    pub fn remove(&self, key: &F, name: &ObjectKey, version: Option<Revision>) {
        let mut change = self.names.change();
        change.remove(key, name, version);
        self.notify(&change.commit());
    }

    /// Removes an informer with all its objects, and returns them.
    pub fn release(&self, key: &F) -> Vec<(ObjectKey, T)> {
        let changed = self.names.release(key);
        self.notify(&changed);
        changed.into_iter().filter_map(|changed| Some((changed.name, changed.before?))).collect()
    }

    /// Restarts the order of versions after a restore of the server: earlier deletions supersede
    /// nothing.
    pub fn versions_restarted(&self) {
        let mut change = self.names.change();
        change.versions_restarted();
        self.notify(&change.commit());
    }

    /// Returns the object with this name and the key that holds it.
    pub fn lookup(&self, name: &ObjectKey) -> Lookup<F, T> {
        self.names.holders(name).map_or(Lookup::Absent, |holders| holders.lookup())
    }

    /// As [`LookupMap::lookup`], but several holders are resolved to the latest version, if
    /// versions are ordered.
    pub fn newest(&self, name: &ObjectKey) -> Lookup<F, T> {
        self.names.holders(name).map_or(Lookup::Absent, |holders| holders.newest())
    }

    /// Returns a snapshot of the map.
    pub fn read(&self) -> LookupSnapshot<F, T> {
        self.names.read()
    }

    /// Calls the callback for each name, also if a call panics; the panic is resumed afterwards.
    fn notify(&self, changed: &[NameChange<F, T>]) {
        let mut panicked = None;
        for changed in changed {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| (self.changed)(&changed.name))) {
                panicked.get_or_insert(payload);
            }
        }
        if let Some(payload) = panicked {
            resume_unwind(payload);
        }
    }
}

impl<F, T> fmt::Debug for LookupMap<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LookupMap").field("names", &self.names).finish_non_exhaustive()
    }
}
