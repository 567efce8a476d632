//! Namespaces: their phase, finalizers and other differences from most kinds.

use serde_json::{Value, json};

use crate::kind::{KindHooks, Subresource};
use crate::refusal::Refusal;
use crate::strategy::{meta_text, metadata_mut};

/// The label of every namespace with its name, for selectors.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";
/// The finalizer that keeps a namespace until it is empty.
const KUBERNETES: &str = "kubernetes";

pub(super) struct Namespaces;

impl KindHooks for Namespaces {
    fn creating(&self, new: &mut Value) {
        new["status"] = json!({"phase": "Active"});
        if !new["spec"].is_object() {
            new["spec"] = json!({});
        }
        let finalizers = &mut new["spec"]["finalizers"];
        match finalizers.as_array_mut() {
            Some(all) if all.iter().any(|one| one == KUBERNETES) => {}
            Some(all) => all.push(KUBERNETES.into()),
            None => *finalizers = json!([KUBERNETES]),
        }
        named(new);
    }

    fn updating(&self, new: &mut Value, old: &Value, part: Subresource) {
        if part == Subresource::Main {
            new["spec"]["finalizers"] = old["spec"]["finalizers"].clone();
        }
        named(new);
    }

    fn deleting(&self, object: &mut Value, _now: &str) -> Result<bool, Refusal> {
        if matches!(meta_text(object, "name"), "default" | "kube-system" | "kube-public") {
            let message = format!(
                "namespaces {:?} is forbidden: this namespace may not be deleted",
                meta_text(object, "name")
            );
            return Err(Refusal::new(403, "Forbidden", message));
        }
        object["status"]["phase"] = "Terminating".into();
        Ok(true)
    }

    fn holds(&self, object: &Value) -> bool {
        object["spec"]["finalizers"].as_array().is_some_and(|all| !all.is_empty())
    }
}

fn named(object: &mut Value) {
    let name = meta_text(object, "name").to_owned();
    let labels = metadata_mut(object).entry("labels").or_insert_with(|| json!({}));
    if let Some(labels) = labels.as_object_mut() {
        labels.insert(NAME_LABEL.into(), name.into());
    }
}
