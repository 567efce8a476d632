//! Conditions of a creation: its kind and its namespace exist and are not being deleted. Nothing is
//! created in either after its deletion has begun, so clean-up is complete once nothing is left.

use std::sync::Arc;

use machinery_store::{Condition, Entry};

use super::ObjectWrite;
use crate::kind::Kind;
use crate::refusal::{About, Cause, Refusal};
use crate::storage::{Moment, Place, Stored};
use crate::strategy::forbidden;

const DEFINITION_TERMINATING: &str = "create not allowed while custom resource definition is terminating";

/// Returns the conditions for the current state.
pub(super) async fn conditions(change: &ObjectWrite<'_>) -> Result<Vec<Condition>, Refusal> {
    let kind = change.kind;
    let (namespace, name) = change.names();
    let mut conditions = Vec::new();
    if let Some(definition) = &kind.definition {
        let there = entry(change, definition).await?.filter(|entry| !is_deleting(entry));
        let there = there.ok_or_else(|| forbidden(kind, name, DEFINITION_TERMINATING))?;
        conditions.push(Condition::At(definition.clone(), there.modified));
    }
    if let Some(namespace) = namespace {
        let key = Place::of("", "namespaces").key(None, namespace);
        let there = entry(change, &key).await?.ok_or_else(|| no_namespace(namespace))?;
        if is_deleting(&there) {
            return Err(namespace_terminating(kind, name, namespace));
        }
        // At its revision: a deletion that begins meanwhile fails the commit and refuses the retry.
        conditions.push(Condition::At(key, there.modified));
    }
    Ok(conditions)
}

async fn entry(change: &ObjectWrite<'_>, key: &Arc<str>) -> Result<Option<Arc<Entry>>, Refusal> {
    change.shared.objects.get(key, Moment::Newest).await
}

fn is_deleting(entry: &Entry) -> bool {
    Stored::of(&entry.value).is_ok_and(|object| object.is_deleting())
}

fn no_namespace(name: &str) -> Refusal {
    let about = About { kind: "namespaces".into(), name: name.into(), ..Default::default() };
    Refusal { about, ..Refusal::new(404, "NotFound", format!("namespaces {name:?} not found")) }
}

fn namespace_terminating(kind: &Kind, name: &str, namespace: &str) -> Refusal {
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut refusal = forbidden(kind, name, &why);
    refusal.causes.push(Cause {
        reason: "NamespaceTerminating",
        message: format!("namespace {namespace} is being terminated"),
        field: "metadata.namespace".into(),
    });
    refusal
}

#[cfg(test)]
mod tests {
    use machinery_store::{Memory, Options};
    use serde_json::{Value, json};

    use crate::auth::Identity;
    use crate::kind::Subresource;
    use crate::server::ApiServer;
    use crate::verbs::{ObjectRequest, create};

    fn definition() -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com", "finalizers": ["example.com/stay"]},
            "spec": {
                "group": "example.com", "scope": "Cluster",
                "names": {"kind": "Widget", "plural": "widgets"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true
                }}}],
            },
        })
    }

    /// A creation that looked up its kind before the deletion of the definition fails.
    #[tokio::test]
    async fn creation_fails_once_the_definition_is_in_deletion() {
        let builder = ApiServer::builder(Memory::new(Options::default())).crds([definition()]);
        let server = builder.start().await.expect("started");
        let shared = server.shared();
        let kind = shared.kinds().find("example.com", "v1", "widgets").expect("served").clone();
        let identity = Identity::admin();
        let request = ObjectRequest {
            shared,
            kind: &kind,
            subresource: Subresource::Main,
            identity: &identity,
            fence: None,
            trace: None,
            notes: None,
            namespace: None,
            name: "",
        };
        let widget = |name: &str| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}});
        assert!(create::create_object(&request, widget("a"), Some("test"), false).await.is_ok());

        let mut service = server.service(Identity::admin());
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
        let delete = http::Request::delete(path).body(String::new()).expect("a request");
        let answer = tower_service::Service::call(&mut service, delete).await.expect("answered");
        assert_eq!(answer.status(), 200);
        let refused =
            create::create_object(&request, widget("b"), Some("test"), false).await.err().expect("it goes");
        assert_eq!((refused.code, refused.reason), (403, "Forbidden"));
        server.stop().await;
    }
}
