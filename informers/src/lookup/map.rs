//! A lookup map for whoever has informers of their own.

use super::{Lookup, LookupSnapshot, NameChange, NameTable};
use machinery_objects::{Event, ObjectKey, Revision};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Which of several informers holds an object of a name.
///
/// Each informer is known by a key, and its handler tells the map of what it hears. Each time something changes of a name
/// the function that the map was made with is called with that name, after the change can be seen: whoever finds a name
/// ambiguous, and lets it rest, is told of its end.
///
/// It is made for names that few have at once: what one more costs grows with those that are there.
///
/// ```
/// use machinery_informers::{Lookup, LookupMap};
/// use machinery_objects::{ObjectKey, Revision};
///
/// let (again, queue) = std::sync::mpsc::channel();                      // a work queue, in earnest
/// let map = LookupMap::new(42, move |name: &ObjectKey| again.send(name.clone()).expect("it is open"));
/// let name: ObjectKey = "default/vm-1".parse()?;
///
/// map.put(&17, &name, "10.0.0.5", Some(Revision(3)));                   // the informer of 17 has it
/// map.put(&18, &name, "10.0.0.5", Some(Revision(8)));                   // it moved, and that of 18 hears of it first
/// assert_eq!(map.lookup(&name), Lookup::Ambiguous(vec![17, 18]));
/// assert_eq!(map.newest(&name), Lookup::Unique(18, "10.0.0.5"));        // versions say more
///
/// while queue.try_recv().is_ok() {}                                     // whoever looked by now let it rest
/// map.remove(&17, &name, Some(Revision(8)));                            // the other part of the notifications
/// assert_eq!(queue.try_recv(), Ok(name.clone()));                       // look again:
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
    /// A map without names, which calls `changed` with each name that changes, by the thread that changes it and while no
    /// lock is held. The seed is for its hash table: where names come from strangers, a secret one.
    pub fn new(seed: u64, changed: impl Fn(&ObjectKey) + Send + Sync + 'static) -> Self {
        Self { names: NameTable::new(seed), changed: Box::new(changed) }
    }

    /// What an informer's handler was told of a name. The version is the object's, also of a last state that came with
    /// its end; `None` where versions are not ordered.
    pub fn apply(&self, key: &F, name: &ObjectKey, event: &Event<T>, version: Option<Revision>) {
        match event {
            // When it went is not known, only that it is not there.
            Event::Deleted { final_state_known: false, .. } => self.remove(key, name, None),
            event if event.is_present() => self.put(key, name, event.object().clone(), version),
            _ => self.remove(key, name, version),
        }
    }

    /// An informer has this object, in this version; `None` where versions are not ordered.
    pub fn put(&self, key: &F, name: &ObjectKey, object: T, version: Option<Revision>) {
        let mut change = self.names.change();
        change.put(key, name, object, version);
        self.notify(&change.commit());
    }

    /// An informer has this object no longer. The version is the one at which it went; `None` where that is not known, or
    /// versions are not ordered.
    pub fn remove(&self, key: &F, name: &ObjectKey, version: Option<Revision>) {
        let mut change = self.names.change();
        change.remove(key, name, version);
        self.notify(&change.commit());
    }

    /// An informer is no more, and with it all that it has. Returns the names that it had, and what was there.
    pub fn release(&self, key: &F) -> Vec<(ObjectKey, T)> {
        let changed = self.names.release(key);
        self.notify(&changed);
        changed.into_iter().filter_map(|changed| Some((changed.name, changed.before?))).collect()
    }

    /// Versions have begun anew, as in a server that was restored: no end that was heard before says anything of them.
    pub fn versions_restarted(&self) {
        let mut change = self.names.change();
        change.versions_restarted();
        self.notify(&change.commit());
    }

    /// Who has an object of this name, now.
    pub fn lookup(&self, name: &ObjectKey) -> Lookup<F, T> {
        self.names.holders(name).map_or(Lookup::Absent, |holders| holders.lookup())
    }

    /// As [`LookupMap::lookup`], but where several have one the latest version decides, if versions are ordered.
    pub fn newest(&self, name: &ObjectKey) -> Lookup<F, T> {
        self.names.holders(name).map_or(Lookup::Absent, |holders| holders.newest())
    }

    /// The map as of now, for as long as it is kept.
    pub fn read(&self) -> LookupSnapshot<F, T> {
        self.names.read()
    }

    /// Tells of each, also when a call panics: the panic goes on afterwards.
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
