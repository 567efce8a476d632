//! The outcome of a pod for one CR, and the places of objects.

use super::pod::{PodConfig, PodReport};
use super::record::WrittenNames;
use crate::drive::{CnfError, CnfErrorClass};
use crate::model::{CnfKey, CollectionId, Desired};
use crate::plan::{CrInput, Place, PodOutcome, Verdict, owner_of};

/// Returns the outcome of a pod for one CR.
pub(super) fn outcome(
    report: &PodReport,
    place: Option<&Place>,
    verdict: &Verdict,
    cr: &CrInput,
) -> PodOutcome {
    let fails = |message: String, is_dependency| PodOutcome::Fails { message, is_dependency };
    if let Some(error) = &report.failure {
        return fails(error.to_string(), false);
    }
    if *verdict == Verdict::Leaving {
        let left = rest_place(cr).and_then(|place| report.leftovers.get(&place).cloned());
        return left.map_or(PodOutcome::Holds { written: false }, |message| fails(message, false));
    }
    let Some(place) = place else { return PodOutcome::Holds { written: false } };
    match report.failed.get(place) {
        Some((message, is_dependency)) => fails(message.clone(), *is_dependency),
        None => PodOutcome::Holds { written: report.written.contains(place) },
    }
}

/// Returns the place of a CR's object in the REST API.
pub(super) fn rest_place(cr: &CrInput) -> Option<Place> {
    Some((cr.resource.kind.collection?, cr.object.name().to_owned()))
}

pub(super) fn names_of(desired: &Desired) -> impl Iterator<Item = Place> {
    desired.objects.values().flatten().map(|object| (object.collection(), object.name().to_owned()))
}

/// Returns whether every pod that was read has an object that is not the agent's.
pub(super) fn is_in_all(
    configs: &[Result<PodConfig, CnfError>],
    collection: CollectionId,
    name: &str,
    written: &WrittenNames,
    cnf: &CnfKey,
) -> bool {
    let owner = owner_of(cnf);
    let has = |config: &PodConfig| match config {
        PodConfig::V2(config) => {
            config.get(collection, name).is_some_and(|one| one.owner.as_ref() != Some(&owner))
        }
        PodConfig::V1(lists) => {
            let objects = lists.get(&collection).into_iter().flatten();
            !written.contains(collection, name) && objects.into_iter().any(|one| one.name() == name)
        }
    };
    let mut read = configs.iter().flatten().peekable();
    read.peek().is_some() && read.all(has)
}

pub(super) fn too_slow(call: &str) -> CnfError {
    CnfError::new(CnfErrorClass::Unreachable, call, "the calls to the pod took too long")
}
