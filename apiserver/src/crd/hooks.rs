//! What is different about definitions.

use serde_json::{Value, json};

use super::kinds;
use super::names::{approval, errors, names};
use crate::invalid::{FieldError, Problem};
use crate::kind::{Hooks, Part, Replaced};
use crate::refusal::Refusal;
use crate::strategy::metadata_mut;
use crate::table::check_columns;

/// Holds a deleted definition until its objects are gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The kind `CustomResourceDefinition`.
pub(crate) struct Definitions;

impl Hooks for Definitions {
    fn default(&self, crd: &mut Value) {
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
    }

    fn creating(&self, crd: &mut Value) {
        let stored = stored_version(crd).map(str::to_owned);
        crd["status"] = json!({
            "conditions": null,
            "acceptedNames": {"kind": "", "plural": ""},
            "storedVersions": stored.into_iter().collect::<Vec<_>>(),
        });
    }

    fn updating(&self, crd: &mut Value, _old: &Value, part: Part) {
        // A version that is stored from now on may be in the store for ever.
        let Some(stored) = stored_version(crd).map(str::to_owned).filter(|_| part == Part::Main) else {
            return;
        };
        let Some(versions) = crd["status"]["storedVersions"].as_array_mut() else { return };
        if !versions.iter().any(|version| *version == stored) {
            versions.push(stored.into());
        }
    }

    fn validate(&self, crd: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = errors(crd);
        errors.extend(versions(crd));
        match old {
            Some(old) => errors.extend(unchanged(crd, old)),
            None => errors.extend(approval(crd)),
        }
        if errors.is_empty()
            && let Err(found) = kinds(crd, &names(&crd["spec"]["names"]), &Replaced::default())
        {
            errors.extend(found);
        }
        errors
    }

    fn deleting(&self, crd: &mut Value) -> Result<(), Refusal> {
        let metadata = metadata_mut(crd);
        let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
        if let Some(finalizers) = finalizers.as_array_mut()
            && !finalizers.iter().any(|finalizer| finalizer == CLEANUP)
        {
            finalizers.push(CLEANUP.into());
        }
        Ok(())
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

/// What is wrong with the versions, apart from their schemas.
fn versions(crd: &Value) -> Vec<FieldError> {
    let versions = crd["spec"]["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut errors = Vec::new();
    let stored = versions.iter().filter(|version| version["storage"] == true).count();
    if stored != 1 {
        let detail = "must have exactly one version marked as storage version";
        let value = crd["spec"]["versions"].clone();
        errors.push(FieldError::new("spec.versions", Problem::Invalid(value), detail));
    }
    for (at, version) in versions.iter().enumerate() {
        let path = format!("spec.versions[{at}]");
        let name = version["name"].as_str().unwrap_or_default();
        if machinery_objects::NameRule::DnsLabel.check(name).is_err() {
            let problem = Problem::Invalid(name.into());
            errors.push(FieldError::new(format!("{path}.name"), problem, "must be a DNS-1035 label"));
        }
        if versions[..at].iter().any(|other| other["name"] == version["name"]) {
            let detail = "must contain unique version names";
            errors.push(FieldError::new("spec.versions", Problem::Invalid(version["name"].clone()), detail));
        }
        for flag in ["served", "storage"] {
            if !version[flag].is_boolean() {
                errors.push(FieldError::new(format!("{path}.{flag}"), Problem::Required, ""));
            }
        }
        errors.extend(check_columns(
            &version["additionalPrinterColumns"],
            &format!("{path}.additionalPrinterColumns"),
        ));
        if !version["schema"]["openAPIV3Schema"].is_object() {
            let field = format!("{path}.schema.openAPIV3Schema");
            errors.push(FieldError::new(field, Problem::Required, "schemas are required"));
        }
    }
    match crd["spec"]["conversion"]["strategy"].as_str() {
        Some("None") | None => {}
        Some("Webhook") => {
            let detail = "this server converts with strategy None only";
            let problem = Problem::NotSupported("Webhook".into());
            errors.push(FieldError::new("spec.conversion.strategy", problem, detail));
        }
        Some(other) => {
            let problem = Problem::NotSupported(other.into());
            let detail = r#"supported values: "None", "Webhook""#;
            errors.push(FieldError::new("spec.conversion.strategy", problem, detail));
        }
    }
    errors
}

/// What may not change: objects are stored by it.
fn unchanged(crd: &Value, old: &Value) -> Vec<FieldError> {
    let established = super::condition(old, "Established") == Some("True");
    let fields = [
        ("spec.group", "/spec/group"),
        ("spec.scope", "/spec/scope"),
        ("spec.names.kind", "/spec/names/kind"),
        ("spec.names.plural", "/spec/names/plural"),
    ];
    let changed = fields.iter().filter(|(_, at)| established && crd.pointer(at) != old.pointer(at));
    let immutable = |(field, at): &(&str, &str)| {
        let value = crd.pointer(at).cloned().unwrap_or_default();
        FieldError::new(*field, Problem::Invalid(value), "field is immutable")
    };
    let mut errors: Vec<FieldError> = changed.map(immutable).collect();
    let versions = crd["spec"]["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    for stored in crd["status"]["storedVersions"].as_array().into_iter().flatten() {
        if !versions.iter().any(|version| version["name"] == *stored) {
            let detail = format!(
                "missing from spec.versions; {} was previously a storage version, and must remain in \
                 spec.versions until a storage migration ensures no data remains persisted in it and removes it from \
                 status.storedVersions",
                stored.as_str().unwrap_or_default()
            );
            let at = crd["status"]["storedVersions"]
                .as_array()
                .and_then(|all| all.iter().position(|one| one == stored));
            let field = format!("status.storedVersions[{}]", at.unwrap_or_default());
            errors.push(FieldError::new(field, Problem::Invalid(stored.clone()), detail));
        }
    }
    errors
}
