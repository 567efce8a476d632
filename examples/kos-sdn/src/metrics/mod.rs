//! Metrics under the names of the original, and a dashboard for them. Each component declares its
//! metrics once; page, dashboard and table derive from that.

mod agent;
mod dashboard;
mod ipam;
mod load;
mod validator;

use machinery::metrics::{Described, MetricSet};
use machinery::objects::WriteError;

pub(crate) use agent::last_write;
pub use agent::{AgentMetrics, AgentNode};
pub use dashboard::{dashboard, descriptions, metrics_table};
pub use ipam::IpamMetrics;
pub use load::LoadMetrics;
pub(crate) use load::LoadRunMetrics;
pub use validator::ValidatorMetrics;

/// The metrics of all components. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// Metrics of the subnet validator.
    pub validator: ValidatorMetrics,
    /// Metrics of the IPAM controller.
    pub ipam: IpamMetrics,
    /// Metrics of node agents.
    pub agent: AgentMetrics,
    /// Metrics of the load generator.
    pub load: LoadMetrics,
}

machinery::metrics! {
    /// The build version as a metric.
    struct BuildMetrics("kos", "Build") {
        /// The version of kos
        version: flag("version", ["version", "git_commit"]);
    }
}

impl Described for Metrics {
    fn register(&self, set: &mut MetricSet) {
        let Self { validator, ipam, agent, load } = self;
        let build = BuildMetrics::default();
        build.version.set([env!("CARGO_PKG_VERSION"), option_env!("KOS_GIT_COMMIT").unwrap_or("unknown")], 1);
        set.add(validator);
        set.add(ipam);
        set.add(agent);
        set.add(load);
        set.add(&build);
    }
}

/// Returns the value of an error label.
pub(crate) const fn ok<T, E>(result: &Result<T, E>) -> &'static str {
    if result.is_ok() { "ok" } else { "err" }
}

/// Returns the value of an error label of a write; a missing object is distinguished.
pub(crate) const fn outcome<T>(result: Result<T, &WriteError>) -> &'static str
where
    T: Copy,
{
    match result {
        Ok(_) => "ok",
        Err(WriteError::NotFound) => "nf",
        Err(_) => "err",
    }
}

/// Returns the value of a boolean label.
pub(crate) const fn truth(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

#[cfg(test)]
mod tests;
