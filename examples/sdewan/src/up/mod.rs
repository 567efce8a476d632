//! An SD-EWAN in one process: API server, agent, runner and CNFs.

mod samples;
mod view;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use machinery::apiserver::Identity;
use machinery::k8s_openapi::api::core::v1::Pod;
use machinery::objects::{WriteError, Writer as _};
use machinery::tokio::time::{Instant, sleep};
use machinery::{Objects, Plane, RuntimeKind};

pub use samples::{SAMPLE_FILES, SampleError, kind_of, samples};
pub use view::{PodRow, RuleRow};

use crate::agent::{Agent, AgentSettings};
use crate::drive::rest::RestConnector;
use crate::model::{SdewanKind, SdewanObject, StatusForm, definitions};
use crate::runner::{Runner, RunnerSettings};

/// The settings of a local cluster.
#[derive(Debug, Default)]
pub struct LocalClusterSettings {
    /// The directory of the objects; `None` keeps them in memory.
    pub data: Option<PathBuf>,
    /// The agent.
    pub agent: AgentSettings,
    /// The runner.
    pub runner: RunnerSettings,
}

/// A running cluster.
pub struct LocalCluster {
    plane: Plane,
    runner: Runner,
    pods: Objects<Pod>,
    rules: Vec<(&'static SdewanKind, RuntimeKind<SdewanObject>)>,
}

/// The interval at which the caches are looked at while something is awaited.
const LOOK: Duration = Duration::from_millis(50);

impl LocalCluster {
    /// Starts the cluster.
    ///
    /// # Errors
    /// The directory cannot be opened.
    pub async fn start(settings: LocalClusterSettings) -> machinery::Result<Self> {
        let LocalClusterSettings { data, agent, runner } = settings;
        let builder = data.into_iter().fold(machinery::embedded(), |builder, data| builder.data(data));
        let plane = builder.server(|server| server.crds(definitions())).start().await?;
        // Before any other reader of pods, as it declares the indexes of their informer.
        Agent::run(&plane, agent, Arc::new(RestConnector::default()))?;
        let runner = Runner::start(&plane, runner).await?;
        let rules = SdewanKind::all_served().filter(|resource| resource.kind.status == StatusForm::Rule);
        let rules = rules.map(|resource| Ok((resource.kind, plane.kind_named(&resource.name())?)));
        let rules = rules.collect::<machinery::Result<_>>()?;
        let pods = plane.objects()?;
        Ok(Self { plane, runner, pods, rules })
    }

    /// Returns the plane.
    #[must_use]
    pub const fn plane(&self) -> &Plane {
        &self.plane
    }

    /// Returns the runner.
    #[must_use]
    pub const fn runner(&self) -> &Runner {
        &self.runner
    }

    /// Creates the samples that are missing.
    ///
    /// # Errors
    /// The server refuses a sample.
    pub async fn make_samples(&self, replicas: u32) -> machinery::Result {
        let server = self.plane.server().ok_or("the server is elsewhere")?;
        for sample in samples(replicas)? {
            let handle = server.handle_of::<serde_json::Value>(samples::kind_of(&sample)?, Identity::admin());
            match handle.create(&sample, None).await {
                Ok(_) | Err(WriteError::AlreadyExists { .. }) => {}
                Err(error) => {
                    return Err(
                        format!("the sample {} is refused: {error}", sample["metadata"]["name"]).into()
                    );
                }
            }
        }
        Ok(())
    }

    /// Returns the pods of CNFs, by namespace and name.
    #[must_use]
    pub fn pod_rows(&self) -> Vec<PodRow> {
        self.pods.read().iter().filter_map(|(_, pod)| PodRow::of(pod)).collect()
    }

    /// Returns the rules of all kinds.
    #[must_use]
    pub fn rule_rows(&self) -> Vec<RuleRow> {
        let mut rows = Vec::new();
        for (kind, objects) in &self.rules {
            rows.extend(objects.read().iter().map(|(_, object)| RuleRow::of(kind, object)));
        }
        rows
    }

    /// Waits until `pods` pods are ready and all of at least `rules` rules are in sync. Calls
    /// `progress` with the number of rules in sync and of all.
    ///
    /// # Errors
    /// The time limit is reached; the text names a pod or rule, and the reason.
    pub async fn settled(
        &self,
        (pods, rules): (usize, usize),
        time_limit: Duration,
        mut progress: impl FnMut(usize, usize),
    ) -> machinery::Result {
        let deadline = Instant::now() + time_limit;
        loop {
            let (all_pods, all_rules) = (self.pod_rows(), self.rule_rows());
            let unready = all_pods.iter().find(|pod| !pod.is_ready);
            let late = all_rules.iter().find(|rule| !rule.is_in_sync);
            let in_sync = all_rules.iter().filter(|rule| rule.is_in_sync).count();
            progress(in_sync, all_rules.len());
            let is_complete = all_pods.len() >= pods && all_rules.len() >= rules;
            if is_complete && unready.is_none() && late.is_none() {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let reason = match (unready, late) {
                    (Some(pod), _) => {
                        format!("pod {}/{} is not ready: {}", pod.namespace, pod.name, pod.state)
                    }
                    (None, Some(rule)) => format!("{} {}: {}", rule.kind, rule.key(), rule.reason()),
                    (None, None) => {
                        format!("{} of {pods} pods, {} of {rules} rules", all_pods.len(), all_rules.len())
                    }
                };
                return Err(format!("not all is in sync after {time_limit:?}: {reason}").into());
            }
            sleep(LOOK).await;
        }
    }
}

#[cfg(test)]
mod tests;
