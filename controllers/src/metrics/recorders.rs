//! The numbers of recorders.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::family::{Kind, by_result};
use crate::RecorderCounts;

pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, seen: &[(String, RecorderCounts)]) -> fmt::Result {
    by_result(encoder, ("machinery_recorder_notes", "Notes, and what became of them"), &RESULTS, seen)
}

const RESULTS: [Kind<RecorderCounts>; 5] = [
    Kind("recorded", |counts| counts.written.saturating_sub(counts.aggregated)),
    Kind("aggregated", |counts| counts.aggregated),
    Kind("spared", |counts| counts.spared),
    Kind("no_room", |counts| counts.no_room),
    Kind("failed", |counts| counts.failed),
];
