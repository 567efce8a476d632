//! Metrics of silence detectors.

use machinery_metrics::{Sampled, SampledFamilies};

use crate::SilenceCounts;

pub(super) const SILENCE: SampledFamilies<SilenceCounts> = SampledFamilies {
    row: "Silent owners",
    families: &[
        Sampled::gauge(
            "machinery_silence_awaited",
            "Objects that await a response of their owner",
            |counts| Some(counts.awaited as u64),
        ),
        Sampled::gauge("machinery_silence_overdue", "Objects whose response is overdue", |counts| {
            Some(counts.overdue as u64)
        }),
        Sampled::gauge("machinery_silence_owners", "Silent owners", |counts| Some(counts.silent as u64)),
        Sampled::counter("machinery_silence_detected", "Responses that became overdue", |counts| {
            Some(counts.detected)
        }),
    ],
};
