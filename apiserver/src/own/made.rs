//! Builds the kind of a program's type.

use std::sync::Arc;

use serde_json::Value;

use super::Own;
use crate::crd::{self, DefinedKinds};
use crate::guard::check_names;
use crate::invalid::{FieldError, Problem, invalid};
use crate::kind::{Kind, KindHooks, Replaced};
use crate::native;
use crate::refusal::Refusal;
use crate::server::{Environment, StartError};
use crate::strategy::{self, Context, New, meta_text};

/// Builds the kind in its served versions. Its definition is validated like one on the wire.
pub(crate) fn made(own: Own, environment: &Environment) -> Result<Vec<Arc<Kind>>, StartError> {
    let Own { mut definition, hooks, wrong } = own;
    let name = meta_text(&definition, "name").to_owned();
    let refused = |why| StartError::Definition { name: name.clone(), why };
    wrong.map_or(Ok(()), Err).map_err(&refused)?;
    check_names(hooks.guards().iter().map(|guard| guard.name())).map_err(|(_, why)| refused(why))?;
    let kind = native::definition();
    kind.check_types(&definition).map_err(&refused)?;
    kind.reshape(&mut definition);
    let context = Context {
        kind: &kind,
        now: environment.now(),
        manager: Some("machinery"),
        namespace: None,
        trace: None,
    };
    let definition = strategy::create(definition, New { uid: &environment.uid(), chance: 0 }, &context)
        .map_err(|refusal| refused(refusal.message))?;
    let wrong = |errors: Vec<FieldError>| {
        refused(errors.iter().map(FieldError::to_string).collect::<Vec<_>>().join(", "))
    };
    let names = crd::names(&definition["spec"]["names"]);
    let DefinedKinds { served, wrong: found, .. } = crd::kinds(&definition, &names, &Replaced::default());
    if !found.is_empty() {
        return Err(wrong(found));
    }
    with_hooks(served, &hooks).ok_or_else(|| refused("its storage version must be served".into()))
}

/// Gives all versions the hooks of the type, and others than the storage version a reference to it.
/// None without a storage version.
fn with_hooks(served: Vec<Arc<Kind>>, hooks: &Arc<dyn KindHooks>) -> Option<Vec<Arc<Kind>>> {
    // The definition is never stored: two versions of the program would overwrite it alternately.
    let with = |kind: Arc<Kind>, stored| {
        let kind = Arc::into_inner(kind)?;
        Some(Arc::new(Kind { hooks: hooks.clone(), definition: None, stored, ..kind }))
    };
    let (others, stored): (Vec<_>, Vec<_>) = served.into_iter().partition(|kind| kind.stored.is_some());
    // Each other version has a reference to the storage version, which ends here.
    let others = others
        .into_iter()
        .map(|kind| Arc::into_inner(kind).map(|kind| Arc::new(Kind { stored: None, ..kind })));
    let others = others.collect::<Option<Vec<_>>>()?;
    let stored = with(stored.into_iter().next()?, None)?;
    let others =
        others.into_iter().map(|kind| with(kind, Some(stored.clone()))).collect::<Option<Vec<_>>>()?;
    Some([stored].into_iter().chain(others).collect())
}

/// 422: a kind of the program cannot be defined by a CustomResourceDefinition as well.
pub(crate) fn not_defined(own: &[Arc<Kind>], definition: &Value) -> Result<(), Refusal> {
    let name = meta_text(definition, "name");
    if own.iter().all(|own| own.resource() != name) {
        return Ok(());
    }
    let kind = native::definition();
    let why = "the program that the server is in serves this kind itself";
    let error = FieldError::new("metadata.name", Problem::Forbidden, why);
    Err(invalid(&kind.group, &kind.names.kind, name, &[error]))
}
