//! Status conditions.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The conditions of a status: at most one of each type, in the order of their first writes. They
/// are a map by type for server-side apply, so each may have a writer of its own.
///
/// `kubectl wait --for=condition=Ready` waits for the condition `Ready` with the status `True`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
pub struct Conditions(pub Vec<Condition>);

/// The content of a condition, without its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionState {
    /// The type: `Ready`.
    pub name: &'static str,
    /// Whether it holds; `None` is `Unknown`.
    pub holds: Option<bool>,
    /// The reason in one word, in camel case.
    pub reason: &'static str,
    /// The explanation for users; may be empty.
    pub message: String,
}

impl Conditions {
    /// Returns true if there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the condition of a type.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Condition> {
        self.0.iter().find(|condition| condition.type_ == name)
    }

    /// Returns true if the condition of this type has the status `True`.
    #[must_use]
    pub fn is_true(&self, name: &str) -> bool {
        self.find(name).is_some_and(|condition| condition.status == "True")
    }

    /// Returns true if [`set`](Self::set) would change nothing.
    #[must_use]
    pub fn has(&self, state: &ConditionState, of: &ObjectMeta) -> bool {
        self.find(state.name).is_some_and(|condition| {
            (&*condition.status, &*condition.reason, &condition.message, condition.observed_generation)
                == (state.status(), state.reason, &state.message, of.generation)
        })
    }

    /// Sets a condition of the object with these metadata, for its present generation. The
    /// transition time changes with the status only.
    pub fn set(&mut self, state: ConditionState, of: &ObjectMeta, now: Timestamp) {
        let status = state.status();
        let before = self.find(state.name).filter(|condition| condition.status == status);
        let condition = Condition {
            last_transition_time: before
                .map_or_else(|| Time(now), |condition| condition.last_transition_time.clone()),
            message: state.message,
            observed_generation: of.generation,
            reason: state.reason.into(),
            status: status.into(),
            type_: state.name.into(),
        };
        match self.0.iter_mut().find(|other| other.type_ == condition.type_) {
            Some(other) => *other = condition,
            None => self.0.push(condition),
        }
    }
}

impl ConditionState {
    const fn status(&self) -> &'static str {
        match self.holds {
            Some(true) => "True",
            Some(false) => "False",
            None => "Unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transition_time_changes_with_the_status_only() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let state = |holds, reason| ConditionState { name: "Ready", holds, reason, message: String::new() };
        let of = |generation| ObjectMeta { generation: Some(generation), ..ObjectMeta::default() };
        let mut conditions = Conditions::default();
        let mut set = |state: ConditionState, generation, second, transition| {
            assert!(!conditions.has(&state, &of(generation)));
            conditions.set(state.clone(), &of(generation), at(second));
            assert!(conditions.has(&state, &of(generation)));
            let [condition] = &conditions.0[..] else { panic!("{conditions:?}") };
            assert_eq!(
                (condition.last_transition_time.0, &*condition.reason),
                (at(transition), state.reason)
            );
            assert_eq!(condition.observed_generation, Some(generation));
            conditions.is_true("Ready")
        };
        assert!(!set(state(Some(false), "Missing"), 1, 1, 1));
        assert!(!set(state(Some(false), "Full"), 1, 2, 1));
        assert!(set(state(Some(true), "Bound"), 1, 3, 3));
        assert!(set(state(Some(true), "Bound"), 2, 4, 3));
        assert!(!set(state(None, "Silent"), 2, 5, 5));
        assert_eq!(conditions.find("Ready").unwrap().status, "Unknown");
    }
}
