//! The refusals of a push over v2, and the state without what is refused.

use std::collections::{BTreeMap, BTreeSet};

use super::push_v2::WRITE;
use crate::drive::Refusal;
use crate::model::{CollectionId, Desired, Observed};
use crate::plan::{Place, foreign_users, retain, without};

/// The refusals of one push so far.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    /// Desired objects.
    objects: BTreeMap<Place, Refusal>,
    /// Own objects that the CNF does not remove, as those of others refer to them.
    removals: BTreeMap<Place, Refusal>,
}

/// A desired state that respects refusals.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) desired: Desired,
    /// The objects that are left out, with the reason, and whether a dependency is missing.
    pub(super) failed: BTreeMap<Place, (String, bool)>,
    /// The objects that are kept although they should go, with the reason.
    pub(super) leftovers: BTreeMap<Place, String>,
}

impl Refusals {
    /// Notes the refusals of a write of `whole`; returns whether there is a new one. Without, a
    /// repetition would be refused, too.
    pub(super) fn note(&mut self, refusals: &[Refusal], whole: &Desired) -> bool {
        let mut is_news = false;
        for refusal in refusals {
            let place = (refusal.collection, refusal.name.clone());
            let of = match refusal.is_removal {
                true => &mut self.removals,
                false if contains(whole, &place) => &mut self.objects,
                false => continue,
            };
            is_news |= of.insert(place, refusal.clone()).is_none();
        }
        is_news
    }

    /// Leaves refused objects and their dependents out, and keeps the objects that the CNF does not
    /// remove as they are.
    pub(super) fn respected(&self, whole: &Desired, config: &Observed) -> Attempt {
        if self.objects.is_empty() && self.removals.is_empty() {
            return Attempt { desired: whole.clone(), failed: BTreeMap::new(), leftovers: BTreeMap::new() };
        }
        let places: BTreeSet<_> = self.objects.keys().cloned().collect();
        let is_foreign = |collection: CollectionId, name: &str| {
            config.get(collection, name).is_some_and(|one| one.owner.as_ref() != Some(&whole.owner))
        };
        let (mut desired, omitted) = without(whole, &places, &is_foreign);
        let retained = retain(&mut desired, config, self.removals.keys());
        let failed = omitted
            .into_iter()
            .filter_map(|(place, root)| Some((place.clone(), self.reason(&place, &root)?)));
        let leftovers = retained.into_iter().filter_map(|(place, root)| {
            Some((place.clone(), self.reason_to_stay(&whole.owner, config, &place, &root)?))
        });
        Attempt { failed: failed.collect(), leftovers: leftovers.collect(), desired }
    }

    /// Returns the reason of an omitted object, and whether a dependency is missing.
    fn reason(&self, place: &Place, root: &Place) -> Option<(String, bool)> {
        let Refusal { code, message, .. } = self.objects.get(root)?;
        if place == root {
            return Some((format!("{WRITE}: refused ({code}): {message}"), *code == 428));
        }
        let noun = root.0.row().noun;
        Some((format!("awaits {noun} {:?}, which the CNF refuses ({code}): {message}", root.1), true))
    }

    /// Returns the reason why an object is still there.
    fn reason_to_stay(&self, owner: &str, config: &Observed, place: &Place, root: &Place) -> Option<String> {
        let Refusal { code, message, .. } = self.removals.get(root)?;
        let users = foreign_users(owner, config, root).join(", ");
        let by = if users.is_empty() { users } else { format!(" by {users} of another client") };
        let refused = format!("{WRITE}: refused ({code}): {message}{by}");
        match place == root {
            true => Some(refused),
            false => Some(format!("is used by {} {:?}; {refused}", root.0.row().noun, root.1)),
        }
    }
}

fn contains(desired: &Desired, (collection, name): &Place) -> bool {
    desired.of(*collection).iter().any(|object| object.name() == name)
}
