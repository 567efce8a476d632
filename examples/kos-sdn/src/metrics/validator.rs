//! Metrics of the subnet validator.

use machinery::tokio::time::Instant;

use super::series::{CALL, HistogramSeries, MetricEntry, VALIDATED};
use super::{ok, truth};
use crate::model::{Section, Subnet};
use crate::plan::seconds;

/// The metrics of subnet validation. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ValidatorMetrics {
    validated: HistogramSeries<1>,
    update: HistogramSeries<2>,
    list: HistogramSeries<1>,
    listed: HistogramSeries<0>,
}

impl Default for ValidatorMetrics {
    fn default() -> Self {
        Self {
            validated: HistogramSeries::seconds(
                "subnet_validator_subnet_create_to_validated_latency_seconds",
                "Time from the write of a subnet's spec until the result of validation, first time only; by the server's clock",
                VALIDATED,
                &["statusErr"],
            ),
            update: HistogramSeries::seconds(
                "subnet_validator_subnet_update_latency_seconds",
                "Duration of status writes of subnets",
                CALL,
                &["err", "statusErr"],
            ),
            list: HistogramSeries::seconds(
                "subnet_validator_live_list_latency_seconds",
                "Duration of live lists of the subnets of a network",
                CALL,
                &["err"],
            ),
            listed: HistogramSeries::sizes(
                "subnet_validator_number_of_subnets_returned_by_live_list",
                "Number of subnets returned by live lists",
                &[-1.0, 0.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0],
                &[],
            ),
        }
    }
}

impl ValidatorMetrics {
    pub(super) fn list(&self) -> Vec<MetricEntry> {
        let Self { validated, update, list, listed } = self;
        vec![validated.listed(), update.listed(), list.listed(), listed.listed()]
    }

    /// Records a live list.
    pub(crate) fn listed<E>(&self, since: Instant, found: Result<usize, E>) {
        self.list.observe([ok(&found)], since.elapsed().as_secs_f64());
        if let Ok(found) = found {
            self.listed.observe([], found as f64);
        }
    }

    /// Records a status write, and its latency if it is the first result.
    pub(crate) fn wrote<E>(
        &self,
        since: Instant,
        before: &Subnet,
        written: Result<&Subnet, E>,
        has_errors: bool,
    ) {
        let has_errors = truth(has_errors);
        self.update.observe([ok(&written), has_errors], since.elapsed().as_secs_f64());
        let Ok(after) = written else { return };
        let is_first = !before.status.validated && before.status.errors.is_empty();
        let written = |section| after.extended_metadata.written(section);
        if let (true, Some(from), Some(to)) = (is_first, written(Section::Spec), written(Section::Status)) {
            self.validated.observe([has_errors], seconds(from, to));
        }
    }
}
