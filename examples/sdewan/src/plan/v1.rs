//! The steps that bring a pod to the desired state over v1, one object each.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{CollectionId, Desired, RestObject, Service, references};

/// A step over v1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum V1Step {
    /// Deletes an object.
    Delete(CollectionId, String),
    /// Creates an object at the end of its collection.
    Create(RestObject),
    /// Replaces an object in its place.
    Replace(RestObject),
}

/// The steps of a pod, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct V1Plan {
    /// The steps.
    pub steps: Vec<V1Step>,
}

impl V1Step {
    /// Returns the object of the step.
    #[must_use]
    pub fn place(&self) -> (CollectionId, String) {
        match self {
            Self::Delete(collection, name) => (*collection, name.clone()),
            Self::Create(object) | Self::Replace(object) => (object.collection(), object.name().to_owned()),
        }
    }
}

impl V1Plan {
    /// Returns the services that changes of these objects restart, each once.
    #[must_use]
    pub fn services<'a>(done: impl IntoIterator<Item = &'a V1Step>) -> BTreeSet<Service> {
        done.into_iter().filter_map(|step| step.place().0.row().service).collect()
    }
}

/// Returns the steps from the collections of a pod to the desired state. `is_own` returns whether
/// the agent may have created an object; others stay, unless a CR has their name.
///
/// Objects are created and replaced before those that refer to them, and deleted after them. A
/// replaced object keeps its place, a new one at the end costs one creation; for an insertion the
/// objects after it are deleted, last first, and created again.
#[must_use]
pub fn v1_plan(
    desired: &Desired,
    observed: &BTreeMap<CollectionId, Vec<RestObject>>,
    is_own: &dyn Fn(CollectionId, &str) -> bool,
) -> V1Plan {
    let (mut deletes, mut writes) = (Vec::new(), Vec::new());
    for collection in CollectionId::all() {
        let found = observed.get(&collection).map_or(&[][..], Vec::as_slice);
        let one = plan_collection(desired.of(collection), found, &|name| is_own(collection, name));
        deletes.push((collection, one.deletes));
        writes.extend(one.writes);
    }
    let (early, late) = split_deletes(&deletes, observed);
    V1Plan { steps: early.into_iter().chain(writes).chain(late).collect() }
}

struct CollectionPlan {
    /// Names in the order of deletion.
    deletes: Vec<String>,
    writes: Vec<V1Step>,
}

fn plan_collection(
    wanted: &[RestObject],
    found: &[RestObject],
    is_own: &dyn Fn(&str) -> bool,
) -> CollectionPlan {
    let names: BTreeSet<_> = wanted.iter().map(RestObject::name).collect();
    // A defect of the original: two objects of one name, which a delete removes together.
    let mut known = BTreeSet::new();
    let doubled: BTreeSet<_> =
        found.iter().map(RestObject::name).filter(|name| !known.insert(*name)).collect();
    let own = found.iter().filter(|one| names.contains(one.name()) || is_own(one.name()));
    let (mut kept, mut deleted) = (Vec::new(), Vec::new());
    for object in own {
        if names.contains(object.name()) && !doubled.contains(object.name()) {
            kept.push(object);
        } else if !deleted.contains(&object.name()) {
            deleted.push(object.name());
        }
    }
    let is_ordered = wanted.first().is_some_and(|object| object.collection().is_ordered());
    let in_place = kept.iter().zip(wanted).take_while(|(kept, wanted)| kept.name() == wanted.name()).count();
    // Beyond the common beginning: only appended objects may follow, or all are made again.
    let remade: BTreeSet<&str> = match is_ordered && in_place < kept.len() {
        true => kept.iter().skip(in_place).map(|object| object.name()).collect(),
        false => BTreeSet::new(),
    };
    deleted.extend(kept.iter().map(|object| object.name()).filter(|name| remade.contains(name)));
    let place = |name: &&str| found.iter().rposition(|object| object.name() == *name);
    deleted.sort_by_key(|name| std::cmp::Reverse(place(name)));
    let write = |object: &RestObject| {
        let old = kept.iter().find(|kept| kept.name() == object.name() && !remade.contains(kept.name()));
        match old {
            Some(old) if **old == *object => None,
            Some(_) => Some(V1Step::Replace(object.clone())),
            None => Some(V1Step::Create(object.clone())),
        }
    };
    CollectionPlan {
        deletes: deleted.into_iter().map(str::to_owned).collect(),
        writes: wanted.iter().filter_map(write).collect(),
    }
}

