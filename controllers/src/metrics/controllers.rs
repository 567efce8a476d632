//! Metrics of controllers.

use machinery_metrics::{Sampled, SampledFamilies};

use crate::Phase;
use crate::controller::ControllerSample;

pub(super) const CONTROLLERS: SampledFamilies<ControllerSample> = SampledFamilies {
    row: "Controllers",
    families: &[
        Sampled::by_result(
            "machinery_controller_runs",
            "Finished runs by result",
            &[
                ("done", |seen| seen.counts.done),
                ("after", |seen| seen.counts.after),
                ("absent", |seen| seen.counts.absent),
                ("failed", |seen| seen.counts.failed),
                ("panicked", |seen| seen.counts.panicked),
                ("timed_out", |seen| seen.counts.timed_out),
                ("dropped", |seen| seen.counts.dropped),
            ],
        ),
        Sampled::counter("machinery_controller_stuck", "Runs reported as stuck", |seen| {
            Some(seen.counts.stuck)
        }),
        Sampled::counter(
            "machinery_controller_impatient",
            "Held keys released before their writes were visible",
            |seen| Some(seen.counts.cache_timeouts),
        ),
        Sampled::counter(
            "machinery_controller_source_panics",
            "Panics of map functions and other user code in sources",
            |seen| Some(seen.counts.source_panics),
        ),
        Sampled::counter(
            "machinery_controller_waited_for_room",
            "Attempts to add a key to a full queue",
            |seen| Some(seen.counts.queue_full_waits),
        ),
        Sampled::counter(
            "machinery_controller_own_events",
            "Events of own writes, which requested no run",
            |seen| Some(seen.counts.own_events),
        ),
        Sampled::counter("machinery_controller_write_fights", "Write fights that have begun", |seen| {
            Some(seen.fights_began)
        }),
        Sampled::counter("machinery_controller_untraced", "Changes whose trace was dropped", |seen| {
            Some(seen.counts.untraced)
        }),
        Sampled::flag("machinery_controller_working", "Whether the controller is reconciling", |seen| {
            Some((seen.phase == Phase::Working).into())
        }),
        Sampled::gauge("machinery_controller_workers", "Workers", |seen| Some(seen.workers as u64)),
        Sampled::gauge("machinery_controller_running", "Active runs", |seen| Some(seen.running as u64)),
        Sampled::gauge("machinery_controller_stuck_now", "Active runs that are stuck", |seen| {
            Some(seen.stuck as u64)
        }),
    ],
};
