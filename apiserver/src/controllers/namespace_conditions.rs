//! Conditions of a namespace in deletion: the contents that are left, and their finalizers.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The contents of a namespace that were deleted and still exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Remaining {
    /// Numbers of objects by resource, as `RESOURCE.GROUP`.
    objects: BTreeMap<String, usize>,
    /// Numbers of objects by finalizer.
    finalizers: BTreeMap<String, usize>,
}

impl Remaining {
    /// Counts an object.
    pub(super) fn add(&mut self, group: &str, plural: &str, metadata: &Value) {
        *self.objects.entry(format!("{plural}.{group}")).or_default() += 1;
        for finalizer in metadata["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            *self.finalizers.entry(finalizer.to_owned()).or_default() += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Returns the conditions as (type, status, reason, message).
    fn conditions(&self) -> [(&'static str, &'static str, &'static str, String); 5] {
        let fine = |of, reason, message: &str| (of, "False", reason, message.to_owned());
        let content = if self.objects.is_empty() {
            fine("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed")
        } else {
            let each =
                self.objects.iter().map(|(kind, count)| format!("{kind} has {count} resource instances"));
            let message = format!("Some resources are remaining: {}", joined(each));
            ("NamespaceContentRemaining", "True", "SomeResourcesRemain", message)
        };
        let finalizers = if self.finalizers.is_empty() {
            let message = "All content-preserving finalizers finished";
            fine("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", message)
        } else {
            let each =
                self.finalizers.iter().map(|(name, count)| format!("{name} in {count} resource instances"));
            let message = format!("Some content in the namespace has finalizers remaining: {}", joined(each));
            ("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain", message)
        };
        [
            fine(
                "NamespaceDeletionDiscoveryFailure",
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
            fine(
                "NamespaceDeletionGroupVersionParsingFailure",
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
            fine(
                "NamespaceDeletionContentFailure",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
            content,
            finalizers,
        ]
    }

    /// Sets the conditions in the status of a namespace. Returns false if they are unchanged.
    pub(super) fn tell(&self, namespace: &mut Value, now: &str) -> bool {
        if !namespace["status"]["conditions"].is_array() {
            namespace["status"]["conditions"] = json!([]);
        }
        let Some(all) = namespace["status"]["conditions"].as_array_mut() else { return false };
        let mut has_changed = false;
        for (of, status, reason, message) in self.conditions() {
            let Some(there) = all.iter_mut().find(|condition| condition["type"] == of) else {
                all.push(json!({
                    "type": of, "status": status, "reason": reason, "message": message, "lastTransitionTime": now,
                }));
                has_changed = true;
                continue;
            };
            let same = there["status"] == status;
            if same && there["reason"] == reason && there["message"] == message.as_str() {
                continue;
            }
            has_changed = true;
            if !same {
                there["lastTransitionTime"] = now.into();
            }
            there["status"] = status.into();
            there["reason"] = reason.into();
            there["message"] = message.into();
        }
        has_changed
    }
}

fn joined(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition<'a>(namespace: &'a Value, of: &str) -> &'a Value {
        let all = namespace["status"]["conditions"].as_array().unwrap();
        all.iter().find(|condition| condition["type"] == of).unwrap()
    }

    #[test]
    fn conditions_name_what_is_left_and_change_only_with_it() {
        let mut remaining = Remaining::default();
        remaining.add("", "pods", &json!({"finalizers": ["example.com/a", "example.com/b"]}));
        remaining.add("", "pods", &json!({"finalizers": ["example.com/a"]}));
        remaining.add("apps", "deployments", &json!({}));
        let mut namespace = json!({"status": {"phase": "Terminating"}});
        assert!(remaining.tell(&mut namespace, "then"));
        let content = condition(&namespace, "NamespaceContentRemaining").clone();
        assert_eq!(
            (&content["status"], &content["message"]),
            (
                &json!("True"),
                &json!(
                    "Some resources are remaining: deployments.apps has 1 resource instances, pods. has 2 resource instances"
                ),
            )
        );
        assert_eq!(
            condition(&namespace, "NamespaceFinalizersRemaining")["message"],
            "Some content in the namespace has finalizers remaining: example.com/a in 2 resource instances, example.com/b in 1 resource instances"
        );
        assert_eq!(condition(&namespace, "NamespaceDeletionContentFailure")["status"], "False");
        assert!(!remaining.tell(&mut namespace, "now"), "nothing has changed");
        assert!(Remaining::default().tell(&mut namespace, "now"));
        let content = condition(&namespace, "NamespaceContentRemaining");
        assert_eq!((&content["status"], &content["lastTransitionTime"]), (&json!("False"), &json!("now")));
        let other = condition(&namespace, "NamespaceDeletionContentFailure");
        assert_eq!(other["lastTransitionTime"], "then", "its status is the same");
    }
}
