//! Builds the kind of a program's type.

use std::sync::Arc;

use serde_json::Value;

use super::Own;
use crate::crd::{self, DefinedKinds};
use crate::guard::check_names;
use crate::invalid::{FieldError, Problem, invalid};
use crate::kind::{Kind, Replaced};
use crate::native;
use crate::refusal::Refusal;
use crate::server::{Environment, StartError};
use crate::strategy::{self, Context, New, meta_text};

/// Builds the kind. Its definition is validated like one on the wire.
pub(crate) fn made(own: Own, environment: &Environment) -> Result<Arc<Kind>, StartError> {
    let Own { mut definition, hooks } = own;
    let name = meta_text(&definition, "name").to_owned();
    let refused = |why| StartError::Definition { name: name.clone(), why };
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
    let versions = definition["spec"]["versions"].as_array().map_or(0, Vec::len);
    let names = crd::names(&definition["spec"]["names"]);
    let DefinedKinds { mut served, wrong: found, .. } = crd::kinds(&definition, &names, &Replaced::default());
    if !found.is_empty() {
        return Err(wrong(found));
    }
    match (versions, served.pop().and_then(Arc::into_inner)) {
        // Never stored: two versions of the program would overwrite it alternately.
        (1, Some(kind)) => Ok(Arc::new(Kind { hooks, definition: None, ..kind })),
        _ => Err(refused("a kind of a type of Rust has one version, and that is served".into())),
    }
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
