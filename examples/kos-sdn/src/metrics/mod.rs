//! What is counted and timed, under the names of the original, and a dashboard of it.
//!
//! Each part has its numbers as one struct, which lists them; whatever registers or draws them goes by that list.

mod agent;
mod dashboard;
mod driver;
mod ipam;
mod series;
mod validator;

use machinery::Plane;
use machinery::objects::WriteError;
use machinery::prometheus_client::registry::Registry;

pub(crate) use agent::last_write;
pub use agent::{AgentMetrics, AgentNode};
pub use dashboard::dashboard;
pub use driver::DriverMetrics;
pub(crate) use driver::DriverRun;
pub use ipam::IpamMetrics;
pub use series::{Described, Shape};
pub use validator::ValidatorMetrics;

use series::{Levels, Listed};

/// All of it. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// Of who looks at subnets.
    pub validator: ValidatorMetrics,
    /// Of who gives addresses.
    pub ipam: IpamMetrics,
    /// Of nodes.
    pub agent: AgentMetrics,
    /// Of loads.
    pub driver: DriverMetrics,
    version: Version,
}

/// Which kos it is, as it was built.
#[derive(Clone, Debug)]
struct Version(Levels<2>);

impl Default for Version {
    fn default() -> Self {
        let version = Levels::gauge("version", "Which it is", &["version", "git_commit"]);
        version.add([env!("CARGO_PKG_VERSION"), option_env!("KOS_GIT_COMMIT").unwrap_or("unknown")], 1);
        Self(version)
    }
}

/// What all names begin with.
const PREFIX: &str = "kos";

impl Metrics {
    /// Shows them on the plane's page `/metrics`.
    pub fn show(&self, plane: &Plane) {
        plane.register(|registry| self.register(registry));
    }

    /// Puts them into a registry.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix(PREFIX);
        for (described, metric) in self.list() {
            registry.register(described.name, described.help, metric);
        }
    }

    /// What there is, part by part.
    #[must_use]
    pub fn described(&self) -> Vec<Described> {
        self.list().into_iter().map(|(described, _)| described).collect()
    }

    fn list(&self) -> Vec<Listed> {
        let parts = [self.validator.list(), self.ipam.list(), self.agent.list(), self.driver.list()];
        parts.into_iter().flatten().chain([self.version.0.listed()]).collect()
    }
}

/// Whether something went well, as labels say it.
pub(crate) const fn ok<T, E>(result: &Result<T, E>) -> &'static str {
    if result.is_ok() { "ok" } else { "err" }
}

/// How a write ended, as labels say it: it may be that there is nothing any more.
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

/// As labels say it.
pub(crate) const fn truth(is_so: bool) -> &'static str {
    if is_so { "true" } else { "false" }
}

#[cfg(test)]
mod tests;
