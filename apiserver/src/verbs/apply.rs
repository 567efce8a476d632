//! Server-side apply: merges the applied configuration by field ownership, or creates the object.

use http::Response;
use http::header::CONTENT_TYPE;
use serde_json::Value;

use super::create::{CreatedObject, create_object};
use super::input::repeated_keys_if;
use super::output::Output;
use super::update::{UpdatedObject, update_object};
use super::{ObjectRequest, VerbRequest};
use crate::accept::EndpointKind;
use crate::auth::rbac::{RequestAttributes, ResourceAttributes};
use crate::http::{Body, answer};
use crate::json::{MalformedJson, plain_type_name};
use crate::kind::Subresource;
use crate::managed::{self, Conflict, Conflicts, NotApplied};
use crate::meta::time::shown;
use crate::meta::{check_name, coerce, dedup_owners};
use crate::refusal::{Cause, Refusal};
use crate::request::{FieldValidation, WriteOptions};
use crate::strategy::{conflict, meta_text, metadata, metadata_mut};
use crate::{patch, yaml};

/// Attempts if other clients create and delete the object concurrently.
const TRIES: usize = 8;

/// Returns whether the request is a server-side apply.
pub(super) fn is_apply(request: &VerbRequest<'_>) -> bool {
    let named = request.wire.header(CONTENT_TYPE).unwrap_or_default().split(';').next().unwrap_or_default();
    named.trim().eq_ignore_ascii_case(patch::APPLY)
}

pub(super) async fn apply(request: &VerbRequest<'_>) -> Result<Response<Body>, Refusal> {
    let options = WriteOptions::apply(&request.wire.query)?;
    let manager = request.manager(options.field_manager.as_deref(), "PatchOptions")?;
    let output = Output::of(request, EndpointKind::Object)?;
    let (object, warnings) = read(request, &request.wire.body, options.field_validation)?;
    let application = Application { object, manager: &manager, force: options.force };
    let done = apply_object(request, &application, options.dry_run, |_| Ok(())).await;
    match done.map_err(|refusal| refusal.warning(&warnings))? {
        Applied::Updated(mut changed) => {
            changed.warnings.splice(..0, warnings);
            changed.answer(request, &output)
        }
        Applied::Created(CreatedObject { object, put, .. }) => {
            let mut warnings = warnings;
            warnings.extend(request.warnings(&object, None));
            Ok(answer::with_warnings(output.written(201, request, object, put)?, &warnings))
        }
    }
}

/// An applied configuration.
pub(crate) struct Application<'a> {
    pub(crate) object: Value,
    pub(crate) manager: &'a str,
    /// Whether to take fields over from other field managers.
    pub(crate) force: bool,
}

/// The result of an apply.
pub(crate) enum Applied {
    Updated(UpdatedObject),
    Created(CreatedObject),
}

/// Applies the configuration to the current object, or creates it. `check` may refuse either.
pub(crate) async fn apply_object(
    request: &ObjectRequest<'_>,
    application: &Application<'_>,
    dry_run: bool,
    mut check: impl FnMut(Option<&Value>) -> Result<(), Refusal>,
) -> Result<Applied, Refusal> {
    let mut last = None;
    for _ in 0..TRIES {
        let next = |old: &Value| {
            check(Some(old))?;
            application.over(Some(old), request)
        };
        // A step of an update: the object checked for conflicts is the one that is replaced.
        match update_object(request, None, dry_run, false, next).await {
            Err(refusal) if refusal.reason == "NotFound" && request.subresource == Subresource::Main => {}
            other => return other.map(Applied::Updated),
        }
        check(None)?;
        // The request was authorized as `patch`; a creation needs its own permission.
        application.may_create(request)?;
        let mut new = application.over(None, request)?;
        metadata_mut(&mut new).remove("resourceVersion");
        match create_object(request, new, None, dry_run).await {
            Err(refusal) if refusal.reason == "AlreadyExists" => last = Some(refusal),
            other => return other.map(Applied::Created),
        }
    }
    Err(last
        .unwrap_or_else(|| Refusal::new(409, "Conflict", "it comes and goes while it is applied: try again")))
}

