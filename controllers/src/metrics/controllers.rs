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
    by_result(encoder, ("machinery_controller_runs", "Finished runs by result"), &ENDINGS, seen)?;
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
    Family("machinery_controller_stuck", "Runs reported as stuck", |seen| seen.counts.stuck),
    Family("machinery_controller_impatient", "Held keys released before their writes were visible", |seen| {
        seen.counts.cache_timeouts
    }),
    Family(
        "machinery_controller_source_panics",
        "Panics of map functions and other user code in sources",
        |seen| seen.counts.source_panics,
    ),
    Family("machinery_controller_waited_for_room", "Attempts to add a key to a full queue", |seen| {
        seen.counts.queue_full_waits
    }),
    Family("machinery_controller_untraced", "Changes whose trace was dropped", |seen| seen.counts.untraced),
];

const GAUGES: [Family<ControllerSample>; 4] = [
    Family("machinery_controller_working", "Whether the controller is reconciling", |seen| {
        (seen.phase == Phase::Working).into()
    }),
    Family("machinery_controller_workers", "Workers", |seen| seen.workers as u64),
    Family("machinery_controller_running", "Active runs", |seen| seen.running as u64),
    Family("machinery_controller_stuck_now", "Active runs that are stuck", |seen| seen.stuck as u64),
];
