//! Computes the kinds and accepted names of CustomResourceDefinitions.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery_objects::Revision;
use machinery_store::{Entry, Key};
use serde_json::Value;

use crate::crd::{self, Accepted, DefinedKinds, NameReservations, condition};
use crate::kind::{Kind, KindNames, Replaced};
use crate::native;
use crate::strategy::is_deleting;

/// The accepted names and the kinds of one definition, to be served and recorded in its status.
pub(super) struct DefinitionPlan {
    pub(super) accepted: Accepted,
    pub(super) made: DefinedKinds,
}

/// The kinds of each definition; rebuilt only if the outcome differs.
pub(crate) type KnownDefinitions = BTreeMap<Key, KnownDefinition>;

pub(crate) struct KnownDefinition {
    created: Revision,
    spec: Value,
    names: KindNames,
    is_deleting: bool,
    replaced: Replaced,
    made: DefinedKinds,
}

/// Computes the outcome of definitions, oldest first, and the replaced kinds, to notify their
/// watchers. `there` are kinds without a definition; their names are reserved.
pub(super) fn plan(
    there: &[Arc<Kind>],
    definitions: &[(Arc<Entry>, Value)],
    known: &mut KnownDefinitions,
) -> (Vec<DefinitionPlan>, Vec<Replaced>) {
    let group = |object: &Value| object["spec"]["group"].as_str().unwrap_or_default().to_owned();
    let had = |object: &Value| crd::names(&object["status"]["acceptedNames"]);
    let mut taken = NameReservations::default();
    // First: no definition can take a name of a built-in kind or of the program.
    there.iter().for_each(|kind| taken.note(NOBODY, &kind.group, &kind.names));
    for (at, (_, object)) in definitions.iter().enumerate() {
        taken.note(at, &group(object), &had(object));
    }
    let (mut replaced, mut before) = (Vec::new(), std::mem::take(known));
    let plan = |(at, (entry, object)): (usize, &(Arc<Entry>, Value))| {
        let (group, wanted) = (group(object), crd::names(&object["spec"]["names"]));
        let accepted = taken.accept(at, &group, &wanted, &had(object));
        // A status cannot claim another definition's names.
        let keeps =
            || condition(object, "Established") == Some("True") && taken.has(at, &group, &accepted.names);
        let made = (accepted.conflict.is_none() || keeps()).then(|| {
            let now = make(entry, object, &accepted.names, before.remove(&entry.key), &mut replaced);
            let made = now.made.clone();
            known.insert(entry.key.clone(), now);
            made
        });
        DefinitionPlan { accepted, made: made.unwrap_or_default() }
    };
    let plans = definitions.iter().enumerate().map(plan).collect();
    replaced.extend(before.into_values().map(|before| before.replaced));
    (plans, replaced)
}

/// The owner of the names of kinds without a definition.
const NOBODY: usize = usize::MAX;

/// Returns a kind of the program itself that has a name of another kind.
pub(super) fn clash(own: &[Arc<Kind>]) -> Option<String> {
    let mut taken = NameReservations::default();
    native::kinds().for_each(|kind| taken.note(NOBODY, &kind.group, &kind.names));
    let clashes = |(at, kind): &(usize, &Arc<Kind>)| {
        taken.accept(*at, &kind.group, &kind.names, &KindNames::default()).conflict.is_some()
    };
    // The versions of one kind share its names.
    own.iter().filter(|kind| kind.stored.is_none()).enumerate().find(clashes).map(|(_, kind)| kind.resource())
}

fn make(
    entry: &Entry,
    object: &Value,
    names: &KindNames,
    before: Option<KnownDefinition>,
    replaced: &mut Vec<Replaced>,
) -> KnownDefinition {
    let (spec, is_deleting) = (&object["spec"], is_deleting(object));
    let same = |of: &KnownDefinition| of.created == entry.created && of.names == *names && of.spec == *spec;
    let (same, other) = match before {
        Some(before) if same(&before) && before.is_deleting == is_deleting => return before,
        Some(before) if same(&before) => (Some(before), None),
        other => (None, other),
    };
    replaced.extend(other.map(|other| other.replaced));
    // A kind in deletion stays the same for watchers, which see its objects deleted.
    let replaced = same.map(|same| same.replaced).unwrap_or_default();
    let made = crd::kinds(object, names, &replaced);
    for wrong in &made.wrong {
        tracing::warn!(definition = %entry.key, %wrong, "a definition that is stored would be refused");
    }
    KnownDefinition {
        created: entry.created,
        spec: spec.clone(),
        names: names.clone(),
        is_deleting,
        replaced,
        made,
    }
}
