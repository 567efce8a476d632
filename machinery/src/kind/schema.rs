//! The OpenAPI schema of a Rust type, in structural form.

use kube_core::schema::{OptionalEnum, OptionalIntOrString, StructuralSchemaRewriter};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::AddNullable;
use serde_json::Value;

/// Returns the schema of a type, as kube's derive makes it.
pub(super) fn schema_of<K: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        // Structural schemas of Kubernetes have no references.
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let generator = settings
        .with_transform(AddNullable::default())
        .with_transform(StructuralSchemaRewriter)
        .with_transform(OptionalEnum)
        .with_transform(OptionalIntOrString)
        .into_generator();
    let mut schema = generator.into_root_schema_for::<K>().to_value();
    if let Some(root) = schema.as_object_mut() {
        root.remove("title");
    }
    schema
}
