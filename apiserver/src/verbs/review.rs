//! Access and token reviews: virtual resources that are created and not stored.

mod check;

use http::Response;
use serde_json::{Value, json};

use self::check::{metadata_errors, spec_errors};
use super::VerbRequest;
use super::output::Output;
use crate::accept::EndpointKind;
use crate::auth::Identity;
use crate::auth::rbac::{RequestAttributes, RequestTarget, ResourceAttributes};
use crate::http::{Body, answer};
use crate::invalid::{FieldError, invalid};
use crate::kind::Review;
use crate::refusal::Refusal;
use crate::request::WriteOptions;

/// The default audience of tokens, as in Kubernetes.
const AUDIENCE: &str = "https://kubernetes.default.svc.cluster.local";

/// Evaluates a review and returns it with its status. Nothing is stored.
pub(super) async fn review(request: &VerbRequest<'_>, review: Review) -> Result<Response<Body>, Refusal> {
    let output = Output::of(request, EndpointKind::Review)?;
    let options = WriteOptions::create(&request.wire.query)?;
    let mut input = request.body(options.field_validation)?;
    let spec = input.object["spec"].take();
    let errors = match review {
        Review::OwnAccess => spec_errors(&spec, false, request.namespace()),
        Review::Access => spec_errors(&spec, true, request.namespace()),
        Review::Oneself | Review::OwnRules | Review::Token => Vec::new(),
    };
    refuse(request, errors)?;
    if matches!(review, Review::OwnAccess | Review::Access) {
        refuse(request, metadata_errors(&input.object["metadata"], request.namespace()))?;
    }
    let identity = &*request.wire.identity;
    input.object["status"] = match review {
        Review::Oneself => json!({"userInfo": identity.user_info()}),
        Review::OwnRules => {
            let namespace = text(&spec, "namespace");
            if namespace.is_empty() {
                return Err(Refusal::bad_request("no namespace on request"));
            }
            match &request.shared.rules {
                Some(rules) => rules.load().rules_for(identity, namespace),
                None => json!({
                    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                    "incomplete": false,
                }),
            }
        }
        Review::OwnAccess => access(request, identity, &spec),
        Review::Access => access(request, &of(&spec), &spec),
        Review::Token => token(request, &spec)?,
    };
    if !spec.is_null() {
        input.object["spec"] = spec;
    }
    Ok(answer::with_warnings(output.object(201, request, input.object)?, &input.warnings))
}

fn refuse(request: &VerbRequest<'_>, errors: Vec<FieldError>) -> Result<(), Refusal> {
    match errors.is_empty() {
        true => Ok(()),
        false => Err(invalid(&request.kind.group, &request.kind.names.kind, "", &errors)),
    }
}

/// Answers a TokenReview. Tokens are valid for this server's audience only.
fn token(request: &VerbRequest<'_>, spec: &Value) -> Result<Value, Refusal> {
    let token = text(spec, "token");
    if token.is_empty() {
        return Err(Refusal::bad_request("token is required for TokenReview in authentication"));
    }
    let audiences = spec["audiences"].as_array().filter(|audiences| !audiences.is_empty());
    let is_meant = audiences.is_none_or(|audiences| audiences.iter().any(|audience| audience == AUDIENCE));
    let authenticator = request.shared.authenticator.load();
    Ok(match authenticator.tokens.identify(token).filter(|_| is_meant) {
        Some(found) => json!({"authenticated": true, "user": found.user_info(), "audiences": [AUDIENCE]}),
        None => json!({"user": {}}),
    })
}

/// Answers an access review with a valid spec.
fn access(request: &VerbRequest<'_>, who: &Identity, spec: &Value) -> Value {
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let attributes = if resource.is_object() {
        let asks = ResourceAttributes {
            group: text(resource, "group"),
            resource: text(resource, "resource"),
            subresource: text(resource, "subresource"),
            namespace: text(resource, "namespace"),
            name: text(resource, "name"),
        };
        RequestAttributes::of(text(resource, "verb"), asks)
    } else {
        RequestAttributes { verb: text(path, "verb"), on: RequestTarget::Path(text(path, "path")) }
    };
    let Some(rules) = &request.shared.rules else { return json!({"allowed": true}) };
    let decision = rules.load().allows(who, &attributes);
    let mut status = json!({"allowed": decision.allowed});
    let reason = decision.reason();
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    status
}

/// Returns the user in a spec, with exactly the groups that it names.
fn of(spec: &Value) -> Identity {
    let texts = |list: &Value| -> Vec<String> {
        list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let extra = spec["extra"].as_object().into_iter().flatten();
    Identity {
        user: text(spec, "user").to_owned(),
        uid: text(spec, "uid").to_owned(),
        groups: texts(&spec["groups"]),
        extra: extra.map(|(key, values)| (key.clone(), texts(values))).collect(),
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}
