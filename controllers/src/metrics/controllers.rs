//! Metrics of controllers.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::family::{Family, ResultCounter, by_result, counters, gauges};
use crate::Phase;
use crate::controller::ControllerSample;

pub(super) fn encode(
    encoder: &mut DescriptorEncoder<'_>,
    seen: &[(String, ControllerSample)],
) -> fmt::Result {
    by_result(encoder, ("machinery_controller_runs", "Runs that ended, and how"), &ENDINGS, seen)?;
    counters(encoder, &COUNTERS, seen)?;
    gauges(encoder, &GAUGES, seen)
}

const ENDINGS: [ResultCounter<ControllerSample>; 7] = [
    ResultCounter("done", |seen| seen.counts.done),
    ResultCounter("after", |seen| seen.counts.after),
    ResultCounter("absent", |seen| seen.counts.absent),
    ResultCounter("failed", |seen| seen.counts.failed),
    ResultCounter("panicked", |seen| seen.counts.panicked),
    ResultCounter("timed_out", |seen| seen.counts.timed_out),
    ResultCounter("dropped", |seen| seen.counts.dropped),
];

const COUNTERS: [Family<ControllerSample>; 5] = [
    Family("machinery_controller_stuck", "Runs that were reported as stuck", |seen| seen.counts.stuck),
    Family(
        "machinery_controller_impatient",
        "Keys that were let go before what they wrote could be read",
        |seen| seen.counts.cache_timeouts,
    ),
    Family("machinery_controller_source_panics", "Events on which a function of a source panicked", |seen| {
        seen.counts.source_panics
    }),
    Family(
        "machinery_controller_waited_for_room",
        "Times that a source waited for room in the queue",
        |seen| seen.counts.queue_full_waits,
    ),
    Family("machinery_controller_untraced", "Changes whose trace no run goes on with", |seen| {
        seen.counts.untraced
    }),
];

const GAUGES: [Family<ControllerSample>; 4] = [
    Family("machinery_controller_working", "Whether it works", |seen| (seen.phase == Phase::Working).into()),
    Family("machinery_controller_workers", "Runs that there may be at once", |seen| seen.workers as u64),
    Family("machinery_controller_running", "Runs that are under way", |seen| seen.running as u64),
    Family("machinery_controller_stuck_now", "Of these, those that are stuck", |seen| seen.stuck as u64),
];
