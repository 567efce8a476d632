//! Objects of the start for which the store has no room.
//!
//! A server starts on a full disk, since reads need no room. Missing objects are created as soon
//! as there is some.

use std::sync::Arc;

use machinery_sync::Mutex;
use serde_json::Value;
use tokio::time::sleep;

use super::start::ensure;
use super::trigger::RETRY_DELAY;
use crate::kind::Kind;
use crate::native;
use crate::refusal::Refusal;
use crate::server::Shared;

/// The objects that could not be created during the start. `None` after it.
pub(crate) struct LateObjects(Mutex<Option<Vec<Value>>>);

impl LateObjects {
    /// The start begins.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Some(Vec::new())))
    }

    /// Adds an object if an earlier one was late: it may need that one, such as its namespace.
    pub(super) fn add_after_others(&self, object: &Value) -> bool {
        let mut late = self.0.lock();
        let late = late.as_mut().filter(|late| !late.is_empty());
        late.map(|late| late.push(object.clone())).is_some()
    }

    /// Adds an object if its creation failed for want of room during the start.
    pub(super) fn add_if_unwritable(
        &self,
        object: &Value,
        created: Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        match (&mut *self.0.lock(), created) {
            (Some(late), Err(refusal)) if is_unwritable(&refusal) => {
                late.push(object.clone());
                Ok(())
            }
            (_, created) => created,
        }
    }

    /// Returns the objects: the start is over.
    pub(super) fn take(&self) -> Vec<Value> {
        self.0.lock().take().unwrap_or_default()
    }
}

/// Creates the objects in their order, each as soon as the store takes it.
pub(super) async fn run(shared: Arc<Shared>, late: Vec<Value>) {
    for object in late {
        let Some(kind) = kind_of(&object) else { continue };
        loop {
            match ensure(&shared, &kind, object.clone()).await {
                Err(refusal) if is_unwritable(&refusal) => sleep(RETRY_DELAY).await,
                Err(refusal) => {
                    tracing::warn!(%object, why = %refusal.message, "an object of the start was refused");
                    break;
                }
                Ok(()) => break,
            }
        }
    }
}

/// Passes over a write that the store has no room for: its controller tries it again.
pub(super) fn unless_unwritable<T>(done: Result<T, Refusal>) -> Result<(), Refusal> {
    match done {
        Err(refusal) if !is_unwritable(&refusal) => Err(refusal),
        _ => Ok(()),
    }
}

/// Returns whether the store takes no writes at all at the moment.
fn is_unwritable(refusal: &Refusal) -> bool {
    matches!(refusal.code, 503 | 507)
}

fn kind_of(object: &Value) -> Option<Arc<Kind>> {
    let version = object["apiVersion"].as_str()?;
    let group = version.split_once('/').map_or("", |(group, _)| group);
    native::kinds().find(|kind| kind.names.kind == object["kind"] && &*kind.group == group)
}
