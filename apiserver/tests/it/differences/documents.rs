//! Documents, headers of all responses, and health checks.

use std::collections::BTreeSet;
use std::time::Duration;

use http::Method;
use machinery_apiserver::{ApiServer, Identity};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use super::{JSON, get, send};
use crate::client::{Client, widgets};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

async fn plain() -> (ApiServer, Client) {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let client = Client::of(&server);
    (server, client)
}

#[tokio::test]
async fn every_response_has_an_audit_id_without_an_audit_log() {
    let (_server, client) = plain().await;
    let mut known = BTreeSet::new();
    for (method, path, code) in [
        (Method::GET, "/api/v1/namespaces", 200),
        (Method::GET, "/api/v1/namespaces/none", 404),
        (Method::GET, "/none", 404),
        (Method::GET, "//", 404),
        (Method::GET, "/version?timeout=x", 400),
        (Method::GET, "/livez", 200),
        (Method::POST, "/version", 405),
        (Method::GET, "/api/v1/namespaces?watch=1&timeoutSeconds=1", 200),
    ] {
        let said = send(&client, method, path, &[], "").await;
        assert_eq!(said.code, code, "{path}");
        assert_eq!(said.header("audit-id").len(), 36, "{path}");
        assert!(known.insert(said.header("audit-id").to_owned()), "{path}");
    }
    let long = "x".repeat(200);
    for own in ["mine", &long] {
        let said = get(&client, "/api/v1/namespaces", &[("audit-id", own)]).await;
        assert_eq!(said.header("audit-id"), own);
    }
}

#[tokio::test]
async fn an_invalid_timeout_is_refused_in_every_url() {
    let (_server, client) = plain().await;
    for path in ["/version", "/apis", "/livez", "/openapi/v3", "/none", "/api/v1/namespaces"] {
        let said = get(&client, &format!("{path}?timeout=invalid"), &[]).await;
        let message = "invalid timeout specified in the request URL - time: invalid duration \"invalid\"";
        assert_eq!((said.code, said.message().as_str()), (400, message), "{path}");
    }
    for fine in ["3m", "0s", "1ms"] {
        assert_eq!(get(&client, &format!("/version?timeout={fine}"), &[]).await.code, 200, "{fine}");
    }
}