impl Application<'_> {
    /// Returns the merged object with its managed fields.
    fn over(&self, old: Option<&Value>, request: &ObjectRequest<'_>) -> Result<Value, Refusal> {
        let kind = request.kind;
        if let Some(old) = old.filter(|_| request.subresource == Subresource::Status) {
            self.check_uid(old, request)?;
        }
        let write = managed::Write {
            manager: self.manager,
            subresource: request.subresource.name(),
            api_version: &kind.api_version,
            now: &shown(request.shared.environment.now()),
            versions: &**kind,
        };
        let leaves: &[&str] = match request.subresource {
            Subresource::Main | Subresource::Scale if kind.has_status => &["status"],
            Subresource::Main | Subresource::Scale => &[],
            Subresource::Status if kind.status_keeps_metadata() => &["spec"],
            Subresource::Status | Subresource::Finalize | Subresource::Approval => &["metadata", "spec"],
        };
        let mut new =
            managed::applied(old, &self.object, self.force, leaves, &write).map_err(|why| refused(&why))?;
        // Checked here, since an applied configuration may omit the name.
        check_name(metadata(&new), request.name())?;
        let coerced = coerce(&new["metadata"]).map_err(Refusal::bad_request)?;
        new["metadata"] = Value::Object(coerced.meta);
        dedup_owners(metadata_mut(&mut new));
        kind.reshape_applied(&mut new);
        Ok(new)
    }

    /// Returns an error if a status is applied for another UID. Kubernetes ignores it here, and
    /// checks it in every other write: the status of an object must not become that of its
    /// successor.
    fn check_uid(&self, old: &Value, request: &ObjectRequest<'_>) -> Result<(), Refusal> {
        let (applied, stored) = (meta_text(&self.object, "uid"), meta_text(old, "uid"));
        if applied.is_empty() || applied == stored {
            return Ok(());
        }
        let message = format!("UID in precondition: {applied}, UID in object meta: {stored}");
        let mut refusal = conflict(request.kind, request.name(), &format!("Precondition failed: {message}"));
        refusal.causes.push(Cause { reason: "UIDMismatch", message, field: "metadata.uid".into() });
        Err(refusal)
    }

    /// Returns an error unless the user may create the object.
    fn may_create(&self, request: &ObjectRequest<'_>) -> Result<(), Refusal> {
        let uid = meta_text(&self.object, "uid");
        if !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(conflict(request.kind, request.name(), &why));
        }
        let asks = ResourceAttributes {
            group: &request.kind.group,
            resource: &request.kind.names.plural,
            subresource: "",
            namespace: request.namespace().unwrap_or_default(),
            name: request.name(),
        };
        request.shared.authorize(request.identity, &RequestAttributes::of("create", asks))
    }
}

/// Parses an applied configuration without defaults. Also returns warnings.
pub(crate) fn read(
    request: &ObjectRequest<'_>,
    body: &[u8],
    validation: FieldValidation,
) -> Result<(Value, Vec<String>), Refusal> {
    let read = yaml::read(body)
        .map_err(|MalformedJson(why)| Refusal::bad_request(format!("error decoding patch: {why}")))?;
    if !matches!(read.value, Value::Object(_) | Value::Null) {
        let found = plain_type_name(&read.value);
        return Err(Refusal::bad_request(format!(
            "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into \
             Go value of type map[string]interface {{}}"
        )));
    }
    let are_repeated = !read.duplicates.is_empty();
    let object = configuration(request, read.value)?;
    // Kubernetes decodes every body of an apply as YAML, also JSON.
    let repeated = repeated_keys_if(are_repeated && validation != FieldValidation::Ignore, body);
    let repeated = repeated.first().map(|error| yaml::converting(error));
    match (validation, repeated) {
        (FieldValidation::Strict, Some(error)) => {
            Err(Refusal::bad_request(format!("error strict decoding patch: {error}")))
        }
        (_, error) => {
            let warnings = error.iter().flat_map(|error| yaml::warnings_of(error)).map(str::to_owned);
            Ok((object, warnings.collect()))
        }
    }
}

