//! The requests in webhook calls, and the rules that select them.

use http::Method;
use machinery_apiserver::{ApiServer, Identity};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use super::hook::{Hook, configure, mutating, validating, webhook};
use super::{WIDGETS, widget};
use crate::client::{Client, definition, widgets};

/// The definition of widgets with two versions, and with how many.
fn versions() -> Value {
    let mut definition = definition();
    let mut first = definition["spec"]["versions"][0].clone();
    first["subresources"]["scale"] =
        json!({"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"});
    let mut second = first.clone();
    second["name"] = "v2".into();
    second["storage"] = false.into();
    definition["spec"]["versions"] = json!([first, second]);
    definition
}

#[tokio::test]
async fn a_review_has_the_attributes_of_the_request() {
    let hook = Hook::allowing().await;
    let (server, client) = widgets().await;
    configure(&client, &validating("all", &[webhook("all", &hook.at("/here"), &json!({}))])).await;
    let ann = Client::to(server.service(Identity::new("ann").in_group("dev")));
    let made =
        ann.post(&format!("{WIDGETS}?fieldManager=pen"), &widget("a", &json!({"color": "red"}))).await.fine();
    let changed =
        ann.merge(&format!("{WIDGETS}/a?dryRun=All"), &json!({"spec": {"color": "blue"}})).await.fine();
    let status = json!({"status": {"phase": "Ready"}});
    let marked = ann.merge(&format!("{WIDGETS}/a/status"), &status).await.fine();
    ann.delete(&format!("{WIDGETS}/a?propagationPolicy=Orphan&dryRun=All")).await.fine();

    let widget = json!({"group": "example.com", "version": "v1", "kind": "Widget"});
    let widgets = json!({"group": "example.com", "version": "v1", "resource": "widgets"});
    let without_version = |object: &Value| {
        let mut object = object.clone();
        object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        object
    };
    let options = |kind: &str, more: Value| {
        let mut options = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
        options.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        options
    };
    let dry = json!({"dryRun": ["All"]});
    let expected = [
        (
            "CREATE",
            None,
            without_version(&made),
            Value::Null,
            false,
            options("CreateOptions", json!({"fieldManager": "pen"})),
        ),
        ("UPDATE", None, changed, made.clone(), true, options("UpdateOptions", dry)),
        (
            "UPDATE",
            Some("status"),
            without_version(&marked),
            made,
            false,
            options("UpdateOptions", json!({})),
        ),
        (
            "DELETE",
            None,
            Value::Null,
            marked,
            true,
            options("DeleteOptions", json!({"dryRun": ["All"], "propagationPolicy": "Orphan"})),
        ),
    ];
    let seen = hook.seen();
    assert_eq!(seen.len(), expected.len(), "{seen:#?}");
    for (mut request, (operation, part, object, old, dry_run, options)) in seen.into_iter().zip(expected) {
        assert_eq!(request["uid"].as_str().unwrap().len(), 36);
        let request_map = request.as_object_mut().unwrap();
        request_map.remove("uid");
        let mut expected = json!({
            "kind": widget, "resource": widgets, "requestKind": widget, "requestResource": widgets,
            "name": "a", "namespace": "default", "operation": operation, "dryRun": dry_run,
            "userInfo": {"username": "ann", "groups": ["system:authenticated", "dev"]},
            "object": object, "oldObject": old, "options": options,
        });
        if let Some(part) = part {
            expected["subResource"] = part.into();
            expected["requestSubResource"] = part.into();
            // The request has the old resourceVersion, and the answer the new one.
            request["object"]["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        }
        assert_eq!(request, expected, "{operation}");
    }
    assert!(hook.paths().iter().all(|path| path == "/here?timeout=30s"), "{:?}", hook.paths());
    assert_eq!(hook.connections(), 1, "one connection does for one request after the other");
}

/// The paths of the calls show which webhooks were called.
fn asked(hook: &Hook) -> Vec<String> {
    let mut paths: Vec<String> =
        hook.paths().iter().map(|path| path.split('?').next().unwrap().to_owned()).collect();
    paths.sort_unstable();
    paths
}

#[tokio::test]
async fn a_webhook_is_called_for_requests_that_it_selects() {
    let hook = Hook::allowing().await;
    let (_server, client) = widgets().await;
    let labels = |key: &str| json!({"matchLabels": {key: "yes"}});
    let hooks: Vec<Value> = [
        ("all", json!({})),
        ("object", json!({"objectSelector": labels("mine")})),
        ("namespace", json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}})),
        ("create", json!({"rules": [{"operations": ["CREATE"], "apiGroups": ["*"], "apiVersions": ["v1"], "resources": ["*"]}]})),
        ("status", json!({"rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/status"]}]})),
        ("cluster", json!({"rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "scope": "Cluster"}]})),
        ("condition", json!({"matchConditions": [{"name": "big", "expression": "object != null && has(object.spec) && has(object.spec.size) && object.spec.size > 90"}]})),
        ("maps", json!({"rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]})),
    ]
    .iter()
    .map(|(name, more)| webhook(name, &hook.at(&format!("/{name}")), more))
    .collect();
    configure(&client, &validating("all", &hooks)).await;
    let mut so_far = 0;
    let mut check = |expected: &[&str]| {
        let paths = hook.paths();
        let mut new: Vec<&str> = paths[so_far..].iter().map(|path| path.split('?').next().unwrap()).collect();
        new.sort_unstable();
        assert_eq!(new, expected);
        so_far = paths.len();
    };
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}});
    client.post("/api/v1/namespaces", &namespace).await.fine();
    check(&["/cluster", "/create"]);
    client.post(WIDGETS, &widget("a", &json!({}))).await.fine();
    check(&["/all", "/create"]);
    client.post("/apis/example.com/v1/namespaces/other/widgets", &widget("a", &json!({}))).await.fine();
    check(&["/all", "/create", "/namespace"]);
    client.merge(&format!("{WIDGETS}/a"), &json!({"metadata": {"labels": {"mine": "yes"}}})).await.fine();
    check(&["/all", "/object"]);
    // An object that matched before the write causes a call, too.
    client.merge(&format!("{WIDGETS}/a"), &json!({"metadata": {"labels": {"mine": "no"}}})).await.fine();
    check(&["/all", "/object"]);
    client.merge(&format!("{WIDGETS}/a/status"), &json!({"status": {"phase": "x"}})).await.fine();
    check(&["/all", "/status"]);
    client.merge(&format!("{WIDGETS}/a"), &json!({"spec": {"size": 91}})).await.fine();
    check(&["/all", "/condition"]);
    client.get(&format!("{WIDGETS}/a")).await.fine();
    client.get(WIDGETS).await.fine();
    check(&[]);
    client.delete(&format!("{WIDGETS}/a")).await.fine();
    check(&["/all"]);
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    client.post("/api/v1/namespaces/default/configmaps", &map).await.fine();
    check(&["/create", "/maps"]);
}

#[tokio::test]
async fn equivalent_versions_are_converted_to_the_matched_one() {
    let hook = Hook::allowing().await;
    let server =
        ApiServer::builder(Memory::new(Options::default())).crds([versions()]).start().await.unwrap();
    let client = Client::of(&server);
    let rules = json!([{"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["widgets", "widgets/scale"]}]);
    let hooks: Vec<Value> = ["Exact", "Equivalent"]
        .iter()
        .map(|policy| {
            let more = json!({"matchPolicy": policy, "rules": rules});
            webhook(&policy.to_lowercase(), &hook.at(&format!("/{}", policy.to_lowercase())), &more)
        })
        .collect();
    configure(&client, &validating("all", &hooks)).await;
    configure(
        &client,
        &mutating("all", &[webhook("mutates", &hook.at("/mutates"), &json!({"rules": rules}))]),
    )
    .await;
    let path = WIDGETS.replace("v1", "v2");
    let mut object = widget("a", &json!({"size": 4}));
    object["apiVersion"] = "example.com/v2".into();
    let made = client.post(&path, &object).await.fine();
    assert_eq!(made["apiVersion"], "example.com/v2");
    client.put(&format!("{path}/a/scale"), &json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "a"}, "spec": {"replicas": 5}})).await.fine();
    assert_eq!(asked(&hook), ["/equivalent", "/equivalent", "/mutates", "/mutates"]);
    let seen = hook.seen();
    for request in &seen[..2] {
        assert_eq!(request["object"]["apiVersion"], "example.com/v1");
        assert_eq!(
            (&request["kind"]["version"], &request["resource"]["version"]),
            (&json!("v1"), &json!("v1"))
        );
        let asked_for = (&request["requestKind"]["version"], &request["requestResource"]["version"]);
        assert_eq!(asked_for, (&json!("v2"), &json!("v2")));
    }
    for request in &seen[2..] {
        let scale = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
        assert_eq!((&request["kind"], &request["requestKind"]), (&scale, &scale));
        assert_eq!(
            (&request["subResource"], &request["resource"]["version"]),
            (&json!("scale"), &json!("v1"))
        );
        assert_eq!(request["object"]["spec"]["replicas"], 5);
        assert_eq!(request["oldObject"]["spec"]["replicas"], 4);
    }
}

#[tokio::test]
async fn each_object_of_a_deleted_collection_is_reviewed() {
    let hook = Hook::new(|_, review| {
        super::hook::Reply::Response(json!({"allowed": review["request"]["name"] != "b"}))
    })
    .await;
    let (_server, client) = widgets().await;
    for name in ["a", "b", "c"] {
        client.post(WIDGETS, &widget(name, &json!({}))).await.fine();
    }
    let rules = json!({"rules": [{"operations": ["DELETE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["widgets"]}]});
    configure(&client, &validating("all", &[webhook("stay", &hook.at("/"), &rules)])).await;
    let refused = client.delete(WIDGETS).await;
    let why = "admission webhook \"stay.example.com\" denied the request without explanation";
    assert_eq!((refused.code, refused.refused().2), (400, why));
    let names: Vec<Value> =
        hook.seen().iter().map(|request| request["oldObject"]["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(client.get(&format!("{WIDGETS}/a")).await.code, 404);
    client.get(&format!("{WIDGETS}/b")).await.fine();
}

#[tokio::test]
async fn a_generated_name_is_set_before_admission() {
    let hook = Hook::allowing().await;
    let (_server, client) = widgets().await;
    configure(&client, &mutating("all", &[webhook("all", &hook.at("/"), &json!({}))])).await;
    let object =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"generateName": "w-"}});
    let made = client.post(WIDGETS, &object).await.fine();
    let request = &hook.seen()[0];
    assert_eq!(request["name"], made["metadata"]["name"]);
    assert_eq!(request["object"]["metadata"]["name"], made["metadata"]["name"]);
    assert_eq!(request["object"]["metadata"]["namespace"], "default");
}

#[tokio::test]
async fn a_webhook_service_is_resolved_by_the_program() {
    let hook = Hook::allowing().await;
    let address = hook.address;
    let start = |builder: machinery_apiserver::Builder| builder.crds([definition()]).start();
    let builder = || ApiServer::builder(Memory::new(Options::default()));
    let service = json!({"service": {"namespace": "default", "name": "hook", "port": 8443, "path": "/x"}, "caBundle": hook.bundle()});
    let hooks = validating("all", &[webhook("all", &service, &json!({}))]);

    let found = move |namespace: &str, name: &str, port| {
        (namespace == "default" && name == "hook" && port == 8443).then_some(address)
    };
    let server = start(builder().webhook_services(found)).await.unwrap();
    let client = Client::of(&server);
    configure(&client, &hooks).await;
    client.post(WIDGETS, &widget("a", &json!({}))).await.fine();
    assert_eq!(hook.paths(), ["/x?timeout=30s"]);

    let server = start(builder()).await.unwrap();
    let client = Client::of(&server);
    configure(&client, &hooks).await;
    let refused = client.post(WIDGETS, &widget("a", &json!({}))).await;
    assert!(refused.refused().2.contains("say so by `Builder::webhook_services`"), "{refused:?}");
}

#[tokio::test]
async fn a_webhook_is_authenticated_by_its_ca_bundle_or_the_roots_of_the_server() {
    let (hook, other) = (Hook::allowing().await, Hook::allowing().await);
    for (roots, bundle, expected) in [
        (None, Some(&hook), None),
        (Some(&hook), None, None),
        (None, None, Some("this server trusts nobody else")),
        (None, Some(&other), Some("invalid peer certificate")),
        (Some(&other), None, Some("invalid peer certificate")),
        (Some(&hook), Some(&other), Some("invalid peer certificate")),
    ] {
        let builder = ApiServer::builder(Memory::new(Options::default())).crds([definition()]);
        let builder = match roots {
            Some(roots) => builder.webhook_roots(roots.ca.clone()),
            None => builder,
        };
        let server = builder.start().await.unwrap();
        let client = Client::of(&server);
        let mut at = hook.at("/");
        match bundle {
            Some(bundle) => at["caBundle"] = bundle.bundle().into(),
            None => drop(at.as_object_mut().unwrap().remove("caBundle")),
        }
        configure(&client, &validating("all", &[webhook("all", &at, &json!({}))])).await;
        let answer = client
            .ask(
                Method::POST,
                WIDGETS,
                &[("content-type", "application/json")],
                &widget("a", &json!({})).to_string(),
            )
            .await;
        match expected {
            None => drop(answer.fine()),
            Some(why) => assert!(answer.code == 500 && answer.refused().2.contains(why), "{answer:?}"),
        }
    }
}

/// Self-signed certificates by openssl and kopf are marked as authorities, and were rejected by the
/// verifier here.
#[tokio::test]
async fn a_self_signed_certificate_in_the_ca_bundle_is_trusted() {
    for (name, year, expected) in [
        ("localhost", 4000, None),
        ("elsewhere", 4000, Some("invalid peer certificate")),
        ("localhost", 2001, Some("invalid peer certificate")),
    ] {
        let mut shown = rcgen::CertificateParams::new([name.to_owned()]).unwrap();
        shown.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        (shown.not_before, shown.not_after) =
            (rcgen::date_time_ymd(2000, 1, 1), rcgen::date_time_ymd(year, 1, 1));
        let allows = |_: &str, _: &Value| super::hook::Reply::Response(json!({"allowed": true}));
        let hook = Hook::showing(shown, allows).await;
        let (_server, client) = widgets().await;
        configure(&client, &validating("all", &[webhook("all", &hook.at("/"), &json!({}))])).await;
        let answer = client.post(WIDGETS, &widget("a", &json!({}))).await;
        match expected {
            None => drop(answer.fine()),
            Some(why) => assert!(answer.code == 500 && answer.refused().2.contains(why), "{answer:?}"),
        }
    }
}

/// A client could create a cluster-scoped object with a namespace in its metadata that a webhook's
/// selector excludes, and so avoid the call.
#[tokio::test]
async fn the_namespace_in_an_object_does_not_affect_matching() {
    let hook = Hook::allowing().await;
    let mut definition = definition();
    definition["spec"]["scope"] = "Cluster".into();
    let server =
        ApiServer::builder(Memory::new(Options::default())).crds([definition]).start().await.unwrap();
    let client = Client::of(&server);
    let selector = json!({"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}]});
    let cluster = json!([{
        "operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["*"], "resources": ["widgets"], "scope": "Cluster",
    }]);
    let hooks = [
        webhook("scope", &hook.at("/scope"), &json!({"rules": cluster})),
        webhook("selector", &hook.at("/selector"), &json!({"namespaceSelector": selector})),
    ];
    configure(&client, &mutating("all", &hooks)).await;
    let all = "/apis/example.com/v1/widgets";
    for namespace in ["kube-system", "nowhere"] {
        let mut object = widget("a", &json!({"size": 1}));
        object["metadata"]["namespace"] = namespace.into();
        let made = client.post(all, &object).await.fine();
        assert!(made["metadata"].get("namespace").is_none());
        object["spec"]["size"] = 2.into();
        object["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"].clone();
        client.put(&format!("{all}/a"), &object).await.fine();
        let moved = json!({"metadata": {"namespace": namespace}, "spec": {"size": 3}});
        client.merge(&format!("{all}/a"), &moved).await.fine();
        object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        object["spec"]["size"] = 4.into();
        let apply = [("content-type", "application/apply-patch+yaml")];
        let path = format!("{all}/a?fieldManager=m&force=true");
        client.ask(Method::PATCH, &path, &apply, &object.to_string()).await.fine();
        client.delete(&format!("{all}/a")).await.fine();
    }
    let seen = hook.seen();
    assert_eq!(seen.len(), 2 * 2 * 5, "{seen:#?}");
    for request in &seen {
        let said = [&request["namespace"], &request["object"]["metadata"]["namespace"]];
        assert_eq!(said, [&Value::Null; 2], "{request:#}");
    }
}

/// A webhook for a version without a field erased the field from an object that was written in
/// another version.
#[tokio::test]
async fn fields_missing_in_an_equivalent_version_survive_a_webhook() {
    let hook =
        Hook::patching(json!([{"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}])).await;
    let mut definition = versions();
    definition["spec"]["versions"][0]["storage"] = false.into();
    definition["spec"]["versions"][1]["storage"] = true.into();
    definition["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["mood"] =
        json!({"type": "string"});
    let server =
        ApiServer::builder(Memory::new(Options::default())).crds([definition]).start().await.unwrap();
    let client = Client::of(&server);
    let first = json!([{"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["widgets"]}]);
    configure(&client, &mutating("all", &[webhook("first", &hook.at("/"), &json!({"rules": first}))])).await;
    let path = WIDGETS.replace("v1", "v2");
    let mut object = widget("a", &json!({"size": 4, "mood": "good"}));
    object["apiVersion"] = "example.com/v2".into();
    let made = client.post(&path, &object).await.fine();
    assert_eq!((&made["spec"]["mood"], &made["metadata"]["labels"]["seen"]), (&json!("good"), &json!("yes")));
    let changed = client.merge(&format!("{path}/a"), &json!({"spec": {"size": 5}})).await.fine();
    assert_eq!(changed["spec"], json!({"size": 5, "mood": "good"}));
    let seen = hook.seen();
    assert_eq!(seen[0]["object"]["apiVersion"], "example.com/v1");
    assert_eq!(seen[0]["object"]["spec"]["mood"], "good", "nothing is left out of what is told");
}
