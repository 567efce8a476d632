//! The other objects under the keys of a write, of all kinds that its guards are over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machinery_objects::Revision;
use machinery_store::{Entry, Key};

use super::Guard;
use super::conditions::WrittenKeys;
use super::key::{is_of, record};
use crate::change::{KindView, ObjectWrite};
use crate::kind::Kind;
use crate::refusal::Refusal;
use crate::storage::{Moment, Place};

/// Views of the kinds that guards are over, one per kind.
pub(super) struct OtherObjects<'c> {
    views: Vec<KindView>,
    own: &'c Place,
    key: &'c Key,
    /// The oldest revision of the views. If nothing under a key was written since, all views show
    /// the same state of it.
    pub(super) at: Revision,
}

impl<'c> OtherObjects<'c> {
    /// Reads the kinds of these guards, with all acknowledged writes.
    ///
    /// # Errors
    /// A kind cannot be read as of now. Nothing was committed.
    pub(super) async fn read(change: &ObjectWrite<'c>, guards: &[Arc<dyn Guard>]) -> Result<Self, Refusal> {
        let own = change.kind_view(None).await?;
        let mut others = Self { at: own.view.at, views: vec![own], own: &change.kind.place, key: change.key };
        let registry = change.shared.kinds();
        let members: BTreeSet<&Place> = guards.iter().filter_map(|guard| guard.members()).flatten().collect();
        for member in members {
            // A kind without a definition has no objects; its first one is written under the record.
            let Some(kind) = registry.stored(member).filter(|_| member != others.own) else { continue };
            let view = change.view_of(kind).await?;
            others.at = others.at.min(view.view.at);
            others.views.push(view);
        }
        Ok(others)
    }

    /// Returns the other objects under a key, by kind and store key.
    pub(super) fn under<'s>(
        &'s self,
        guards: &'s [Arc<dyn Guard>],
        key: &'s str,
    ) -> impl Iterator<Item = (&'s Arc<Kind>, &'s Arc<Entry>)> {
        let guard = guards.iter().find(|guard| is_of(key, guard.prefix()));
        // Own guards of two kinds may have one name: their keys are different.
        let is_over = move |view: &&KindView| match guard.and_then(|guard| guard.members()) {
            Some(members) => members.contains(&view.kind.place),
            None => view.kind.place == *self.own,
        };
        let of_view = move |of: &'s KindView| of.view.guarded(key).map(move |state| (&of.kind, &state.entry));
        let all = self.views.iter().filter(is_over).flat_map(of_view);
        all.filter(|(_, entry)| entry.key != *self.key)
    }

    /// Returns the other objects under the keys of one guard, each once.
    pub(super) fn of_guard(
        &self,
        guards: &[Arc<dyn Guard>],
        keys: &[String],
        guard: &dyn Guard,
    ) -> Vec<(Arc<Kind>, Arc<Entry>)> {
        let own = keys.iter().filter(|key| is_of(key, guard.prefix()));
        let found: BTreeMap<_, _> = own
            .flat_map(|key| self.under(guards, key))
            .map(|(kind, entry)| (&entry.key, (kind, entry)))
            .collect();
        found.into_values().map(|(kind, entry)| (kind.clone(), entry.clone())).collect()
    }

    /// Returns whether the views may show a state that never existed: they are of different
    /// revisions, and an object under one of these keys was written after the oldest.
    pub(super) async fn is_torn(
        &self,
        change: &ObjectWrite<'_>,
        keys: &WrittenKeys,
    ) -> Result<bool, Refusal> {
        if self.views.iter().all(|view| view.view.at == self.at) {
            return Ok(false);
        }
        let records: BTreeSet<Key> = keys.all().map(|key| record(change.kind, key)).collect();
        for record in records {
            let there = change.shared.objects.get(&record, Moment::Newest).await?;
            if there.is_some_and(|there| there.modified > self.at) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