#[tokio::test]
async fn the_root_lists_the_paths() {
    let (server, client) = widgets().await;
    let said = get(&client, "/", &[]).await;
    assert_eq!((said.code, said.header("content-type")), (200, "application/json"));
    assert!(said.text.starts_with("{\n  \"paths\": [\n"), "{}", said.text);
    let body = said.json();
    let paths: Vec<&str> =
        body["paths"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect();
    assert!(paths.is_sorted());
    for path in [
        "/api",
        "/api/v1",
        "/apis",
        "/apis/",
        "/apis/apps",
        "/apis/apps/v1",
        "/apis/example.com/v1",
        "/healthz",
        "/healthz/ping",
        "/livez/etcd",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz/informer-sync",
        "/version",
    ] {
        assert!(paths.contains(&path), "{path}: {paths:?}");
    }
    for path in paths {
        assert_eq!(get(&client, path, &[]).await.code, 200, "{path}");
    }
    assert_eq!(get(&client, "/index.html", &[]).await.text, said.text);
    let rbac = ApiServer::builder(Memory::new(Options::default())).rbac().start().await.unwrap();
    let ann = Identity::new("ann");
    assert_eq!(get(&Client::to(rbac.service(ann)), "/", &[]).await.code, 403);
    server.stop().await;
}

#[tokio::test]
async fn a_document_requested_by_its_hash_is_cached_forever() {
    let (_server, client) = widgets().await;
    let index = get(&client, "/openapi/v3", &[]).await.json();
    let url = index["paths"]["apis/example.com/v1"]["serverRelativeURL"].as_str().unwrap().to_owned();
    let cached = get(&client, &url, &[]).await;
    assert_eq!((cached.code, cached.header("cache-control")), (200, "public, immutable"));
    assert_eq!(cached.header("vary"), "Accept");
    let expires = jiff::fmt::rfc2822::parse(cached.header("expires")).unwrap().timestamp();
    let days = (expires.as_second() - jiff::Timestamp::now().as_second()) / 86_400;
    assert!((364..=365).contains(&days), "{days}");
    let (path, hash) = url.split_once("?hash=").unwrap();
    assert_eq!(cached.header("etag"), format!("\"{hash}\""));
    // Without a hash the document may change, and an old hash leads to the current one.
    let plain = get(&client, path, &[]).await;
    assert_eq!(
        (plain.code, plain.header("cache-control"), plain.header("expires")),
        (200, "no-cache, private", "")
    );
    let old = get(&client, &format!("{path}?hash=OLD"), &[]).await;
    assert_eq!((old.code, old.header("location"), old.text.as_str()), (301, url.as_str(), ""));
    let known = get(&client, &url, &[("if-none-match", cached.header("etag"))]).await;
    assert_eq!((known.code, known.header("cache-control")), (304, "public, immutable"));
}

#[tokio::test]
async fn an_unknown_patch_type_is_refused_with_apply_among_the_supported_ones() {
    let (_server, client) = widgets().await;
    let head = "the body of the request was in an unknown format - accepted media types include: \
                application/json-patch+json, application/merge-patch+json, ";
    for (path, rest) in [
        (
            "/api/v1/namespaces/default",
            "application/strategic-merge-patch+json, application/apply-patch+yaml",
        ),
        ("/apis/example.com/v1/namespaces/default/widgets/a", "application/apply-patch+yaml"),
    ] {
        let said = send(&client, Method::PATCH, path, &[("content-type", "text/plain")], "{}").await;
        assert_eq!((said.code, said.message()), (415, format!("{head}{rest}")));
    }
}

#[tokio::test]
async fn patches_have_the_parameter_force_and_the_type_of_apply() {
    let (_server, client) = widgets().await;
    for (document, path) in [
        ("api/v1", "/api/v1/namespaces/{namespace}/configmaps/{name}"),
        ("apis/example.com/v1", "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"),
        ("apis/example.com/v1", "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}/status"),
    ] {
        let document = get(&client, &format!("/openapi/v3/{document}"), &[]).await.json();
        let patch = &document["paths"][path]["patch"];
        let force = patch["parameters"].as_array().unwrap().iter().find(|one| one["name"] == "force");
        assert_eq!(force.unwrap()["schema"], json!({"type": "boolean", "uniqueItems": true}), "{path}");
        assert!(patch["requestBody"]["content"]["application/apply-patch+yaml"].is_object(), "{path}");
        let put = document["paths"][path]["put"]["parameters"].as_array().unwrap();
        assert!(put.iter().all(|one| one["name"] != "force"));
    }
}

#[tokio::test]
async fn all_metadata_fields_are_described_for_every_kind() {
    let (_server, client) = widgets().await;
    for document in ["api/v1", "apis/apps/v1", "apis/example.com/v1", "apis/apiextensions.k8s.io/v1"] {
        let document = get(&client, &format!("/openapi/v3/{document}"), &[]).await.json();
        let schemas = &document["components"]["schemas"];
        let meta = &schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"];
        let fields = meta["properties"].as_object().unwrap();
        assert_eq!(fields.len(), 15);
        for (name, field) in fields {
            assert!(field["description"].as_str().is_some_and(|text| !text.is_empty()), "{name}: {field}");
        }
        // The merge strategies of kubectl are still there.
        assert_eq!(fields["finalizers"]["x-kubernetes-patch-strategy"], "merge");
        let created = fields["creationTimestamp"]["description"].as_str().unwrap();
        assert!(created.starts_with("CreationTimestamp is a timestamp"), "{created}");
        let kinds = schemas.as_object().unwrap().values().filter(|schema| {
            schema.get("x-kubernetes-group-version-kind").is_some()
                && !schema["properties"]["metadata"].is_null()
        });
        for kind in kinds {
            let properties = &kind["properties"];
            for (field, begin) in
                [("metadata", "Standard "), ("apiVersion", "APIVersion defines"), ("kind", "Kind is")]
            {
                let text = properties[field]["description"].as_str().unwrap_or_default();
                let gvk = &kind["x-kubernetes-group-version-kind"];
                assert!(text.starts_with(begin), "{field} of {gvk}: {text:?}");
            }
        }
    }
}

/// Regression: types without fields had empty properties, which Go does not write. Its clients
/// compare a document with the one that they write.
#[tokio::test]
async fn schemas_without_fields_have_no_properties() {
    let (_server, client) = plain().await;
    let index = get(&client, "/openapi/v3", &[]).await.json();
    for path in index["paths"].as_object().unwrap().keys() {
        let document = get(&client, &format!("/openapi/v3/{path}"), &[]).await.json();
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            assert_ne!(schema.get("properties"), Some(&json!({})), "{name} in {path}");
        }
    }
}

