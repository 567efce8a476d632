//! Metrics of elections.

use machinery_metrics::{Sampled, SampledFamilies};

use crate::{ElectionPhase, ElectionState};

pub(super) const ELECTIONS: SampledFamilies<ElectionState> = SampledFamilies {
    row: "Elections",
    families: &[
        Sampled::flag("leader_election_master_status", "Whether the candidate leads", |seen| {
            Some((seen.phase == ElectionPhase::Leading).into())
        }),
        Sampled::gauge("machinery_election_epoch", "Observed transitions of the Lease", |seen| {
            Some(seen.epoch.unwrap_or_default())
        }),
        Sampled::counter("machinery_election_terms", "Terms started", |seen| Some(seen.counts.terms)),
        Sampled::counter("machinery_election_lost", "Terms lost involuntarily", |seen| {
            Some(seen.counts.lost)
        }),
        Sampled::counter("machinery_election_written", "Acknowledged writes of the Lease", |seen| {
            Some(seen.counts.written)
        }),
        Sampled::counter("machinery_election_failed", "Failed requests", |seen| Some(seen.counts.failed)),
    ],
};
