//! The numbers of name locks.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::family::{Family, Kind, by_result, counters, gauges};
use crate::locks::Locked;

pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, seen: &[(String, Locked)]) -> fmt::Result {
    by_result(encoder, ("machinery_locks_claims", "Claims, and what came of them"), &RESULTS, seen)?;
    counters(encoder, &COUNTERS, seen)?;
    gauges(encoder, &GAUGES, seen)
}

const RESULTS: [Kind<Locked>; 3] = [
    Kind("held", |seen| seen.counts.held),
    Kind("taken", |seen| seen.counts.taken),
    Kind("failed", |seen| seen.counts.failed),
];

const COUNTERS: [Family<Locked>; 2] = [
    Family("machinery_locks_released", "Names that were given back", |seen| seen.counts.released),
    Family("machinery_locks_wakes", "Times that one who waits was told that a name is free", |seen| {
        seen.counts.wakes
    }),
];

const GAUGES: [Family<Locked>; 3] = [
    Family("machinery_locks_held", "Locks that there are, whoever has them", |seen| seen.locks as u64),
    Family("machinery_locks_waiters", "Places that are taken by those who wait", |seen| seen.waiters as u64),
    Family("machinery_locks_misnamed", "Locks that are called after no key", |seen| seen.misnamed as u64),
];