#[tokio::test]
async fn types_of_definitions_have_their_own_names() {
    let (_server, client) = plain().await;
    let document = get(&client, "/openapi/v3/apis/apiextensions.k8s.io/v1", &[]).await.json();
    let schemas = &document["components"]["schemas"];
    let prefix = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";
    let name = |schema: &Value| {
        let target = schema["allOf"][0]["$ref"].as_str().or(schema["$ref"].as_str()).unwrap().to_owned();
        target.strip_prefix("#/components/schemas/").unwrap().to_owned()
    };
    let mut at = format!("{prefix}.CustomResourceDefinition");
    for (field, is_list, kind) in [
        ("spec", false, "CustomResourceDefinitionSpec"),
        ("versions", true, "CustomResourceDefinitionVersion"),
        ("schema", false, "CustomResourceValidation"),
        ("openAPIV3Schema", false, "JSONSchemaProps"),
        ("allOf", true, "JSONSchemaProps"),
        ("x-kubernetes-validations", true, "ValidationRule"),
    ] {
        let property = &schemas[&at]["properties"][field];
        assert!(property["description"].is_string(), "{at}.{field}");
        at = name(if is_list { &property["items"] } else { property });
        assert_eq!(at, format!("{prefix}.{kind}"));
    }
    // No reference leads nowhere.
    let text = document.to_string();
    for part in text.split("\"#/components/schemas/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(schemas.get(name).is_some(), "{name}");
    }
}

