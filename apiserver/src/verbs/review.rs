//! Questions about access: they are asked by creating an object, and nothing is stored.

use http::Response;
use serde_json::{Value, json};

use super::Job;
use super::output::Output;
use crate::accept::Place;
use crate::auth::Identity;
use crate::auth::rbac::{Attributes, On, Resource};
use crate::http::{Body, answer};
use crate::kind::Review;
use crate::refusal::Refusal;
use crate::request::WriteOptions;

/// Answers a question.
pub(super) async fn review(job: &Job<'_>, review: Review) -> Result<Response<Body>, Refusal> {
    let output = Output::of(job, Place::Object)?;
    let options = WriteOptions::create(&job.asked.query)?;
    let mut input = job.body(options.field_validation)?;
    let spec = input.object["spec"].take();
    let identity = &*job.asked.identity;
    input.object["status"] = match review {
        Review::Oneself => json!({"userInfo": identity.user_info()}),
        Review::OwnRules => {
            let namespace = text(&spec, "namespace");
            match &job.shared.rules {
                Some(rules) => rules.load().rules_for(identity, namespace),
                None => json!({
                    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                    "incomplete": false,
                }),
            }
        }
        Review::OwnAccess => access(job, identity, &spec)?,
        Review::Access => {
            let asked = of(&spec);
            if asked.user.is_empty() && asked.groups.is_empty() {
                return Err(Refusal::new(
                    422,
                    "Invalid",
                    "spec.user: Invalid value: \"\": at least one of user or group must be specified",
                ));
            }
            access(job, &asked, &spec)?
        }
        Review::Token => {
            let token = text(&spec, "token");
            match job.shared.authenticator.load().tokens.identify(token) {
                Some(found) => json!({"authenticated": true, "user": found.user_info()}),
                None => json!({"user": {}}),
            }
        }
    };
    if !spec.is_null() {
        input.object["spec"] = spec;
    }
    Ok(answer::with_warnings(output.object(201, job, input.object)?, &input.warnings))
}

/// Whether somebody may.
fn access(job: &Job<'_>, who: &Identity, spec: &Value) -> Result<Value, Refusal> {
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let attributes = match (resource.is_object(), path.is_object()) {
        (true, false) => {
            let namespace = job.namespace().unwrap_or_else(|| text(resource, "namespace"));
            let asks = Resource {
                group: text(resource, "group"),
                resource: text(resource, "resource"),
                subresource: text(resource, "subresource"),
                namespace,
                name: text(resource, "name"),
            };
            Attributes::of(text(resource, "verb"), asks)
        }
        (false, true) => Attributes { verb: text(path, "verb"), on: On::Path(text(path, "path")) },
        _ => {
            let message = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            return Err(Refusal::new(422, "Invalid", message));
        }
    };
    let Some(rules) = &job.shared.rules else { return Ok(json!({"allowed": true})) };
    let decision = rules.load().allows(who, &attributes);
    let mut status = json!({"allowed": decision.allowed});
    let reason = decision.reason();
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    Ok(status)
}

/// The identity that a question is about.
fn of(spec: &Value) -> Identity {
    let groups = spec["groups"].as_array().into_iter().flatten().filter_map(Value::as_str);
    groups.fold(Identity::new(text(spec, "user")), Identity::in_group).with_uid(text(spec, "uid"))
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}
