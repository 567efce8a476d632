//! The decision whether a change of an object is a run's own write. Pure.

use std::sync::Arc;

use machinery_informers::InformerId;
use machinery_informers::deliver::Steps;
use machinery_objects::{Event, Object, ObjectKey, ResourceVersion, Uid, WriteOutcome, WriteToken};

/// A change of an object, as an informer delivered it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectChange {
    /// The informer.
    pub informer: InformerId,
    /// The key of the object.
    pub key: ObjectKey,
    /// The version before the change; `None` if the object is new.
    pub before: Option<ResourceVersion>,
    /// The state after the change.
    pub after: ChangedTo,
    /// The changes of the cache that this one covers.
    pub steps: Steps,
}

/// The state after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedTo {
    /// The object is stored at this version.
    Stored(ResourceVersion),
    /// The object with this UID was deleted.
    Deleted(Uid),
}

/// A write of a run, and the informer of the object's kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnWrite {
    /// The informer.
    pub informer: InformerId,
    /// The token from the response.
    pub token: WriteToken,
}

impl ObjectChange {
    /// Returns the change of an event; `None` if a run has to follow in any case: of an initial
    /// object, one that left the filter, another object of the name, and a subject that was marked
    /// for deletion, which has to be cleaned up.
    pub fn of<T: Object>(
        informer: InformerId,
        event: &Event<Arc<T>>,
        steps: Steps,
        is_subject: bool,
    ) -> Option<Self> {
        let object = event.object();
        let (before, after) = match event {
            Event::Added { initial: false, object } if !(is_subject && object.is_deleting()) => {
                (None, ChangedTo::Stored(object.version()?))
            }
            Event::Updated { old, object } => {
                let is_marked = is_subject && object.is_deleting() && !old.is_deleting();
                if is_marked || old.uid() != object.uid() {
                    return None;
                }
                (Some(old.version()?), ChangedTo::Stored(object.version()?))
            }
            Event::Deleted { last, .. } => (last.version(), ChangedTo::Deleted(Uid::new(last.uid()?)?)),
            _ => return None,
        };
        Some(Self { informer, key: object.key(), before, after, steps })
    }

    /// Returns whether the change consists of these writes alone.
    #[must_use]
    pub fn is_made_by(&self, writes: &[OwnWrite]) -> bool {
        let of_object = || {
            let concerns = |write: &&OwnWrite| write.informer == self.informer && write.token.key == self.key;
            writes.iter().filter(concerns).map(|write| &write.token)
        };
        match &self.after {
            // A UID is deleted once. Changes before the deletion went with the object.
            ChangedTo::Deleted(uid) => of_object().any(|token| {
                matches!(token.wrote, WriteOutcome::Removed(_)) && token.uid.as_ref() == Some(uid)
            }),
            ChangedTo::Stored(after) => {
                let stored = || of_object().filter_map(stored_version);
                if !self.steps.unbroken || !stored().any(|version| version == after) {
                    return false;
                }
                // A coalesced event: a foreign write hides between two versions unless each of the
                // steps is one of these writes.
                self.steps.changes == 1 || self.covered_steps(stored()) == self.steps.changes as usize
            }
        }
    }

    /// Number of writes after the version before the change, up to the one after it.
    fn covered_steps<'a>(&self, stored: impl Iterator<Item = &'a ResourceVersion>) -> usize {
        let ChangedTo::Stored(after) = &self.after else { return 0 };
        let is_covered = |version: &&ResourceVersion| {
            *version <= after && self.before.as_ref().is_none_or(|before| before < *version)
        };
        let mut covered: Vec<_> = stored.filter(is_covered).filter_map(ResourceVersion::revision).collect();
        // A write may have been reported twice.
        covered.sort_unstable();
        covered.dedup();
        covered.len()
    }
}

/// A version that is certain to be made by this write: another one may be that of a foreign write.
fn stored_version(token: &WriteToken) -> Option<&ResourceVersion> {
    match &token.wrote {
        WriteOutcome::Stored(version) => Some(version),
        _ => None,
    }
}
