//! Metrics of the subnet validator.

use machinery::metrics::{CALLS, COUNTS, END_TO_END};
use machinery::tokio::time::Instant;

use super::{ok, truth};
use crate::model::{Section, Subnet};
use crate::plan::seconds;

machinery::metrics! {
    /// The metrics of subnet validation. Cheap to clone.
    pub struct ValidatorMetrics("kos", "Subnets") {
        /// Time from the write of a subnet's spec until the result of validation, first time only;
        /// by the server's clock
        validated: seconds("subnet_validator_subnet_create_to_validated_latency_seconds", ["statusErr"], END_TO_END);
        /// Duration of status writes of subnets
        update: seconds("subnet_validator_subnet_update_latency_seconds", ["err", "statusErr"], CALLS);
        /// Duration of live lists of the subnets of a network
        list: seconds("subnet_validator_live_list_latency_seconds", ["err"], CALLS);
        /// Number of subnets returned by live lists
        listed: sizes("subnet_validator_number_of_subnets_returned_by_live_list", [], COUNTS);
    }
}

impl ValidatorMetrics {
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
