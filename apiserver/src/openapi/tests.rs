use std::sync::Arc;

use serde_json::{Value, json};

use super::schema::{PREFIX, shared_by_all};
use super::*;
use crate::discovery::{CUSTOM_VERBS, KindInfo, Page, SubresourceInfo};

fn info(group: &str, version: &str, namespaced: bool) -> KindInfo {
    let mut info = KindInfo {
        group: group.into(),
        version: version.into(),
        kind: "Widget".into(),
        list_kind: "WidgetList".into(),
        plural: "widgets".into(),
        singular: "widget".into(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced,
        built_in: false,
        verbs: CUSTOM_VERBS,
        storage_version_hash: String::new(),
        subresources: Vec::new(),
    };
    info.subresources = vec![info.status(), SubresourceInfo::scale()];
    info
}

fn described(info: KindInfo, schema: Option<Value>) -> Arc<Described> {
    Arc::new(Described { info: Arc::new(info), schema, selectable: vec!["spec.size".into()] })
}

fn widget() -> Value {
    json!({
        "type": "object", "description": "A widget.", "required": ["spec"],
        "properties": {
            "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 10}}},
            "spec": {
                "type": "object", "required": ["size", "maybe"],
                "properties": {
                    "size": {"type": "integer", "minimum": 1},
                    "maybe": {"type": "string", "nullable": true},
                    "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "string"}}},
                    "template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
                    "shared": {"$ref": "#/components/schemas/com.example.Shared"},
                },
            },
        },
    })
}

fn shared() -> Arc<Components> {
    let shared = json!({"type": "object", "properties": {"again": {"$ref": "#/components/schemas/com.example.Shared"}}});
    Arc::new(Components::from([
        ("com.example.Shared".into(), shared),
        ("com.example.Unused".into(), json!({})),
    ]))
}

fn openapi() -> OpenApi {
    OpenApi::new(
        [described(info("example.com", "v1", true), Some(widget())), described(info("", "v1", false), None)],
        &shared(),
        None,
    )
}

fn read(page: &Page) -> Value {
    serde_json::from_slice(&page.json).expect("JSON")
}

fn document(path: &str) -> Value {
    read(openapi().document(path).expect("there"))
}

fn names(parameters: &Value) -> Vec<&str> {
    parameters.as_array().into_iter().flatten().filter_map(|parameter| parameter["name"].as_str()).collect()
}

/// Every reference in a document leads somewhere in it.
#[track_caller]
fn check_whole(document: &Value, prefix: &str, targets: &Value) {
    fn walk(value: &Value, prefix: &str, targets: &Value) {
        match value {
            Value::Array(list) => list.iter().for_each(|item| walk(item, prefix, targets)),
            Value::Object(map) => {
                if let Some(target) = map.get("$ref").and_then(Value::as_str) {
                    let name = target.strip_prefix(prefix).unwrap_or_else(|| panic!("{target} is outside"));
                    assert!(targets.get(name).is_some(), "{target} leads nowhere");
                }
                map.values().for_each(|value| walk(value, prefix, targets));
            }
            _ => {}
        }
    }
    walk(document, prefix, targets);
}

#[test]
fn the_index_names_documents_with_their_hash() {
    let openapi = openapi();
    let hash = &openapi.document("apis/example.com/v1").expect("there").hash;
    let index = read(openapi.index());
    assert_eq!(
        index["paths"].as_object().map(|paths| paths.keys().cloned().collect()),
        Some(vec!["api/v1".to_owned(), "apis/example.com/v1".to_owned()])
    );
    assert_eq!(
        index["paths"]["apis/example.com/v1"]["serverRelativeURL"],
        format!("/openapi/v3/apis/example.com/v1?hash={hash}")
    );
    assert!(openapi.document("apis/example.com/v2").is_none());
}

#[test]
fn a_document_needs_no_other() {
    for path in ["apis/example.com/v1", "api/v1"] {
        let document = document(path);
        check_whole(&document, PREFIX, &document["components"]["schemas"]);
        assert!(document["components"]["schemas"].get("com.example.Unused").is_none());
    }
}

#[test]
fn operations_have_the_parameters_that_clients_look_for() {
    let document = document("apis/example.com/v1");
    let root = "/apis/example.com/v1/namespaces/{namespace}/widgets";
    let gvk = json!({"group": "example.com", "version": "v1", "kind": "Widget"});
    let patch = &document["paths"][format!("{root}/{{name}}")]["patch"];
    assert_eq!(patch["x-kubernetes-group-version-kind"], gvk);
    assert_eq!(patch["x-kubernetes-action"], "patch");
    assert_eq!(names(&patch["parameters"]), ["dryRun", "fieldManager", "fieldValidation", "force"]);
    assert!(
        patch["parameters"].as_array().expect("a list").iter().all(|parameter| parameter["in"] == "query")
    );
    let types: Vec<&String> = patch["requestBody"]["content"].as_object().expect("a map").keys().collect();
    assert_eq!(
        types,
        ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"]
    );
    assert_eq!(
        names(&document["paths"][format!("{root}/{{name}}")]["parameters"]),
        ["name", "namespace", "pretty"]
    );

    let create = &document["paths"][root]["post"];
    assert_eq!(
        (&create["x-kubernetes-action"], &create["x-kubernetes-group-version-kind"]),
        (&json!("post"), &gvk)
    );
    assert_eq!(names(&create["parameters"]), ["dryRun", "fieldManager", "fieldValidation"]);
    assert_eq!(create["operationId"], "createExampleComV1NamespacedWidget");
    let everywhere = &document["paths"]["/apis/example.com/v1/widgets"]["get"];
    assert_eq!(everywhere["operationId"], "listExampleComV1WidgetForAllNamespaces");
    assert!(names(&everywhere["parameters"]).contains(&"labelSelector"));
    let every = names(&document["paths"][root]["delete"]["parameters"]).len();
    assert_eq!(every, 15);

    let status = &document["paths"][format!("{root}/{{name}}/status")];
    assert_eq!(status["put"]["operationId"], "replaceExampleComV1NamespacedWidgetStatus");
    assert!(status.get("delete").is_none());
    let scale = &document["paths"][format!("{root}/{{name}}/scale")]["get"];
    assert_eq!(scale["x-kubernetes-group-version-kind"], gvk);
    assert_eq!(
        scale["responses"]["200"]["content"]["application/json"]["schema"]["$ref"],
        "#/components/schemas/io.k8s.api.autoscaling.v1.Scale"
    );
}

#[test]
fn operations_are_those_that_the_kind_has() {
    let review = KindInfo {
        verbs: &["create"],
        subresources: Vec::new(),
        ..info("authentication.k8s.io", "v1", false)
    };
    let openapi = OpenApi::new([described(review, None)], &Arc::default(), None);
    let document = read(openapi.document("apis/authentication.k8s.io/v1").expect("there"));
    let paths = document["paths"].as_object().expect("paths");
    assert_eq!(paths.keys().collect::<Vec<_>>(), ["/apis/authentication.k8s.io/v1/widgets"]);
    assert!(paths["/apis/authentication.k8s.io/v1/widgets"].get("get").is_none());
    assert!(document["components"]["schemas"].get("io.k8s.api.authentication.v1.WidgetList").is_none());
}

#[test]
fn schemas_have_what_every_object_has() {
    let document = document("apis/example.com/v1");
    let schema = &document["components"]["schemas"]["com.example.v1.Widget"];
    assert_eq!(
        schema["x-kubernetes-group-version-kind"],
        json!([{"group": "example.com", "version": "v1", "kind": "Widget"}])
    );
    assert_eq!(schema["x-kubernetes-selectable-fields"], json!([{"fieldPath": "spec.size"}]));
    let metadata = json!([{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]);
    assert_eq!(schema["properties"]["metadata"]["allOf"], metadata);
    assert_eq!(schema["properties"]["kind"]["type"], "string");
    let template = &schema["properties"]["spec"]["properties"]["template"];
    assert_eq!(
        (&template["properties"]["metadata"]["allOf"], &template["required"]),
        (&metadata, &json!(["kind", "apiVersion"]))
    );
    let list = &document["components"]["schemas"]["com.example.v1.WidgetList"];
    assert_eq!(list["x-kubernetes-group-version-kind"][0]["kind"], "WidgetList");
    assert_eq!(list["properties"]["items"]["items"]["$ref"], "#/components/schemas/com.example.v1.Widget");
}

#[test]
fn documents_of_unchanged_kinds_are_reused() {
    let kind = described(info("example.com", "v1", true), Some(widget()));
    let other = |version: &str| described(info("other.example.com", version, true), None);
    let shared = shared();
    let first = OpenApi::new([Arc::clone(&kind), other("v1")], &shared, None);
    let page = first.document("apis/example.com/v1").expect("there").json.clone();
    let second = OpenApi::new([kind, other("v2")], &shared, Some(&first));
    let kept = &second.document("apis/example.com/v1").expect("there").json;
    assert_eq!(kept.as_ptr(), page.as_ptr());
    assert!(second.document("apis/other.example.com/v1").is_none());
}

#[test]
fn the_v2_document_is_derived_from_those_of_v3() {
    let swagger = read(openapi().swagger());
    assert_eq!(swagger["swagger"], "2.0");
    check_whole(&swagger, "#/definitions/", &swagger["definitions"]);
    let spec = &swagger["definitions"]["com.example.v1.Widget"]["properties"]["spec"];
    assert_eq!(spec["required"], json!(["size"]));
    assert_eq!(spec["properties"]["maybe"], json!({}));
    assert_eq!(spec["properties"]["port"], json!({"x-kubernetes-int-or-string": true}));
    assert_eq!(spec["properties"]["any"], json!({"x-kubernetes-preserve-unknown-fields": true}));
    let metadata = &swagger["definitions"]["com.example.v1.Widget"]["properties"]["metadata"];
    assert_eq!(metadata["$ref"], "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");

    let patch = &swagger["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"];
    assert_eq!(names(&patch["parameters"]), ["dryRun", "fieldManager", "fieldValidation", "force", "body"]);
    assert_eq!(patch["parameters"][0]["type"], "string");
    assert!(patch["parameters"][0].get("schema").is_none());
    assert_eq!(patch["consumes"].as_array().map(Vec::len), Some(3));
    assert_eq!(patch["produces"], json!(["application/json", "application/yaml"]));
    assert_eq!(patch["responses"]["200"]["schema"]["$ref"], "#/definitions/com.example.v1.Widget");
}

/// Kubernetes' suite compares the definition of a kind without a schema.
#[test]
fn a_kind_that_preserves_unknown_fields_has_no_properties_in_v2() {
    let schema =
        json!({"type": "object", "description": "Open.", "x-kubernetes-preserve-unknown-fields": true});
    let kind = described(info("example.com", "v1", true), Some(schema));
    let openapi = OpenApi::new([kind], &shared(), None);
    let gvk = json!([{"group": "example.com", "version": "v1", "kind": "Widget"}]);
    let expected = json!({
        "type": "object", "x-kubernetes-group-version-kind": gvk,
        "x-kubernetes-selectable-fields": [{"fieldPath": "spec.size"}],
    });
    assert_eq!(read(openapi.swagger())["definitions"]["com.example.v1.Widget"], expected);
    let document = read(openapi.document("apis/example.com/v1").expect("there"));
    let schema = &document["components"]["schemas"]["com.example.v1.Widget"];
    assert!(schema["properties"]["metadata"].is_object(), "the newer document has them");
}

#[test]
fn the_common_schemas_are_whole() {
    let all: Value = shared_by_all().clone().into_iter().collect();
    check_whole(&all, PREFIX, &all);
    assert!(all.as_object().is_some_and(|all| all.values().all(|schema| schema["description"].is_string())));
}
