//! Names and references among the CRs of a CNF.

use std::collections::{BTreeMap, BTreeSet};

use super::compose::{Candidate, Composition, Problem, ProblemKind, Verdict};
use crate::model::{CollectionId, Networks, SdewanKind, references};

/// Gives each name to the oldest of its candidates; the others are excluded.
pub(super) fn claim_names<'a>(
    candidates: Vec<Candidate<'a>>,
    networks: &Networks,
    result: &mut Composition,
) -> Vec<Candidate<'a>> {
    let mut holders: BTreeMap<(&str, String), String> = BTreeMap::new();
    let mut kept = Vec::new();
    for candidate in candidates {
        let space = candidate.object.collection().row().name_space;
        let names: Vec<_> = candidate.object.taken_names().into_iter().map(str::to_owned).collect();
        let taken = names.iter().find_map(|name| {
            if space == "mwan3" && networks.has_nic(name) {
                return Some(format!("the name {name:?} is that of a NIC of the CNF: choose another"));
            }
            let holder = holders.get(&(space, name.clone()))?;
            Some(format!("the name {name:?} is taken by the older {holder}"))
        });
        match taken {
            Some(message) => {
                let problem = Problem { kind: ProblemKind::NameTaken, message };
                result.set(candidate.number, Verdict::Excluded(problem));
            }
            None => {
                let holder = candidate.shown();
                holders.extend(names.into_iter().map(|name| ((space, name), holder.clone())));
                kept.push(candidate);
            }
        }
    }
    kept
}

/// Keeps the leaving candidates with names that no living one has.
pub(super) fn unclaimed<'a>(leaving: Vec<Candidate<'a>>, living: &[Candidate<'a>]) -> Vec<Candidate<'a>> {
    let mut names = BTreeSet::new();
    for candidate in living {
        let space = candidate.object.collection().row().name_space;
        names.extend(candidate.object.taken_names().into_iter().map(|name| (space, name.to_owned())));
    }
    let is_free = |candidate: &Candidate<'_>| {
        let space = candidate.object.collection().row().name_space;
        candidate.object.taken_names().into_iter().all(|name| !names.contains(&(space, name.to_owned())))
    };
    leaving.into_iter().filter(is_free).collect()
}

/// Includes the living candidates with existing references, and retains the leaving ones that
/// these use.
pub(super) fn resolve<'a>(
    living: Vec<Candidate<'a>>,
    mut shadows: Vec<Candidate<'a>>,
    is_foreign: &dyn Fn(CollectionId, &str) -> bool,
    result: &mut Composition,
) -> (Vec<Candidate<'a>>, Vec<(Candidate<'a>, String)>) {
    let (mut included, mut retained) = (Vec::<Candidate<'a>>::new(), Vec::new());
    let mut present: BTreeSet<(CollectionId, String)> = BTreeSet::new();
    let mut by_collection: BTreeMap<CollectionId, Vec<Candidate<'a>>> = BTreeMap::new();
    for candidate in living {
        by_collection.entry(candidate.object.collection()).or_default().push(candidate);
    }
    // References are to earlier collections only.
    for candidate in by_collection.into_values().flatten() {
        let (mut missing, mut used) = (None, Vec::new());
        for (collection, name) in references(&candidate.object) {
            if present.contains(&(collection, name.clone())) || is_foreign(collection, &name) {
                continue;
            }
            let shadow = shadows
                .iter()
                .position(|one| one.object.collection() == collection && one.object.name() == name);
            match shadow {
                // It was applied with the object in place; a newer one has to wait.
                Some(shadow) if candidate.was_applied() => used.push(shadow),
                Some(_) => missing = Some((collection, name, ", which is being deleted")),
                None => missing = Some((collection, name, "")),
            }
        }
        if let Some((collection, name, why)) = missing {
            let message = format!("awaits {} {name:?}{why}", kinds_of(collection));
            let problem = Problem { kind: ProblemKind::MissingDependency, message };
            result.set(candidate.number, Verdict::Excluded(problem));
            continue;
        }
        used.sort_unstable();
        used.dedup();
        for shadow in used.into_iter().rev() {
            let shadow = shadows.remove(shadow);
            present.insert((shadow.object.collection(), shadow.object.name().to_owned()));
            retained.push((shadow, candidate.shown()));
        }
        present.insert((candidate.object.collection(), candidate.object.name().to_owned()));
        result.set(candidate.number, Verdict::Included);
        included.push(candidate);
    }
    (included, retained)
}

/// Returns the kinds of a collection, for messages: `mwan3policy`.
fn kinds_of(collection: CollectionId) -> String {
    let kinds = crate::model::KINDS.iter().filter(|kind| kind.collection == Some(collection));
    let names: Vec<_> = kinds.map(|kind: &SdewanKind| kind.kind.to_lowercase()).collect();
    names.join(" or ")
}
