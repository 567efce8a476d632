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
    Family("leader_election_master_status", "Whether the candidate leads", |seen| {
        (seen.phase == ElectionPhase::Leading).into()
    }),
    Family("machinery_election_epoch", "Observed transitions of the Lease", |seen| {
        seen.epoch.unwrap_or_default()
    }),
];

const COUNTERS: [Family<ElectionState>; 4] = [
    Family("machinery_election_terms", "Terms started", |seen| seen.counts.terms),
    Family("machinery_election_lost", "Terms lost involuntarily", |seen| seen.counts.lost),
    Family("machinery_election_written", "Acknowledged writes of the Lease", |seen| seen.counts.written),
    Family("machinery_election_failed", "Failed requests", |seen| seen.counts.failed),
];
