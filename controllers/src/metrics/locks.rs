//! Metrics of name locks.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::family::{Family, ResultCounter, by_result, counters, gauges};
use crate::locks::LockSample;

pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, seen: &[(String, LockSample)]) -> fmt::Result {
    by_result(encoder, ("machinery_locks_claims", "Claims by result"), &RESULTS, seen)?;
    counters(encoder, &COUNTERS, seen)?;
    gauges(encoder, &GAUGES, seen)
}

const RESULTS: [ResultCounter<LockSample>; 3] = [
    ResultCounter("held", |seen| seen.counts.held),
    ResultCounter("taken", |seen| seen.counts.taken),
    ResultCounter("failed", |seen| seen.counts.failed),
];

const COUNTERS: [Family<LockSample>; 2] = [
    Family("machinery_locks_released", "Released names", |seen| seen.counts.released),
    Family("machinery_locks_wakes", "Notifications of waiters", |seen| seen.counts.wakes),
];

const GAUGES: [Family<LockSample>; 3] = [
    Family("machinery_locks_held", "Existing locks", |seen| seen.locks as u64),
    Family("machinery_locks_waiters", "Queued waiters", |seen| seen.waiters as u64),
    Family("machinery_locks_misnamed", "Locks with a name that encodes no key", |seen| seen.misnamed as u64),
];
