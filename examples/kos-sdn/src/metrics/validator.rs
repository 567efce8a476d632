//! The numbers of who looks at subnets.

use machinery::tokio::time::Instant;

use super::series::{CALL, Listed, Times, VALIDATED};
use super::{ok, truth};
use crate::model::{Section, Subnet};
use crate::plan::seconds;

/// What is seen of subnets. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ValidatorMetrics {
    validated: Times<1>,
    update: Times<2>,
    list: Times<1>,
    listed: Times<0>,
}

impl Default for ValidatorMetrics {
    fn default() -> Self {
        Self {
            validated: Times::seconds(
                "subnet_validator_subnet_create_to_validated_latency_seconds",
                "From when the spec of a subnet was written until it is said whether it counts, the first time, by the server's clock",
                VALIDATED,
                &["statusErr"],
            ),
            update: Times::seconds(
                "subnet_validator_subnet_update_latency_seconds",
                "How long writes of the status of a subnet take",
                CALL,
                &["err", "statusErr"],
            ),
            list: Times::seconds(
                "subnet_validator_live_list_latency_seconds",
                "How long lists of the subnets of a network take",
                CALL,
                &["err"],
            ),
            listed: Times::sizes(
                "subnet_validator_number_of_subnets_returned_by_live_list",
                "How many subnets these lists had",
                &[-1.0, 0.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0],
                &[],
            ),
        }
    }
}

impl ValidatorMetrics {
    pub(super) fn list(&self) -> Vec<Listed> {
        let Self { validated, update, list, listed } = self;
        vec![validated.listed(), update.listed(), list.listed(), listed.listed()]
    }

    /// A network was listed.
    pub(crate) fn listed<E>(&self, since: Instant, found: Result<usize, E>) {
        self.list.saw([ok(&found)], since.elapsed().as_secs_f64());
        if let Ok(found) = found {
            self.listed.saw([], found as f64);
        }
    }

    /// A status was written; what is there now, if it went well.
    pub(crate) fn wrote<E>(
        &self,
        since: Instant,
        before: &Subnet,
        written: Result<&Subnet, E>,
        has_errors: bool,
    ) {
        let has_errors = truth(has_errors);
        self.update.saw([ok(&written), has_errors], since.elapsed().as_secs_f64());
        let Ok(after) = written else { return };
        let is_first = !before.status.validated && before.status.errors.is_empty();
        let written = |section| after.extended_metadata.written(section);
        if let (true, Some(from), Some(to)) = (is_first, written(Section::Spec), written(Section::Status)) {
            self.validated.saw([has_errors], seconds(from, to));
        }
    }
}
