//! Events of write fights.

use std::sync::Arc;

use machinery_controllers::{Note, WriteFight};

use super::handle::Plane;

/// The component of the recorder that reports write fights.
const COMPONENT: &str = "machinery";

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
