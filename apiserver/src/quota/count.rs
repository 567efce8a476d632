//! Counts the objects of a namespace that a quota limits.

use super::Counted;
use crate::cache::{ObjectState, View};
use crate::kind::{Kind, Registry};

/// Counts the objects in a namespace that a key counts, up to one more than `most`.
pub(crate) fn count(of: &Kind, view: &View, namespace: &str, what: Counted<'_>, most: u64) -> u64 {
    let phase = of.selectable.iter().position(|selectable| selectable.field == "status.phase");
    let has_ended = |state: &ObjectState| {
        let phase = phase.and_then(|at| state.field(at));
        phase.is_some_and(|phase| matches!(phase, "Succeeded" | "Failed"))
    };
    let start = of.place.start(Some(namespace));
    // One above the limit suffices to refuse; the namespace may hold far more objects.
    view.count(&start, most.saturating_add(1), |state| !(what.unended && has_ended(state)))
}

/// Returns whether a key counts the objects of a kind, in any version.
pub(crate) fn is_about(registry: &Registry, what: Counted<'_>, kind: &Kind) -> bool {
    let is_same = *kind.group == *what.group && kind.names.plural == what.plural;
    is_same || registry.in_namespaces(what.group, what.plural).is_some_and(|found| found.place == kind.place)
}
