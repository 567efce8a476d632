//! Metrics of event recorders.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::family::{ResultCounter, by_result};
use crate::RecorderCounts;

pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, seen: &[(String, RecorderCounts)]) -> fmt::Result {
    by_result(encoder, ("machinery_recorder_notes", "Notes by result"), &RESULTS, seen)
}

const RESULTS: [ResultCounter<RecorderCounts>; 5] = [
    ResultCounter("recorded", |counts| counts.written.saturating_sub(counts.aggregated)),
    ResultCounter("aggregated", |counts| counts.aggregated),
    ResultCounter("spared", |counts| counts.rate_limited),
    ResultCounter("no_room", |counts| counts.queue_full),
    ResultCounter("failed", |counts| counts.failed),
];
