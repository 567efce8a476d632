//! The runner: Deployment controller and kubelet for CNFs, for API servers that run no pods.
//!
//! - [`plan`]: the sets, pods and statuses of a Deployment, as pure decisions.
//! - [`Kubelet`]: the CNFs of pods in this process, each with an address of its own.
//! - [`pod_spec`]: the parts of a pod that count; its annotation `sdewan/state`.

mod addresses;
mod cnf_pod;
mod deployments;
mod kubelet;
mod networks;
pub mod plan;
pub mod pod_spec;
mod pod_status;
mod probe;
mod run;

pub use addresses::PodAddresses;
pub use kubelet::Kubelet;
pub use networks::{NetworksError, POD_NIC, pod_nics};
pub use pod_status::{CnfPhase, next_restart, pod_status, status_time};
pub use probe::ProbeResults;
pub use run::{Runner, RunnerError, RunnerSettings};

#[cfg(test)]
mod tests;
