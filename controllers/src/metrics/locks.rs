//! Metrics of name locks.

use machinery_metrics::{Sampled, SampledFamilies};

use crate::locks::LockSample;

pub(super) const LOCKS: SampledFamilies<LockSample> = SampledFamilies {
    row: "Name locks",
    families: &[
        Sampled::by_result(
            "machinery_locks_claims",
            "Claims by result",
            &[
                ("held", |seen| seen.counts.held),
                ("taken", |seen| seen.counts.taken),
                ("failed", |seen| seen.counts.failed),
            ],
        ),
        Sampled::counter("machinery_locks_released", "Released names", |seen| Some(seen.counts.released)),
        Sampled::counter("machinery_locks_wakes", "Notifications of waiters", |seen| Some(seen.counts.wakes)),
        Sampled::gauge("machinery_locks_held", "Existing locks", |seen| Some(seen.locks as u64)),
        Sampled::gauge("machinery_locks_waiters", "Queued waiters", |seen| Some(seen.waiters as u64)),
        Sampled::gauge("machinery_locks_misnamed", "Locks with a name that encodes no key", |seen| {
            Some(seen.misnamed as u64)
        }),
    ],
};
