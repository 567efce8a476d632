//! CustomResourceDefinitions of the kinds, for our server and for any cluster.

use machinery::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use machinery::kube_core::CustomResourceExt as _;
use machinery::kube_core::schema::StructuralSchemaRewriter;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::kind::{GROUP, KosKind, VERSION};
use super::{IPLock, NetworkAttachment, Probe, Subnet};

/// Returns the CustomResourceDefinition for any cluster, with immutability as CEL rules.
#[must_use]
pub fn manifest<K: KosKind>() -> CustomResourceDefinition {
    let mut definition = definition::<K>();
    let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    for (path, rule, message) in K::rules() {
        let Some(Value::Object(field)) = schema.pointer_mut(path) else { continue };
        let rules = field.entry("x-kubernetes-validations").or_insert_with(|| json!([]));
        if let Value::Array(rules) = rules {
            rules.push(json!({"rule": rule, "message": message}));
        }
    }
    serde_json::from_value(definition).unwrap_or_default()
}

/// Returns all CustomResourceDefinitions as YAML.
///
/// # Errors
/// Serialization fails.
pub fn manifests() -> Result<String, serde_saphyr::ser_error::Error> {
    let all = [manifest::<Subnet>(), manifest::<NetworkAttachment>(), manifest::<IPLock>(), Probe::crd()];
    let mut file = String::from("# Made by `kos crds`: for clusters that are not served by `kos` itself.\n");
    for one in &all {
        file.push_str("---\n");
        file.push_str(&serde_saphyr::to_string(one)?);
    }
    Ok(file)
}

/// Returns the definition for our server, where [`super::served`] validates and stamps in code.
pub(super) fn definition<K: KosKind>() -> Value {
    let names = K::NAMES;
    let column = |(name, of, path, about): &(&str, &str, &str, &str)| json!({"name": name, "type": of, "jsonPath": path, "description": about});
    let mut columns: Vec<Value> = K::columns().iter().map(column).collect();
    columns.push(json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}));
    let mut schema = K::schema();
    schema["description"] = K::ABOUT.into();
    schema.as_object_mut().map(|schema| schema.remove("title"));
    let writes = "/properties/extendedMetadata/properties/writes";
    if let Some(Value::Object(writes)) = schema.pointer_mut(writes) {
        // Keyed by section: server-side apply merges sections instead of replacing the list.
        writes.insert("x-kubernetes-list-type".into(), "map".into());
        writes.insert("x-kubernetes-list-map-keys".into(), json!(["section"]));
    }
    let mut version = json!({
        "name": VERSION, "served": true, "storage": true,
        "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": columns,
    });
    if K::HAS_STATUS {
        version["subresources"] = json!({"status": {}});
    }
    let selectable: Vec<Value> = K::selectable().iter().map(|path| json!({"jsonPath": path})).collect();
    if !selectable.is_empty() {
        version["selectableFields"] = selectable.into();
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.{GROUP}", names.plural)},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {
                "kind": names.kind, "listKind": format!("{}List", names.kind), "plural": names.plural,
                "singular": names.singular, "shortNames": names.short, "categories": ["all", "kos"],
            },
            "versions": [version],
        },
    })
}

/// Returns the OpenAPI schema of a type in structural form.
pub(super) fn schema_of<K: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        // Structural schemas of Kubernetes have no references.
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let generator = settings.with_transform(StructuralSchemaRewriter).into_generator();
    generator.into_root_schema_for::<K>().to_value()
}
