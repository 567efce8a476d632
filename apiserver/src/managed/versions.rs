//! Field sets by API version: each is compared in the version in which its manager wrote.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::Value;

use super::compare::{Comparison, compare};
use super::entry::Managed;
use super::of::Unkeyed;
use super::reconcile::reconciled;
use super::topology::Root;
use super::{Deduced, ListMeta, Write};

/// The versions of a kind.
pub(crate) trait Versions {
    /// The topology of objects in a version. `None` if there is no such version: entries of that
    /// version are dropped.
    fn lists(&self, api_version: &str) -> Option<&dyn ListMeta>;

    /// An object of any version, as one of this.
    fn converted(&self, object: &Value, api_version: &str) -> Value {
        let mut object = object.clone();
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".into(), api_version.into());
        }
        object
    }
}

impl<'a> Write<'a> {
    /// Returns the topology of the object in the version of the write.
    pub(super) fn lists(&self) -> Root<'a> {
        self.lists_in(self.api_version).unwrap_or(Root(&Deduced))
    }

    pub(super) fn lists_in(&self, api_version: &str) -> Option<Root<'a>> {
        self.versions.lists(api_version).map(Root)
    }
}

/// Drops entries of versions that no longer exist, and reconciles the sets of all others with the
/// current schemas.
pub(super) fn brought_up_to_date(managed: &mut Managed, write: &Write<'_>) {
    managed.retain(|_, owned| match write.lists_in(&owned.api_version) {
        Some(lists) => {
            owned.set = reconciled(std::mem::take(&mut owned.set), &lists);
            true
        }
        // Dropped: Kubernetes stops processing all entries of the write instead.
        None => false,
    });
}

/// The differences of two states of an object, computed per version on demand.
pub(super) struct Differences<'a> {
    old: &'a Value,
    new: &'a Value,
    write: &'a Write<'a>,
    leaves: &'a [&'a str],
    known: BTreeMap<String, Comparison>,
}

impl<'a> Differences<'a> {
    /// Between these, which are of the version that is written, but for some fields of the root.
    pub(super) fn new(old: &'a Value, new: &'a Value, write: &'a Write<'a>, leaves: &'a [&'a str]) -> Self {
        Self { old, new, write, leaves, known: BTreeMap::new() }
    }

    pub(super) fn in_version(&mut self, api_version: &str) -> Result<&Comparison, Unkeyed> {
        match self.known.entry(api_version.to_owned()) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(place) => {
                let Self { old, new, write, leaves, .. } = self;
                let lists = write.lists_in(api_version).unwrap_or(Root(&Deduced));
                let found = if api_version == write.api_version {
                    compare(old, new, &lists)?
                } else {
                    let in_version = |object: &Value| write.versions.converted(object, api_version);
                    compare(&in_version(old), &in_version(new), &lists)?
                };
                Ok(place.insert(Comparison {
                    added: found.added.less_root(leaves),
                    modified: found.modified.less_root(leaves),
                    removed: found.removed.less_root(leaves),
                }))
            }
        }
    }
}
