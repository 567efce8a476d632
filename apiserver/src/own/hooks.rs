//! Adapter from the typed hooks of a [`KindOf`](crate::KindOf) to the server's hooks over JSON.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::carry::carry;
use super::sections::Sections;
use super::wrong::{ROOT, Wrong};
use crate::guard::Guard;
use crate::invalid::{FieldError, Problem};
use crate::kind::{KindHooks, Subresource};

/// The defaulting, validation, status and stamping functions of a kind.
pub(super) struct Typed<K> {
    pub(super) defaulting: Option<Box<Defaulting<K>>>,
    pub(super) validating: Option<Box<Validating<K>>>,
    pub(super) status: Option<Box<StatusHook<K>>>,
    pub(super) stamping: Option<Box<Stamping<K>>>,
    pub(super) sections: Option<Sections>,
    pub(super) guards: Vec<Arc<dyn Guard>>,
}

type Defaulting<K> = dyn Fn(&mut K) + Send + Sync;
type Validating<K> = dyn Fn(&K, Option<&K>) -> Vec<Wrong> + Send + Sync;
type StatusHook<K> = dyn Fn(&mut K, Option<&K>) + Send + Sync;
type Stamping<K> = dyn Fn(&mut K, Option<&K>, Timestamp) + Send + Sync;

/// Fields that stamping cannot set: they belong to the client or to the server.
const NOT_STAMPED: [&str; 4] = ["apiVersion", "kind", "metadata", "spec"];

const STATUS: &str = "status";

impl<K> Typed<K> {
    /// Hooks that only require that objects can be decoded.
    pub(super) const fn new() -> Self {
        Self {
            defaulting: None,
            validating: None,
            status: None,
            stamping: None,
            sections: None,
            guards: Vec::new(),
        }
    }
}

impl<K: Serialize + DeserializeOwned> Typed<K> {
    /// Applies a change of the typed object to the JSON: unknown and unchanged fields stay as they
    /// are. An object that cannot be decoded is rejected later, with its other errors.
    fn change(object: &mut Value, change: impl FnOnce(&mut K), counts: impl Fn(&str) -> bool) {
        let Ok(mut typed) = K::deserialize(&*object) else { return };
        let Ok(before) = serde_json::to_value(&typed) else { return };
        change(&mut typed);
        let Ok(after) = serde_json::to_value(&typed) else { return };
        // As a difference: fields unknown to the type stay.
        carry(&before, &after, object, &counts);
    }

    fn set_status(&self, new: &mut Value, old: Option<&Value>) {
        let Some(status) = &self.status else { return };
        let old = old.and_then(|old| K::deserialize(old).ok());
        Self::change(new, |new| status(new, old.as_ref()), |field| field == "status");
    }
}

impl<K: Serialize + DeserializeOwned + 'static> KindHooks for Typed<K> {
    fn default(&self, object: &mut Value) {
        if let Some(defaulting) = &self.defaulting {
            let counts = |field: &str| !matches!(field, "apiVersion" | "kind" | "metadata");
            Self::change(object, defaulting, counts);
        }
    }

    fn creating(&self, new: &mut Value) {
        self.set_status(new, None);
    }

    fn updating(&self, new: &mut Value, old: &Value, subresource: Subresource) {
        if subresource == Subresource::Main {
            self.set_status(new, Some(old));
        }
    }

    fn stamp(&self, new: &mut Value, old: Option<&Value>, now: Timestamp) {
        if let Some(sections) = &self.sections {
            sections.stamp(new, old, now);
        }
        let Some(stamping) = &self.stamping else { return };
        // One that cannot be read is refused by the check.
        let Ok(mut typed) = K::deserialize(&*new) else { return };
        let Ok(before) = serde_json::to_value(&typed) else { return };
        let old = old.and_then(|old| K::deserialize(old).ok());
        stamping(&mut typed, old.as_ref(), now);
        let Ok(after) = serde_json::to_value(&typed) else { return };
        // Of the status others write parts that the type may not know. A new object gets the whole.
        let begins = old.is_none() && new.get(STATUS).is_none();
        if !begins {
            carry(&before, &after, new, &|field| field == STATUS);
        }
        let (Some(before), Value::Object(after), Some(object)) =
            (before.as_object(), after, new.as_object_mut())
        else {
            return;
        };
        let counts = |field: &str| (field != STATUS || begins) && !NOT_STAMPED.contains(&field);
        for field in before.keys().filter(|field| counts(field) && !after.contains_key(*field)) {
            object.remove(field);
        }
        // Replaced as a whole: the form of a client's write leaves no trace.
        object.extend(after.into_iter().filter(|(field, _)| counts(field)));
    }

    fn check(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let typed = match K::deserialize(new) {
            Ok(typed) => typed,
            // Refused, so that every stored object can be read as its type.
            Err(error) => return vec![FieldError::new(ROOT, Problem::Forbidden, error.to_string())],
        };
        let Some(validating) = &self.validating else { return Vec::new() };
        let old = old.and_then(|old| K::deserialize(old).ok());
        validating(&typed, old.as_ref()).into_iter().map(|wrong| wrong.into_field_error(new)).collect()
    }

    fn guards(&self) -> &[Arc<dyn Guard>] {
        &self.guards
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Serialize, Deserialize)]
    struct Noted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last: Option<String>,
        #[serde(default)]
        status: Status,
    }

    #[derive(Default, Serialize, Deserialize)]
    #[serde(default)]
    struct Status {
        phase: String,
        count: u32,
    }

    #[test]
    fn stamping_overwrites_client_values_and_changes_the_status_in_place() {
        let stamping = |new: &mut Noted, old: Option<&Noted>, _: Timestamp| {
            new.last = old.and_then(|old| old.last.clone());
            new.status.count = 7;
        };
        let typed = Typed::<Noted> { stamping: Some(Box::new(stamping)), ..Typed::new() };
        let check = |mut new: Value, old: Option<Value>, expected: Value| {
            typed.stamp(&mut new, old.as_ref(), Timestamp::UNIX_EPOCH);
            assert_eq!(new, expected);
        };
        let status = json!({"count": 7, "more": [1]});
        check(
            json!({"last": "forged", "spec": 1, "status": {"count": 1, "more": [1]}}),
            None,
            json!({"spec": 1, "status": status}),
        );
        check(json!({"spec": 1}), None, json!({"spec": 1, "status": {"phase": "", "count": 7}}));
        let old = Some(json!({"last": "true"}));
        check(json!({"last": "forged", "status": status}), old, json!({"last": "true", "status": status}));
    }
}
