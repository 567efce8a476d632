//! What is different about one kind.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::guard::{self, Guard};
use crate::invalid::FieldError;
use crate::refusal::Refusal;

/// What a kind does besides what all do. Each is a pure step, called while a change is worked out, perhaps several times.
pub(crate) trait Hooks: Send + Sync + 'static {
    /// Makes an object of another version of this kind one of this version. What it says of its version is set besides.
    fn convert(&self, _object: &mut Value) {}

    /// Where an object has fields that the kind has not, besides those that its shape knows of.
    fn unknown(&self, _object: &Value) -> Vec<String> {
        Vec::new()
    }

    /// What in an object is not of its type, besides what its shape knows of.
    fn unfit(&self, _object: &Value) -> Option<String> {
        None
    }

    /// Fills in what is left out.
    fn default(&self, _object: &mut Value) {}

    /// Sets what the server decides in a new object.
    fn creating(&self, _new: &mut Value) {}

    /// Sets what the server decides in a changed object, of which the part that this request must not change is as it was.
    fn updating(&self, _new: &mut Value, _old: &Value, _part: Part) {}

    /// Sets what the server notes of this write, in an object that is otherwise as it will be.
    fn stamp(&self, _new: &mut Value, _old: Option<&Value>, _now: Timestamp) {}

    /// What is wrong with an object, also beside what it was.
    fn validate(&self, _new: &Value, _old: Option<&Value>) -> Vec<FieldError> {
        Vec::new()
    }

    /// What is wrong with an object in which nothing else is: only such ones are what the kind takes them for.
    fn check(&self, _new: &Value, _old: Option<&Value>) -> Vec<FieldError> {
        Vec::new()
    }

    /// What becomes of an object that is deleted, if that is not that it goes: it is marked, changed here, and stays until its
    /// finalizers are gone. True: nothing but the time is noted in its metadata.
    fn deleting(&self, _object: &mut Value, _now: &str) -> Result<bool, Refusal> {
        Ok(false)
    }

    /// Whether something of this kind's own keeps a deleted object from going.
    fn holds(&self, _object: &Value) -> bool {
        false
    }

    /// What must be so of its objects beside each other.
    fn guards(&self) -> &[Arc<dyn Guard>] {
        &[]
    }

    /// Under which keys an object counts for the guards, each with the guard's name before it: `disjoint/vni/17`. Each is there
    /// once. Of an object that cannot be read, or of which they cannot be told, there are none.
    fn guard_keys(&self, object: &Value) -> Vec<String> {
        guard::keys(self.guards(), object).unwrap_or_default()
    }
}

/// Which part of an object a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All but the status, if that is apart.
    Main,
    Status,
    /// How many are wanted.
    Scale,
    /// A namespace's own finalizers.
    Finalize,
}

/// A kind with nothing different about it.
pub(crate) struct Plain;

impl Hooks for Plain {}

impl Part {
    /// Its name in a path and among the managed fields.
    pub(crate) const fn subresource(self) -> Option<&'static str> {
        match self {
            Self::Main => None,
            Self::Status => Some("status"),
            Self::Scale => Some("scale"),
            Self::Finalize => Some("finalize"),
        }
    }
}