/// Validates an applied configuration against its kind.
fn configuration(request: &ObjectRequest<'_>, mut object: Value) -> Result<Value, Refusal> {
    let kind = request.kind;
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let (api_version, said) = (text("apiVersion"), text("kind"));
    if api_version != kind.api_version || said != kind.names.kind {
        let slash = if api_version.contains('/') { "" } else { "/" };
        return Err(Refusal::bad_request(format!("invalid object type: {slash}{api_version}, Kind={said}")));
    }
    if object["metadata"].get("managedFields").is_some_and(|entries| !entries.is_null()) {
        return Err(Refusal::bad_request("metadata.managedFields must be nil"));
    }
    let untyped = |why: &str| {
        let (namespace, name) = (request.namespace().unwrap_or_default(), request.name());
        let (version, kind) = (&kind.api_version, &kind.names.kind);
        Refusal::bad_request(format!(
            "failed to create typed patch object ({namespace}/{name}; {version}, Kind={kind}): {why}"
        ))
    };
    let undeclared = |path: &String| untyped(&format!(".{path}: field not declared in schema"));
    kind.check_types(&object).map_err(|why| untyped(&why))?;
    let coerced = coerce(&object["metadata"]).map_err(|why| untyped(&why))?;
    // An error for every `fieldValidation`: a field set cannot name such a field.
    if let Some(path) = kind.undeclared_field(&object).as_ref().or_else(|| coerced.unknown.first()) {
        return Err(undeclared(path));
    }
    let embedded = kind.coerce_embedded(&mut object).map_err(|why| untyped(&why))?;
    if let Some(path) = embedded.kept().first() {
        return Err(undeclared(path));
    }
    metadata_mut(&mut object).remove("managedFields");
    managed::check_items(&object, kind.shape.lists()).map_err(|why| untyped(&why))?;
    Ok(object)
}

pub(super) fn refused(why: &NotApplied) -> Refusal {
    match why {
        NotApplied::Conflicts(conflicts) => conflicting(conflicts),
        NotApplied::Unkeyed => Refusal::new(
            409,
            "Conflict",
            "a list of the object has an item that cannot be told from the others: replace the object first",
        ),
        NotApplied::Malformed => Refusal::new(
            409,
            "Conflict",
            "metadata.managedFields of the object cannot be read: reset it by a patch to [{}] first",
        ),
    }
}

/// 409: fields of other field managers.
fn conflicting(conflicts: &Conflicts) -> Refusal {
    let Conflicts { listed, others } = conflicts;
    let message = match listed.as_slice() {
        [Conflict { with, field }] if *others == 0 => {
            format!("Apply failed with 1 conflict: conflict with {with}: {field}")
        }
        many => {
            let mut lines = Vec::new();
            for (at, Conflict { with, field }) in many.iter().enumerate() {
                if at == 0 || many[at - 1].with != *with {
                    lines.push(format!("conflicts with {with}:"));
                }
                lines.push(format!("- {field}"));
            }
            lines.extend((*others > 0).then(|| format!("and {others} more")));
            format!("Apply failed with {} conflicts: {}", many.len() + others, lines.join("\n"))
        }
    };
    let causes = listed.iter().map(|Conflict { with, field }| Cause {
        reason: "FieldManagerConflict",
        message: format!("conflict with {with}"),
        field: field.clone(),
    });
    Refusal { causes: causes.collect(), ..Refusal::new(409, "Conflict", message) }
}
