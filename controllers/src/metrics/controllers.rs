//! The numbers of controllers.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::family::{Family, Kind, by_result, counters, gauges};
use crate::Phase;
use crate::controller::Seen;

pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, seen: &[(String, Seen)]) -> fmt::Result {
    by_result(encoder, ("machinery_controller_runs", "Runs that ended, and how"), &ENDINGS, seen)?;
    counters(encoder, &COUNTERS, seen)?;
    gauges(encoder, &GAUGES, seen)
}

const ENDINGS: [Kind<Seen>; 7] = [
    Kind("done", |seen| seen.counts.done),
    Kind("after", |seen| seen.counts.after),
    Kind("absent", |seen| seen.counts.absent),
    Kind("failed", |seen| seen.counts.failed),
    Kind("panicked", |seen| seen.counts.panicked),
    Kind("timed_out", |seen| seen.counts.timed_out),
    Kind("dropped", |seen| seen.counts.dropped),
];

const COUNTERS: [Family<Seen>; 5] = [
    Family("machinery_controller_stuck", "Runs that were reported as stuck", |seen| seen.counts.stuck),
    Family(
        "machinery_controller_impatient",
        "Keys that were let go before what they wrote could be read",
        |seen| seen.counts.impatient,
    ),
    Family("machinery_controller_source_panics", "Events on which a function of a source panicked", |seen| {
        seen.counts.source_panics
    }),
    Family(
        "machinery_controller_waited_for_room",
        "Times that a source waited for room in the queue",
        |seen| seen.counts.waited_for_room,
    ),
    Family("machinery_controller_untraced", "Changes whose trace no run goes on with", |seen| {
        seen.counts.untraced
    }),
];

const GAUGES: [Family<Seen>; 4] = [
    Family("machinery_controller_working", "Whether it works", |seen| (seen.phase == Phase::Working).into()),
    Family("machinery_controller_workers", "Runs that there may be at once", |seen| seen.workers as u64),
    Family("machinery_controller_running", "Runs that are under way", |seen| seen.running as u64),
    Family("machinery_controller_stuck_now", "Of these, those that are stuck", |seen| seen.stuck as u64),
];
