//! Hooks of the kind CustomResourceDefinition.

use serde_json::{Value, json};

use super::{set_condition, types, unknown, validate};
use crate::bounded::BoundedTexts;
use crate::invalid::FieldError;
use crate::kind::{KindHooks, Subresource};
use crate::refusal::Refusal;
use crate::strategy::metadata_mut;

/// Finalizer that keeps a deleted definition until its objects are deleted.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The kind `CustomResourceDefinition`.
pub(crate) struct Definitions;

impl KindHooks for Definitions {
    fn default(&self, crd: &mut Value) {
        unknown::prune(crd);
        if !crd["spec"].is_object() {
            return;
        }
        let spec = &mut crd["spec"];
        if spec["names"].is_object() {
            let kind = spec["names"]["kind"].as_str().unwrap_or_default().to_owned();
            let names = &mut spec["names"];
            fill(names, "singular", || kind.to_lowercase().into());
            fill(names, "listKind", || format!("{kind}List").into());
        }
        fill(spec, "conversion", || json!({"strategy": "None"}));
        if spec["preserveUnknownFields"] == false {
            drop(spec.as_object_mut().and_then(|spec| spec.remove("preserveUnknownFields")));
        }
        // There is always one storage version.
        let stored = stored_version(crd).map(str::to_owned);
        if let Some(stored) = stored
            && crd["status"]["storedVersions"].as_array().is_none_or(Vec::is_empty)
        {
            crd["status"]["storedVersions"] = json!([stored]);
        }
    }

    fn creating(&self, crd: &mut Value) {
        let stored = stored_version(crd).map(str::to_owned);
        crd["status"] = json!({
            "conditions": null,
            "acceptedNames": {"kind": "", "plural": ""},
            "storedVersions": stored.into_iter().collect::<Vec<_>>(),
        });
    }

    fn updating(&self, crd: &mut Value, _old: &Value, part: Subresource) {
        // Objects may remain in a former storage version, so the list keeps it.
        let Some(stored) = stored_version(crd).map(str::to_owned).filter(|_| part == Subresource::Main)
        else {
            return;
        };
        let Some(versions) = crd["status"]["storedVersions"].as_array_mut() else { return };
        if !versions.iter().any(|version| *version == stored) {
            versions.push(stored.into());
        }
    }

    fn unknown(&self, crd: &Value) -> BoundedTexts {
        unknown::prune(&mut crd.clone())
    }

    fn unfit(&self, crd: &Value) -> Option<String> {
        types::error(crd).or_else(|| types::open_part_error(crd))
    }

    fn validate(&self, crd: &Value, old: Option<&Value>) -> Vec<FieldError> {
        validate::errors(crd, old)
    }

    fn deleting(&self, crd: &mut Value, now: &str) -> Result<bool, Refusal> {
        let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
        set_condition(crd, "Terminating", "True", "InstanceDeletionPending", message, now);
        let metadata = metadata_mut(crd);
        let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
        if let Some(finalizers) = finalizers.as_array_mut()
            && !finalizers.iter().any(|finalizer| finalizer == CLEANUP)
        {
            finalizers.push(CLEANUP.into());
        }
        Ok(true)
    }
}

fn fill(object: &mut Value, field: &str, value: impl FnOnce() -> Value) {
    if object[field].is_null() || object[field] == "" {
        object[field] = value();
    }
}

fn stored_version(crd: &Value) -> Option<&str> {
    let versions = crd["spec"]["versions"].as_array()?;
    versions.iter().find(|version| version["storage"] == true)?["name"].as_str()
}