/// Separates the deletes that can go first, which free names and places, from those of objects that
/// others still use until they are written or deleted themselves.
fn split_deletes(
    deletes: &[(CollectionId, Vec<String>)],
    observed: &BTreeMap<CollectionId, Vec<RestObject>>,
) -> (Vec<V1Step>, Vec<V1Step>) {
    let mut gone: BTreeSet<(CollectionId, &str)> = BTreeSet::new();
    let (mut early, mut late) = (Vec::new(), Vec::new());
    // Users first: references are to earlier collections only.
    for (collection, names) in deletes.iter().rev() {
        let mut used = BTreeSet::new();
        for object in observed.values().flatten() {
            if !gone.contains(&(object.collection(), object.name())) {
                used.extend(references(object).into_iter().filter(|(target, _)| target == collection));
            }
        }
        for name in names {
            let step = V1Step::Delete(*collection, name.clone());
            if used.contains(&(*collection, name.clone())) {
                late.push(step);
            } else {
                gone.insert((*collection, name));
                early.push(step);
            }
        }
    }
    (early, late)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn policy(name: &str) -> RestObject {
        RestObject::from_body(CollectionId::Policies, json!({"name": name})).unwrap()
    }

    fn rule(name: &str, policy: &str) -> RestObject {
        RestObject::from_body(CollectionId::Mwan3Rules, json!({"name": name, "policy": policy})).unwrap()
    }

    /// Plans from rules and policies to others; names with a `f` first are foreign.
    fn plan(found: (&[RestObject], &[RestObject]), wanted: (&[RestObject], &[RestObject])) -> Vec<String> {
        let state = |(policies, rules): (&[RestObject], &[RestObject])| {
            BTreeMap::from([
                (CollectionId::Policies, policies.to_vec()),
                (CollectionId::Mwan3Rules, rules.to_vec()),
            ])
        };
        let desired = Desired { owner: "o".into(), objects: state(wanted) };
        let planned = v1_plan(&desired, &state(found), &|_, name| !name.starts_with('f'));
        let show = |step: &V1Step| {
            let (verb, (_, name)) = (
                match step {
                    V1Step::Delete(..) => "-",
                    V1Step::Create(_) => "+",
                    V1Step::Replace(_) => "=",
                },
                step.place(),
            );
            format!("{verb}{name}")
        };
        planned.steps.iter().map(show).collect()
    }

    #[test]
    fn a_lone_append_costs_one_creation() {
        let p = [policy("p")];
        let steps = plan((&p, &[rule("a", "p")]), (&p, &[rule("a", "p"), rule("b", "p")]));
        assert_eq!(steps, ["+b"]);
    }

    #[test]
    fn an_insertion_makes_the_objects_after_it_again() {
        let p = [policy("p")];
        let found = [rule("a", "p"), rule("c", "p"), rule("d", "p")];
        let wanted = [rule("a", "p"), rule("b", "p"), rule("c", "p"), rule("d", "p")];
        assert_eq!(plan((&p, &found), (&p, &wanted)), ["-d", "-c", "+b", "+c", "+d"]);
    }

    #[test]
    fn foreign_objects_stay_and_do_not_count_for_the_order() {
        let p = [policy("p")];
        let found = [rule("f1", "p"), rule("a", "p"), rule("f2", "p")];
        let steps = plan((&p, &found), (&p, &[rule("a", "p"), rule("b", "p")]));
        assert_eq!(steps, ["+b"]);
    }

    #[test]
    fn a_change_keeps_the_place_and_an_orphan_goes() {
        let p = [policy("p"), policy("q")];
        let found = [rule("a", "p"), rule("x", "p"), rule("b", "p")];
        let steps = plan((&p, &found), (&p, &[rule("a", "q"), rule("b", "p")]));
        assert_eq!(steps, ["-x", "=a"]);
    }

    #[test]
    fn users_are_written_before_the_deletion_of_their_former_target() {
        let steps = plan((&[policy("p")], &[rule("a", "p")]), (&[policy("q")], &[rule("a", "q")]));
        assert_eq!(steps, ["+q", "=a", "-p"]);
        let steps = plan((&[policy("p")], &[rule("a", "p")]), (&[], &[]));
        assert_eq!(steps, ["-a", "-p"]);
    }

    #[test]
    fn doubled_objects_are_made_once() {
        let p = [policy("p")];
        let found = [rule("a", "p"), rule("b", "p"), rule("a", "p")];
        assert_eq!(plan((&p, &found), (&p, &[rule("a", "p"), rule("b", "p")])), ["-a", "-b", "+a", "+b"]);
    }
}
