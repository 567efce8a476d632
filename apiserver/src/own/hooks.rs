//! What a type asks of its objects, where the server asks it of JSON.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::carry::carry;
use super::wrong::{ROOT, Wrong};
use crate::guard::Guard;
use crate::invalid::{FieldError, Problem};
use crate::kind::{Hooks, Part};

/// What a type asks.
pub(super) struct Typed<K> {
    pub(super) defaulting: Option<Box<Defaulting<K>>>,
    pub(super) validating: Option<Box<Validating<K>>>,
    pub(super) status: Option<Box<Status<K>>>,
    pub(super) stamping: Option<Box<Stamping<K>>>,
    pub(super) guards: Vec<Arc<dyn Guard>>,
}

type Defaulting<K> = dyn Fn(&mut K) + Send + Sync;
type Validating<K> = dyn Fn(&K, Option<&K>) -> Vec<Wrong> + Send + Sync;
type Status<K> = dyn Fn(&mut K, Option<&K>) + Send + Sync;
type Stamping<K> = dyn Fn(&mut K, Option<&K>, Timestamp) + Send + Sync;

/// Whose they are: the client's, or the server's own.
const NOT_STAMPED: [&str; 4] = ["apiVersion", "kind", "metadata", "spec"];

impl<K> Typed<K> {
    /// One that asks nothing but that its objects can be read.
    pub(super) const fn new() -> Self {
        Self { defaulting: None, validating: None, status: None, stamping: None, guards: Vec::new() }
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

    fn stamp(&self, new: &mut Value, old: Option<&Value>, now: Timestamp) {
        let Some(stamping) = &self.stamping else { return };
        // One that cannot be read is refused by the check.
        let Ok(mut typed) = K::deserialize(&*new) else { return };
        let old = old.and_then(|old| K::deserialize(old).ok());
        stamping(&mut typed, old.as_ref(), now);
        let Ok(Value::Object(stamped)) = serde_json::to_value(&typed) else { return };
        let Some(object) = new.as_object_mut() else { return };
        object.extend(stamped.into_iter().filter(|(field, _)| !NOT_STAMPED.contains(&field.as_str())));
    }

    fn check(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let typed = match K::deserialize(new) {
            Ok(typed) => typed,
            Err(error) => return vec![FieldError::new(ROOT, Problem::Forbidden, error.to_string())],
        };
        let Some(validating) = &self.validating else { return Vec::new() };
        let old = old.and_then(|old| K::deserialize(old).ok());
        validating(&typed, old.as_ref()).into_iter().map(|wrong| wrong.told(new)).collect()
    }

    fn guards(&self) -> &[Arc<dyn Guard>] {
        &self.guards
    }
}
