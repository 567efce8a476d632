//! Metrics of event recorders.

use machinery_metrics::{Sampled, SampledFamilies};

use crate::RecorderCounts;

pub(super) const RECORDERS: SampledFamilies<RecorderCounts> = SampledFamilies {
    row: "Events",
    families: &[Sampled::by_result(
        "machinery_recorder_notes",
        "Notes by result",
        &[
            ("recorded", |counts| counts.written.saturating_sub(counts.aggregated)),
            ("aggregated", |counts| counts.aggregated),
            ("spared", |counts| counts.rate_limited),
            ("no_room", |counts| counts.queue_full),
            ("failed", |counts| counts.failed),
        ],
    )],
};
