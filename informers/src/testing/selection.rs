//! The selection of a watch.

use std::collections::BTreeSet;
use std::sync::Arc;

use machinery_objects::{Fields, Filter, InterestBy, Object, WatchEvent};

use super::history::{Commit, StoredObject};

pub(super) struct WatchSelection {
    pub(super) filter: Filter,
    /// The keys of an interest, if the watch has one.
    pub(super) keys: Option<(InterestBy, BTreeSet<Arc<str>>)>,
}

/// A commit as a watch with this selection sees it.
pub(super) enum SelectedChange<'a, T> {
    Present(&'a StoredObject<T>, fn(T) -> WatchEvent<T>),
    Removed(&'a StoredObject<T>, fn(T) -> WatchEvent<T>),
}

impl WatchSelection {
    pub(super) fn selects<T: Object>(&self, kept: &StoredObject<T>, fields: &Fields<T>) -> bool {
        let interesting = self
            .keys
            .as_ref()
            .is_none_or(|(by, keys)| key(by, &*kept.object, fields).is_some_and(|key| keys.contains(&*key)));
        interesting && self.filter.matches(&*kept.object, fields)
    }

    pub(super) fn select_change<'a, T: Object>(
        &self,
        commit: &'a Commit<T>,
        fields: &Fields<T>,
        reports_left: bool,
    ) -> Option<SelectedChange<'a, T>> {
        let selected =
            |kept: &Option<StoredObject<T>>| kept.as_ref().is_some_and(|kept| self.selects(kept, fields));
        let (was, is) = (selected(&commit.before), selected(&commit.after));
        match (commit.before.as_ref().filter(|_| was), commit.after.as_ref().filter(|_| is)) {
            (None, None) => None,
            (None, Some(after)) => Some(SelectedChange::Present(after, WatchEvent::Added)),
            (Some(_), Some(after)) => Some(SelectedChange::Present(after, WatchEvent::Modified)),
            (Some(before), None) if reports_left && commit.after.is_some() => {
                Some(SelectedChange::Removed(before, WatchEvent::Left))
            }
            (Some(before), None) => Some(SelectedChange::Removed(before, WatchEvent::Deleted)),
        }
    }
}

/// Returns the key of an object for an interest.
pub(super) fn key<T: Object>(by: &InterestBy, object: &T, fields: &Fields<T>) -> Option<String> {
    match by {
        InterestBy::Field(field) => fields.of(object).get(field).map(str::to_owned),
        InterestBy::Label(label) => object.labels().get(label).map(str::to_owned),
    }
}
