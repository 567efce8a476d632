//! The CustomResourceDefinition of a kind.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::definition::{KindDefinition, PrinterColumn};
use super::paths::{column_type, described};
use super::rules::add_rules;
use super::schema::schema_of;
use super::sections::ANNOTATION;

impl KindDefinition {
    /// Returns the CustomResourceDefinition, with the schema of the Rust type `K`.
    ///
    /// If the schema is not one of Kubernetes, the definition has the reason as its name, and no
    /// server accepts it.
    #[must_use]
    pub fn of<K: JsonSchema>(&self) -> CustomResourceDefinition {
        serde_json::from_value(self.json(schema_of::<K>())).unwrap_or_else(|error| {
            let name = Some(format!("the schema of {} is invalid: {error}", self.kind));
            let metadata = ObjectMeta { name, ..ObjectMeta::default() };
            CustomResourceDefinition { metadata, ..CustomResourceDefinition::default() }
        })
    }

    fn json(&self, mut schema: Value) -> Value {
        add_rules(&mut schema, &self.rules);
        let versions: Vec<Value> =
            [self.version].iter().chain(&self.served).map(|name| self.version_json(name, &schema)).collect();
        let mut names = json!({
            "kind": self.kind, "listKind": format!("{}List", self.kind),
            "plural": self.plural, "singular": self.singular,
        });
        for (field, list) in [("shortNames", &self.shortnames), ("categories", &self.categories)] {
            if !list.is_empty() {
                names[field] = json!(list);
            }
        }
        let mut metadata = json!({"name": self.name});
        if let Some(sections) = self.sections.annotation() {
            metadata["annotations"] = json!({ANNOTATION: sections});
        }
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata,
            "spec": {"group": self.group, "scope": self.scope, "names": names, "versions": versions},
        })
    }

    fn version_json(&self, name: &str, schema: &Value) -> Value {
        let mut version = json!({
            "name": name, "served": true, "storage": name == self.version,
            "schema": {"openAPIV3Schema": schema},
        });
        if self.deprecated.contains(&name) {
            version["deprecated"] = true.into();
        }
        if self.has_status || self.scale.is_some() {
            version["subresources"] = json!({});
        }
        if self.has_status {
            version["subresources"]["status"] = json!({});
        }
        if let Some([desired, actual, selector]) = self.scale {
            version["subresources"]["scale"] = json!({
                "specReplicasPath": desired, "statusReplicasPath": actual, "labelSelectorPath": selector,
            });
        }
        if !self.selectable.is_empty() {
            version["selectableFields"] =
                self.selectable.iter().map(|path| json!({"jsonPath": path})).collect();
        }
        if !self.columns.is_empty() {
            let mut columns: Vec<Value> = self.columns.iter().map(|column| column.json(schema)).collect();
            if self.columns.iter().all(|column| column.name != "Age") {
                columns
                    .push(json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}));
            }
            version["additionalPrinterColumns"] = columns.into();
        }
        version
    }
}

impl PrinterColumn {
    fn json(&self, schema: &Value) -> Value {
        let Self { name, path, is_wide } = *self;
        let mut column = json!({"name": name, "type": column_type(schema, path), "jsonPath": path});
        if let Some(description) = described(schema, path) {
            column["description"] = description.into();
        }
        if is_wide {
            column["priority"] = 1.into();
        }
        column
    }
}
