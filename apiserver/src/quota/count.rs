//! Counts the objects of a namespace that a quota limits.

use super::{Counted, Limit, Measure, MeasuredKind, QuotaAmount, QuotaScopes};
use crate::cache::{ObjectState, View};
use crate::kind::{Kind, Registry};

/// Sums the amounts that the objects of a namespace add to a limit of a quota with these scopes.
/// Numbers of objects are counted up to one more than `most`.
pub(crate) fn count(
    of: &Kind,
    view: &View,
    namespace: &str,
    limit: &Limit<'_>,
    scopes: &QuotaScopes<'_>,
    most: u64,
) -> QuotaAmount {
    let start = of.place.start(Some(namespace));
    let measured = MeasuredKind::of(of);
    if !scopes.fit(measured) {
        return QuotaAmount::ZERO;
    }
    if let Some(kind) = measured
        && (!scopes.is_empty() || limit.what.measure == Measure::Usage)
    {
        return view.fold(&start, QuotaAmount::ZERO, |sum, state| {
            let Some(usage) = state.usage(of, kind) else { return sum };
            let amount = match limit.what.measure {
                Measure::Object => QuotaAmount::ONE,
                Measure::Unended | Measure::Usage => usage.amount(limit.key),
            };
            if scopes.select(usage) { sum.plus(amount) } else { sum }
        });
    }
    let phase = of.selectable.iter().position(|selectable| selectable.field == "status.phase");
    let has_ended = |state: &ObjectState| {
        let phase = phase.and_then(|at| state.field(at));
        phase.is_some_and(|phase| matches!(phase, "Succeeded" | "Failed"))
    };
    // One above the limit suffices to refuse; the namespace may hold far more objects.
    let counts = |state: &ObjectState| limit.what.measure != Measure::Unended || !has_ended(state);
    QuotaAmount::number(view.count(&start, most.saturating_add(1), counts))
}

/// Returns whether a key counts the objects of a kind, in any version.
pub(crate) fn is_about(registry: &Registry, what: Counted<'_>, kind: &Kind) -> bool {
    let is_same = *kind.group == *what.group && kind.names.plural == what.plural;
    is_same || registry.in_namespaces(what.group, what.plural).is_some_and(|found| found.place == kind.place)
}
