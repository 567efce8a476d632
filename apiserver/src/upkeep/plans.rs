//! What definitions come to: which kinds, under which names.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery_objects::Revision;
use machinery_store::{Entry, Key};
use serde_json::Value;

use crate::crd::{self, Accepted, DefinedKinds, NameReservations, condition};
use crate::kind::{Kind, KindNames, Replaced};
use crate::native;
use crate::strategy::is_deleting;

/// What one definition comes to.
pub(super) struct Plan {
    pub(super) accepted: Accepted,
    pub(super) made: DefinedKinds,
}

/// What was made of each definition: it is made anew only where that comes to something else.
pub(crate) type Known = BTreeMap<Key, Before>;

pub(crate) struct Before {
    created: Revision,
    spec: Value,
    names: KindNames,
    is_deleting: bool,
    replaced: Replaced,
    made: DefinedKinds,
}

/// What definitions come to, in the order of their age, and who must know of kinds that are others from now on.
/// `there` are the kinds that need no definition: nobody has their names.
pub(super) fn plan(
    there: &[Arc<Kind>],
    definitions: &[(Arc<Entry>, Value)],
    known: &mut Known,
) -> (Vec<Plan>, Vec<Replaced>) {
    let group = |object: &Value| object["spec"]["group"].as_str().unwrap_or_default().to_owned();
    let had = |object: &Value| crd::names(&object["status"]["acceptedNames"]);
    let mut taken = NameReservations::default();
    there.iter().for_each(|kind| taken.note(NOBODY, &kind.group, &kind.names));
    for (at, (_, object)) in definitions.iter().enumerate() {
        taken.note(at, &group(object), &had(object));
    }
    let (mut replaced, mut before) = (Vec::new(), std::mem::take(known));
    let plan = |(at, (entry, object)): (usize, &(Arc<Entry>, Value))| {
        let (group, wanted) = (group(object), crd::names(&object["spec"]["names"]));
        let accepted = taken.accept(at, &group, &wanted, &had(object));
        // What a status says is not believed where it is about another's names.
        let keeps =
            || condition(object, "Established") == Some("True") && taken.has(at, &group, &accepted.names);
        let made = (accepted.conflict.is_none() || keeps()).then(|| {
            let now = make(entry, object, &accepted.names, before.remove(&entry.key), &mut replaced);
            let made = now.made.clone();
            known.insert(entry.key.clone(), now);
            made
        });
        Plan { accepted, made: made.unwrap_or_default() }
    };
    let plans = definitions.iter().enumerate().map(plan).collect();
    replaced.extend(before.into_values().map(|before| before.replaced));
    (plans, replaced)
}

/// Whose the names are of kinds that need no definition.
const NOBODY: usize = usize::MAX;

/// Of kinds that the program brings, one whose names another has, or a kind that is always there.
pub(super) fn clash(own: &[Arc<Kind>]) -> Option<String> {
    let mut taken = NameReservations::default();
    native::kinds().for_each(|kind| taken.note(NOBODY, &kind.group, &kind.names));
    let clashes = |(at, kind): &(usize, &Arc<Kind>)| {
        taken.accept(*at, &kind.group, &kind.names, &KindNames::default()).conflict.is_some()
    };
    own.iter().enumerate().find(clashes).map(|(_, kind)| kind.resource())
}

fn make(
    entry: &Entry,
    object: &Value,
    names: &KindNames,
    before: Option<Before>,
    replaced: &mut Vec<Replaced>,
) -> Before {
    let (spec, is_deleting) = (&object["spec"], is_deleting(object));
    let same = |of: &Before| of.created == entry.created && of.names == *names && of.spec == *spec;
    let (same, other) = match before {
        Some(before) if same(&before) && before.is_deleting == is_deleting => return before,
        Some(before) if same(&before) => (Some(before), None),
        other => (None, other),
    };
    replaced.extend(other.map(|other| other.replaced));
    // One that only goes is the same for who watches its objects: they see the end of them.
    let replaced = same.map(|same| same.replaced).unwrap_or_default();
    let made = crd::kinds(object, names, &replaced);
    for wrong in &made.wrong {
        tracing::warn!(definition = %entry.key, %wrong, "a definition that is stored would be refused");
    }
    Before { created: entry.created, spec: spec.clone(), names: names.clone(), is_deleting, replaced, made }
}
