//! Metrics of controllers.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::family::{Family, ResultCounter, by_result, counters, gauges};
use crate::Phase;
use crate::controller::ControllerSample;

pub(super) fn encode(
    encoder: &mut DescriptorEncoder<'_>,
    seen: &[(String, ControllerSample)],
) -> fmt::Result {
    by_result(encoder, ("machinery_controller_runs", "Finished runs by result"), &ENDINGS, seen)?;
    counters(encoder, &COUNTERS, seen)?;
    gauges(encoder, &GAUGES, seen)?;
    write_fights(encoder, seen)
}

/// Encodes the rates of the fights that are going on, at most [`FIGHTS`] of a controller.
fn write_fights(encoder: &mut DescriptorEncoder<'_>, seen: &[(String, ControllerSample)]) -> fmt::Result {
    let (name, help) = ("machinery_controller_write_fight_rate", "Undone writes per second, by field");
    if seen.iter().all(|(_, sample)| sample.fights.is_empty()) {
        return Ok(());
    }
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (name, sample) in seen {
        // Fights of one manager over one field are one series, whatever their objects.
        let mut rates = BTreeMap::new();
        for fight in &sample.fights {
            let manager = fight.manager.as_deref().unwrap_or("unknown");
            *rates.entry((manager, fight.field.as_str())).or_insert(0.0) += fight.per_second;
        }
        for ((manager, field), rate) in rates.into_iter().take(FIGHTS) {
            let labels = [("name", name.as_str()), ("manager", manager), ("field", field)];
            family.encode_family(&labels)?.encode_gauge(&rate)?;
        }
    }
    Ok(())
}

/// Limit of the series of a controller's write fights.
const FIGHTS: usize = 100;

const ENDINGS: [ResultCounter<ControllerSample>; 7] = [
    ResultCounter("done", |seen| seen.counts.done),
    ResultCounter("after", |seen| seen.counts.after),
    ResultCounter("absent", |seen| seen.counts.absent),
    ResultCounter("failed", |seen| seen.counts.failed),
    ResultCounter("panicked", |seen| seen.counts.panicked),
    ResultCounter("timed_out", |seen| seen.counts.timed_out),
    ResultCounter("dropped", |seen| seen.counts.dropped),
];

const COUNTERS: [Family<ControllerSample>; 7] = [
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
    Family("machinery_controller_own_events", "Events of own writes, which requested no run", |seen| {
        seen.counts.own_events
    }),
    Family("machinery_controller_write_fights", "Write fights that have begun", |seen| seen.fights_began),
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