#[tokio::test]
async fn aggregated_discovery_lists_what_is_served_and_nothing_else() {
    let (_server, client) = widgets().await;
    let mut checked = 0;
    for root in ["/api", "/apis"] {
        let said = get(&client, root, &[("accept", AGGREGATED)]).await;
        assert_eq!((said.code, said.header("content-type")), (200, AGGREGATED));
        for group in said.json()["items"].as_array().unwrap() {
            let name = group["metadata"]["name"].as_str().unwrap_or_default();
            for version in group["versions"].as_array().unwrap() {
                let version_name = version["version"].as_str().unwrap();
                let at = if root == "/api" {
                    format!("/api/{version_name}")
                } else {
                    format!("/apis/{name}/{version_name}")
                };
                for resource in version["resources"].as_array().unwrap() {
                    check_resource(&client, &at, resource).await;
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 20, "{checked}");
    let namespaces = get(&client, "/api", &[("accept", AGGREGATED)]).await.json();
    let all = namespaces["items"][0]["versions"][0]["resources"].as_array().unwrap().clone();
    let namespace = all.iter().find(|one| one["resource"] == "namespaces").unwrap();
    let parts: Vec<_> =
        namespace["subresources"].as_array().unwrap().iter().map(|one| &one["subresource"]).collect();
    assert_eq!(parts, ["finalize", "status"]);
}

/// Every verb of a resource leads to a response that knows the resource.
async fn check_resource(client: &Client, at: &str, resource: &Value) {
    let plural = resource["resource"].as_str().unwrap();
    let place = if resource["scope"] == "Namespaced" { "/namespaces/default" } else { "" };
    let path = format!("{at}{place}/{plural}");
    let has = |of: &Value, verb: &str| of["verbs"].as_array().unwrap().iter().any(|one| one == verb);
    if has(resource, "list") {
        assert_eq!(get(client, &path, &[]).await.code, 200, "{path}");
    }
    if has(resource, "create") {
        let made = send(client, Method::POST, &path, &[("content-type", JSON)], "[]").await;
        assert_eq!(made.code, 400, "{path}: {}", made.text);
    }
    for part in resource["subresources"].as_array().into_iter().flatten() {
        let path = format!("{path}/none-such/{}", part["subresource"].as_str().unwrap());
        let (method, body) = if has(part, "get") { (Method::GET, "") } else { (Method::PUT, "{}") };
        let said = send(client, method, &path, &[("content-type", JSON)], body).await;
        assert_ne!(said.code, 405, "{path}");
        assert!(said.json()["reason"].is_string(), "{path}: {}", said.text);
    }
}

/// The names that Kubernetes' suite requires.
const REQUIRED: &str = "ping log etcd poststarthook/start-apiserver-admission-initializer \
    poststarthook/generic-apiserver-start-informers poststarthook/start-apiextensions-informers \
    poststarthook/start-apiextensions-controllers poststarthook/crd-informer-synced poststarthook/bootstrap-controller \
    poststarthook/start-system-namespaces-controller poststarthook/start-service-ip-repair-controllers \
    poststarthook/scheduling/bootstrap-system-priority-classes poststarthook/start-cluster-authentication-info-controller \
    poststarthook/start-kube-aggregator-informers poststarthook/apiservice-registration-controller \
    poststarthook/apiservice-status-local-available-controller poststarthook/apiservice-status-remote-available-controller \
    poststarthook/kube-apiserver-autoregistration autoregister-completion poststarthook/apiservice-openapi-controller \
    poststarthook/storage-readiness";

#[tokio::test]
async fn health_checks_have_the_names_of_kube_apiserver() {
    let (server, client) = plain().await;
    for (endpoint, more) in [("healthz", ""), ("livez", ""), ("readyz", "informer-sync")] {
        let said = get(&client, &format!("/{endpoint}?verbose=1"), &[]).await;
        let lines: Vec<&str> = said.text.lines().collect();
        for name in REQUIRED.split_whitespace().chain(more.split_whitespace()) {
            assert!(lines.contains(&format!("[+]{name} ok").as_str()), "{endpoint} {name}: {}", said.text);
            let one = get(&client, &format!("/{endpoint}/{name}"), &[]).await;
            assert_eq!((one.code, one.text.as_str()), (200, "ok"), "{endpoint} {name}");
        }
        assert_eq!(lines.last(), Some(&format!("{endpoint} check passed").as_str()));
        assert_eq!(get(&client, &format!("/{endpoint}"), &[]).await.text, "ok");
    }
    assert_eq!(get(&client, "/livez/informer-sync", &[]).await.code, 404);
    let excluded = get(&client, "/livez?verbose&exclude=etcd&exclude=odd", &[]).await.text;
    assert!(excluded.contains("[+]etcd excluded: ok\n"), "{excluded}");
    assert!(excluded.contains("no matches for \"odd\"\n"), "{excluded}");
    // Its checks are real: one that stops fails.
    server.stop().await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    let stopped = get(&client, "/readyz?verbose", &[]).await;
    assert!(
        stopped.code == 500 && stopped.text.contains("[-]shutdown failed: process is shutting down\n"),
        "{}",
        stopped.text
    );
    let why = get(&client, "/readyz/shutdown", &[]).await;
    assert_eq!((why.code, why.text.as_str()), (500, "internal server error: process is shutting down\n"));
}
