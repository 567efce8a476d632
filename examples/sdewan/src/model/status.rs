//! The status of a rule, in the form of the page and in the original's.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The status of a rule. Not in sync means that nothing counts as applied, but
/// [`applied_to`](Self::applied_to) stays until the CNF is clean.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SyncStatus {
    /// The state, one of the original's five texts.
    pub state: String,
    /// The reason when the rule is not in sync.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Whether every pod of the CNF holds the rule.
    pub in_sync: bool,
    /// The resourceVersion that was applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied_version: Option<String>,
    /// The generation that was applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied_generation: Option<i64>,
    /// The time at which it was applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied_time: Option<String>,
    /// The generation that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The CNF to which the rule was applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied_to: Option<AppliedTo>,
    /// The number of pods that hold the rule, of all: `2/2`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub synced_pods: String,
    /// The result of each pod.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<PodSync>,
    /// The conditions `InSync`, `DependenciesMet` and `CNFReady`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<SyncCondition>,
}

/// The CNF to which a rule was applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedTo {
    /// The namespace.
    #[serde(default)]
    pub namespace: String,
    /// The purpose.
    #[serde(default)]
    pub purpose: String,
    /// The name of the Deployment.
    #[serde(default)]
    pub deployment: String,
}

/// The result of one pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSync {
    /// The name of the pod.
    pub name: String,
    /// Whether the pod holds the rule.
    pub in_sync: bool,
    /// The reason if it does not: the call and its answer.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// A condition of a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SyncCondition {
    /// The type.
    #[serde(rename = "type")]
    pub condition: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The reason, one word.
    pub reason: String,
    /// The reason for people.
    pub message: String,
    /// The time of the last change of `status`.
    pub last_transition_time: String,
    /// The generation that the condition is about.
    pub observed_generation: i64,
}

impl SyncStatus {
    /// Reads a status: each malformed field counts as absent.
    #[must_use]
    pub fn read(status: &Map<String, Value>) -> Self {
        let whole = Value::Object(status.clone());
        serde_json::from_value(whole).unwrap_or_else(|_| {
            // Field by field: an older writer may have another form of one.
            let mut kept = Map::new();
            for (name, value) in status {
                kept.insert(name.clone(), value.clone());
                if serde_json::from_value::<Self>(Value::Object(kept.clone())).is_err() {
                    kept.remove(name);
                }
            }
            serde_json::from_value(Value::Object(kept)).unwrap_or_default()
        })
    }

    /// Returns the merge patch that makes a status this one.
    #[must_use]
    pub fn patch(&self) -> Value {
        let mut status = serde_json::to_value(self).unwrap_or_default();
        // A merge patch removes only the fields that it names.
        for optional in OPTIONAL {
            if status.get(optional).is_none() {
                status[*optional] = Value::Null;
            }
        }
        if self.applied_to.is_none() {
            status["appliedTo"] = Value::Null;
        }
        json!({ "status": status })
    }

    /// Returns a condition.
    #[must_use]
    pub fn condition(&self, condition: &str) -> Option<&SyncCondition> {
        self.conditions.iter().find(|one| one.condition == condition)
    }
}

const OPTIONAL: &[&str] = &[
    "message",
    "appliedVersion",
    "appliedGeneration",
    "appliedTime",
    "observedGeneration",
    "syncedPods",
    "pods",
    "conditions",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_field_costs_no_other_field() {
        let status = json!({"state": "In Sync", "inSync": "yes", "appliedGeneration": 3, "pods": 7});
        let read = SyncStatus::read(status.as_object().unwrap());
        assert_eq!((read.state.as_str(), read.in_sync, read.applied_generation), ("In Sync", false, Some(3)));
    }

    #[test]
    fn a_patch_clears_absent_fields() {
        let patch = SyncStatus { state: "Idle".into(), ..SyncStatus::default() }.patch();
        for field in OPTIONAL {
            assert!(patch["status"][*field].is_null() && patch["status"].get(*field).is_some(), "{field}");
        }
        assert_eq!(patch["status"]["inSync"], false);
    }
}
