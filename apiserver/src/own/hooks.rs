//! What a type asks of its objects, where the server asks it of JSON.

use std::sync::Arc;

use machinery_objects::InvalidField;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::carry::carry;
use crate::guard::Guard;
use crate::invalid::{FieldError, Problem};
use crate::kind::{Hooks, Part};

/// What a type asks.
pub(super) struct Typed<K> {
    pub(super) defaulting: Option<Box<Defaulting<K>>>,
    pub(super) validating: Option<Box<Validating<K>>>,
    pub(super) status: Option<Box<Status<K>>>,
    pub(super) guards: Vec<Arc<dyn Guard>>,
}

type Defaulting<K> = dyn Fn(&mut K) + Send + Sync;
type Validating<K> = dyn Fn(&K, Option<&K>) -> Vec<InvalidField> + Send + Sync;
type Status<K> = dyn Fn(&mut K, Option<&K>) + Send + Sync;

impl<K> Typed<K> {
    /// One that asks nothing but that its objects can be read.
    pub(super) const fn new() -> Self {
        Self { defaulting: None, validating: None, status: None, guards: Vec::new() }
    }
}

impl<K: Serialize + DeserializeOwned> Typed<K> {
    /// Makes a change to the type one to the object: what the type does not know, and what is not changed, stays as it is.
    /// An object that cannot be read is refused later, with all else that is wrong.
    fn change(object: &mut Value, change: impl FnOnce(&mut K), counts: impl Fn(&str) -> bool) {
        let Ok(mut typed) = K::deserialize(&*object) else { return };
        let Ok(before) = serde_json::to_value(&typed) else { return };
        change(&mut typed);
        let Ok(after) = serde_json::to_value(&typed) else { return };
        carry(&before, &after, object, &counts);
    }

    fn set_status(&self, new: &mut Value, old: Option<&Value>) {
        let Some(status) = &self.status else { return };
        let old = old.and_then(|old| K::deserialize(old).ok());
        Self::change(new, |new| status(new, old.as_ref()), |field| field == "status");
    }
}

impl<K: Serialize + DeserializeOwned + 'static> Hooks for Typed<K> {
    fn default(&self, object: &mut Value) {
        if let Some(defaulting) = &self.defaulting {
            let counts = |field: &str| !matches!(field, "apiVersion" | "kind" | "metadata");
            Self::change(object, defaulting, counts);
        }
    }

    fn creating(&self, new: &mut Value) {
        self.set_status(new, None);
    }

    fn updating(&self, new: &mut Value, old: &Value, part: Part) {
        if part == Part::Main {
            self.set_status(new, Some(old));
        }
    }

    fn check(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let typed = match K::deserialize(new) {
            Ok(typed) => typed,
            Err(error) => return vec![FieldError::new(ROOT, Problem::Forbidden, error.to_string())],
        };
        let Some(validating) = &self.validating else { return Vec::new() };
        let old = old.and_then(|old| K::deserialize(old).ok());
        validating(&typed, old.as_ref()).into_iter().map(|wrong| told(wrong, new)).collect()
    }

    fn guards(&self) -> &[Arc<dyn Guard>] {
        &self.guards
    }
}

/// As Kubernetes names an object as a whole.
const ROOT: &str = "<nil>";

/// What is wrong, with the value that is there.
pub(super) fn told(wrong: InvalidField, object: &Value) -> FieldError {
    let InvalidField { field, reason } = wrong;
    if field.is_empty() {
        return FieldError::new(ROOT, Problem::Forbidden, reason);
    }
    let problem = at(object, &field).map_or(Problem::Required, |value| Problem::Invalid(value.clone()));
    FieldError::new(field, problem, reason)
}

/// The value at `spec.ports[0].name`, if it is there.
fn at<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    let steps = field.split(['.', '[']).map(|step| step.trim_end_matches(']'));
    steps.into_iter().try_fold(object, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        _ => value.get(step),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_is_told_with_its_value() {
        let object = json!({"spec": {"ports": [{"name": "a"}], "rack": 7}});
        let check = |field: &str, expected: &str| {
            let wrong = InvalidField { field: field.into(), reason: "no".into() };
            assert_eq!(told(wrong, &object).to_string(), expected);
        };
        check("spec.rack", "spec.rack: Invalid value: 7: no");
        check("spec.ports[0].name", "spec.ports[0].name: Invalid value: \"a\": no");
        check("spec.zone", "spec.zone: Required value: no");
        check("spec.ports[1]", "spec.ports[1]: Required value: no");
        check("", "<nil>: Forbidden: no");
    }
}
