//! The desired state that the CRs of a CNF make, with a verdict on each.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::resolve::{claim_names, resolve, unclaimed};
use crate::model::{
    CnfKey, CollectionId, ConvertContext, Desired, Networks, RestObject, SdewanObject, ServedResource,
    convert,
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

/// A CR that converts, with its object.
pub(super) struct Candidate<'a> {
    pub(super) number: usize,
    pub(super) input: &'a CrInput,
    pub(super) object: RestObject,
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
    pub(super) fn set(&mut self, number: usize, verdict: Verdict) {
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
    pub(super) fn was_applied(&self) -> bool {
        self.input.object.has_finalizer(self.input.resource.kind.finalizer)
    }

    pub(super) fn shown(&self) -> String {
        let (kind, group) = (self.input.resource.kind.kind.to_lowercase(), self.input.resource.group);
        let group = if group == crate::model::names::GROUP { "" } else { " of the group sdewan.akraino.org" };
        format!("{kind} {:?}{group}", self.input.object.name())
    }
}
