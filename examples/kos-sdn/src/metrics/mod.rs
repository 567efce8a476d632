//! Metrics under the names of the original, and a dashboard for them.
//!
//! Each component has a struct that lists its metrics once; registration and dashboard use that
//! list.

mod agent;
mod dashboard;
mod ipam;
mod load;
mod series;
mod validator;

use machinery::Plane;
use machinery::objects::WriteError;
use machinery::prometheus_client::registry::Registry;

pub(crate) use agent::last_write;
pub use agent::{AgentMetrics, AgentNode};
pub use dashboard::dashboard;
pub use ipam::IpamMetrics;
pub use load::LoadMetrics;
pub(crate) use load::LoadRunMetrics;
pub use series::{MetricDescription, MetricShape};
pub use validator::ValidatorMetrics;

use series::{GaugeSeries, MetricEntry};

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
    version: BuildVersion,
}

/// The build version as a metric.
#[derive(Clone, Debug)]
struct BuildVersion(GaugeSeries<2>);

impl Default for BuildVersion {
    fn default() -> Self {
        let version = GaugeSeries::gauge("version", "The version of kos", &["version", "git_commit"]);
        version.add([env!("CARGO_PKG_VERSION"), option_env!("KOS_GIT_COMMIT").unwrap_or("unknown")], 1);
        Self(version)
    }
}

/// Prefix of all names.
const PREFIX: &str = "kos";

impl Metrics {
    /// Shows the metrics on the plane's page `/metrics`.
    pub fn show(&self, plane: &Plane) {
        plane.register(|registry| self.register(registry));
    }

    /// Registers the metrics.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix(PREFIX);
        for (described, metric) in self.list() {
            registry.register(described.name, described.help, metric);
        }
    }

    /// Returns the descriptions of all metrics.
    #[must_use]
    pub fn described(&self) -> Vec<MetricDescription> {
        self.list().into_iter().map(|(described, _)| described).collect()
    }

    fn list(&self) -> Vec<MetricEntry> {
        let parts = [self.validator.list(), self.ipam.list(), self.agent.list(), self.load.list()];
        parts.into_iter().flatten().chain([self.version.0.listed()]).collect()
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
