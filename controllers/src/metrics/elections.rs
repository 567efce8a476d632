//! Metrics of elections.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::family::{Family, counters, gauges};
use crate::{ElectionPhase, ElectionState};

pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, seen: &[(String, ElectionState)]) -> fmt::Result {
    gauges(encoder, &GAUGES, seen)?;
    counters(encoder, &COUNTERS, seen)
}

const GAUGES: [Family<ElectionState>; 2] = [
    Family("leader_election_master_status", "Whether it leads", |seen| {
        (seen.phase == ElectionPhase::Leading).into()
    }),
    Family("machinery_election_epoch", "How often the Lease has changed hands, as far as was seen", |seen| {
        seen.epoch.unwrap_or_default()
    }),
];

const COUNTERS: [Family<ElectionState>; 4] = [
    Family("machinery_election_terms", "Times that it began to lead", |seen| seen.counts.terms),
    Family("machinery_election_lost", "Times that it stopped leading without being told to", |seen| {
        seen.counts.lost
    }),
    Family("machinery_election_written", "Writes to the Lease that were answered well", |seen| {
        seen.counts.written
    }),
    Family("machinery_election_failed", "Requests that were not", |seen| seen.counts.failed),
];
