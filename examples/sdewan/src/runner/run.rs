//! Running the runner on a plane.

use machinery::k8s_openapi::api::core::v1::Node;
use machinery::objects::Filter;
use machinery::{Plane, PlaneError};
use thiserror::Error;

use super::addresses::PodAddresses;
use super::deployments::Deployments;
use super::kubelet::Kubelet;

/// The settings of a runner.
#[derive(Debug)]
pub struct RunnerSettings {
    /// The addresses of pods.
    pub addresses: PodAddresses,
    /// Whether its CNFs offer v2, or v1 alone as the original.
    pub offers_v2: bool,
}

impl Default for RunnerSettings {
    fn default() -> Self {
        Self { addresses: PodAddresses::default(), offers_v2: true }
    }
}

/// The runner cannot run.
#[derive(Debug, Error)]
pub enum RunnerError {
    /// A kubelet runs the pods.
    #[error(
        "the runner is not needed: the kubelet of node {node} runs pods here; it is for API servers without kubelets"
    )]
    Kubelet {
        /// The name of its node.
        node: String,
    },
    /// The plane has stopped, or lacks a kind.
    #[error(transparent)]
    Plane(#[from] PlaneError),
    /// The nodes cannot be listed, or a controller of the name runs already.
    #[error("{0}")]
    Other(String),
}

/// A running runner.
#[derive(Clone)]
pub struct Runner {
    kubelet: Kubelet,
}

impl Runner {
    /// Starts the runner. It runs until the plane stops, and kills its CNFs then.
    ///
    /// # Errors
    /// A kubelet runs the pods, or the plane has stopped.
    pub async fn start(plane: &Plane, settings: RunnerSettings) -> Result<Self, RunnerError> {
        let other = |error: &dyn std::fmt::Display| RunnerError::Other(error.to_string());
        let nodes = plane.objects::<Node>()?.list(&Filter::default()).await.map_err(|error| other(&error))?;
        if let Some(node) = nodes.iter().find(|node| has_kubelet(node)) {
            return Err(RunnerError::Kubelet { node: node.metadata.name.clone().unwrap_or_default() });
        }
        let (deployments, of_deployments) = Deployments::new(plane).map_err(|error| other(&error))?;
        let (kubelet, of_pods) =
            Kubelet::new(plane, settings.addresses, settings.offers_v2).map_err(|error| other(&error))?;
        plane.spawn(async move { of_deployments.run(deployments).await.map(drop) });
        let pods = kubelet.clone();
        plane.spawn(async move { of_pods.run(pods).await.map(drop) });
        Ok(Self { kubelet })
    }

    /// Returns the CNFs of pods.
    #[must_use]
    pub const fn kubelet(&self) -> &Kubelet {
        &self.kubelet
    }
}

fn has_kubelet(node: &Node) -> bool {
    let info = node.status.as_ref().and_then(|status| status.node_info.as_ref());
    info.is_some_and(|info| !info.kubelet_version.is_empty())
}
