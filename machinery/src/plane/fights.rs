//! Write fights: their detection over kinds known at run time, and their Events.

use std::sync::Arc;

use machinery_controllers::{Note, Request, WriteFight};
use machinery_objects::{ObjectKey, ObjectRef, Uid};
use serde::Serialize;

use super::controller::PlaneController;
use super::handle::Plane;
use super::kinds::PartialObject;
use super::runtime_kind::RuntimeKind;

/// The component of the recorder that reports write fights.
const COMPONENT: &str = "machinery";

impl<Q: Request, S: Send + Sync + 'static> PlaneController<Q, S> {
    /// Detects write fights over the objects of a kind known by name that the controller
    /// reconciles, owns or watches: another writer and this controller undo each other's change of
    /// a field. Over the objects of types they are always detected.
    pub fn detecting_fights<O: PartialObject + Serialize>(mut self, kind: &RuntimeKind<O>) -> Self {
        let of = kind.clone();
        let about = move |key: &ObjectKey| {
            let (kind, object) = (of.kind()?, of.get(key)?);
            Some(ObjectRef { kind, key: key.clone(), uid: object.uid().and_then(Uid::new) })
        };
        let references = &self.plane.0.inner().references;
        references.lock().insert(kind.informer().id(), Arc::new(about));
        self.builder = self.builder.detecting_fights(kind.informer());
        self
    }
}

/// Returns the function that records a Warning Event about the object of a write fight.
pub(super) fn reporter(plane: &Plane) -> impl Fn(&WriteFight) + Send + Sync + use<> {
    // Not the plane: a controller that outlives it must not keep it.
    let inner = Arc::downgrade(&plane.0.inner());
    move |fight| {
        let Some(inner) = inner.upgrade() else { return };
        let about = inner.references.lock().get(&fight.informer).cloned();
        if let Some(about) = about.and_then(|about| about(&fight.object)) {
            let recorder = inner.fight_recorder.get_or_init(|| inner.recorder(COMPONENT));
            recorder.note(Note::warning(about, "WriteFight", text(fight)));
        }
    }
}

fn text(fight: &WriteFight) -> String {
    let manager = fight.manager.as_deref().unwrap_or("another writer");
    let WriteFight { controller, field, per_second, .. } = fight;
    format!(
        "{manager} and the controller {controller} undo each other's change of {field}, {per_second:.1} times a second: \
         let one of the two write it"
    )
}
