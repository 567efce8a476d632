//! The desired state that the CRs of a CNF make, with a verdict on each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{
    CnfKey, CollectionId, ConvertContext, Desired, Networks, RestObject, SdewanKind, SdewanObject,
    ServedResource, convert, references,
};

/// A CR of a CNF.
#[derive(Clone, Debug)]
pub struct CrInput {
    /// Its kind and group.
    pub resource: ServedResource,
    /// The object.
    pub object: Arc<SdewanObject>,
}

/// The verdict on a CR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is in the desired state.
    Included,
    /// It is being deleted and not in the desired state.
    Leaving,
    /// It is being deleted and kept in the desired state, as another object uses it.
    InUse {
        /// The user: `mwan3rule "r1"`.
        by: String,
    },
    /// It is not in the desired state.
    Excluded(Problem),
}

/// The reason why a CR is not in the desired state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its kind.
    pub kind: ProblemKind,
    /// The message for the status.
    pub message: String,
}

/// A kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// A field is wrong: the object has to change.
    Invalid,
    /// An older object has the name.
    NameTaken,
    /// A referenced object is awaited.
    MissingDependency,
    /// The object is still in the CNF of its former purpose.
    Moving,
}

/// The desired state of a CNF, and the verdicts on its CRs.
#[derive(Clone, Debug, Default)]
pub struct Composition {
    /// The desired state.
    pub desired: Desired,
    /// The verdict on each CR, by its place in the input.
    pub verdicts: Vec<Verdict>,
    /// The name of the object of each CR, if it has one in the desired state.
    pub places: Vec<Option<(CollectionId, String)>>,
}

/// The order of CRs in a collection, and their age.
type SortKey<'a> = (u32, i64, &'a str, &'a str, &'a str, &'a str);

struct Candidate<'a> {
    number: usize,
    input: &'a CrInput,
    object: RestObject,
}

/// Returns the owner of a CNF's objects over v2.
#[must_use]
pub fn owner_of(cnf: &CnfKey) -> String {
    format!("sdewan-agent:{cnf}")
}

/// Makes the desired state of a CNF from its CRs. `is_foreign` returns whether every pod has an
/// object of another owner, to which CRs may refer. `addresses` are those of an application's pods.
#[must_use]
pub fn compose(
    cnf: &CnfKey,
    inputs: &[CrInput],
    networks: &Networks,
    secret: &(dyn Fn(&str, &str) -> Result<String, String> + Sync),
    addresses: &dyn Fn(&CrInput) -> Option<String>,
    is_foreign: &dyn Fn(CollectionId, &str) -> bool,
) -> Composition {
    let mut result = Composition {
        desired: Desired { owner: owner_of(cnf), objects: BTreeMap::new() },
        verdicts: vec![Verdict::Leaving; inputs.len()],
        places: vec![None; inputs.len()],
    };
    let mut candidates = Vec::new();
    for (number, input) in inputs.iter().enumerate() {
        match candidate(cnf, input, networks, secret, addresses) {
            Ok(object) => candidates.push(Candidate { number, input, object }),
            Err(_) if input.object.is_being_deleted() => {}
            Err(problem) => result.set(number, Verdict::Excluded(problem)),
        }
    }
    candidates.sort_by(|a, b| a.age().cmp(&b.age()));
    let (leaving, living): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|candidate| candidate.input.object.is_being_deleted());
    let living = claim_names(living, networks, &mut result);
    let shadows = unclaimed(leaving, &living);
    let (included, mut retained) = resolve(living, shadows, is_foreign, &mut result);
    for (candidate, by) in &mut retained {
        result.set(candidate.number, Verdict::InUse { by: std::mem::take(by) });
    }
    let mut all: Vec<_> = included.into_iter().chain(retained.into_iter().map(|(one, _)| one)).collect();
    all.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
    for candidate in all {
        let place = (candidate.object.collection(), candidate.object.name().to_owned());
        if let Some(slot) = result.places.get_mut(candidate.number) {
            *slot = Some(place);
        }
        let collection = candidate.object.collection();
        result.desired.objects.entry(collection).or_default().push(candidate.object);
    }
    result
}

impl Composition {
    fn set(&mut self, number: usize, verdict: Verdict) {
        if let Some(slot) = self.verdicts.get_mut(number) {
            *slot = verdict;
        }
    }
}

/// Returns the REST object of a CR.
fn candidate(
    cnf: &CnfKey,
    input: &CrInput,
    networks: &Networks,
    secret: &(dyn Fn(&str, &str) -> Result<String, String> + Sync),
    addresses: &dyn Fn(&CrInput) -> Option<String>,
) -> Result<RestObject, Problem> {
    let object = &*input.object;
    let problem = |kind, message| Problem { kind, message };
    if let Some(other) = object.applied_to().filter(|to| to.purpose != cnf.purpose) {
        let message = format!(
            "its rule is still in the CNF of the purpose {:?}, and is removed there first",
            other.purpose
        );
        return Err(problem(ProblemKind::Moving, message));
    }
    if object.cnf() != *cnf {
        return Err(problem(ProblemKind::Moving, "it belongs to another CNF by its label".into()));
    }
    object.order().map_err(|message| problem(ProblemKind::Invalid, message))?;
    let context = ConvertContext { networks: Some(networks), secret, addresses: addresses(input) };
    convert(input.resource.kind, object.name(), &object.spec, &context).map_err(|errors| {
        let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
        problem(ProblemKind::Invalid, texts.join("; "))
    })
}

/// Gives each name to the oldest of its candidates; the others are excluded.
fn claim_names<'a>(
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

/// Keeps the leaving candidates whose names no living one has.
fn unclaimed<'a>(leaving: Vec<Candidate<'a>>, living: &[Candidate<'a>]) -> Vec<Candidate<'a>> {
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

/// Includes the living candidates whose references exist, and retains the leaving ones that these
/// use.
#[expect(clippy::type_complexity, reason = "of one caller")]
fn resolve<'a>(
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

impl Candidate<'_> {
    fn age(&self) -> SortKey<'_> {
        let (_, created, namespace, name, kind, group) = self.sort_key();
        (0, created, namespace, name, kind, group)
    }

    fn sort_key(&self) -> SortKey<'_> {
        let (object, resource) = (&self.input.object, &self.input.resource);
        let created = object.metadata.creation_timestamp.as_ref().map_or(i64::MAX, |time| time.0.as_second());
        let order = object.order().unwrap_or(crate::model::DEFAULT_ORDER);
        (order, created, object.namespace(), object.name(), resource.kind.kind, resource.group)
    }

    /// Returns whether the CR may be in the CNF: it has its finalizer, which precedes any write.
    fn was_applied(&self) -> bool {
        self.input.object.has_finalizer(self.input.resource.kind.finalizer)
    }

    fn shown(&self) -> String {
        let (kind, group) = (self.input.resource.kind.kind.to_lowercase(), self.input.resource.group);
        let group = if group == crate::model::names::GROUP { "" } else { " of the group sdewan.akraino.org" };
        format!("{kind} {:?}{group}", self.input.object.name())
    }
}

/// Returns the kinds of a collection, for messages: `mwan3policy`.
fn kinds_of(collection: CollectionId) -> String {
    let kinds = crate::model::KINDS.iter().filter(|kind| kind.collection == Some(collection));
    let names: Vec<_> = kinds.map(|kind: &SdewanKind| kind.kind.to_lowercase()).collect();
    names.join(" or ")
}
