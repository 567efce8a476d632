//! The process of the agents: `machinery-bench kos-agents`, for internal use.

use super::known::{AttachmentLog, report};
use super::plan::node;
use super::step::AgentsRequest;
use crate::lines;
use crate::measure::{Figures, cpu_time};
use anyhow::{Context, anyhow, ensure};
use kos::agent::{Agent, AgentSettings};
use kos::drive::{Fabric, FabricError, FabricRepairs, FabricStatus, InterfaceList, LogFabric};
use kos::plan::{LocalInterface, RemoteInterface};
use machinery::Plane;
use machinery::controllers::{Disturbance, Progress};
use machinery::kube::kube_client::Config;
use machinery::kube::kube_client::config::{KubeConfigOptions, Kubeconfig};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

/// Timeout without progress.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Agents started at a time.
const AT_ONCE: usize = 25;

#[derive(Default)]
struct AgentsProcess {
    planes: Vec<Plane>,
    agents: Vec<Agent>,
    noted: Arc<AttachmentLog>,
    kubeconfig: PathBuf,
}

/// Answers requests until the standard input closes.
pub(crate) fn serve() -> anyhow::Result<()> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut process = AgentsProcess::default();
    lines::serve(|line| {
        let step: AgentsRequest =
            serde_json::from_str(line).with_context(|| format!("this is no request: {line}"))?;
        runtime.block_on(process.answer(step))
    })?;
    // Agents end with the process.
    std::process::exit(0);
}

impl AgentsProcess {
    async fn answer(&mut self, step: AgentsRequest) -> anyhow::Result<Figures> {
        match step {
            AgentsRequest::Begin { kubeconfig, nodes, per_key } => {
                let (began, cpu) = (Instant::now(), cpu_time());
                self.begin(&kubeconfig, nodes, per_key).await.map_err(|error| anyhow!(error))?;
                self.kubeconfig = kubeconfig;
                Ok(Figures::default()
                    .with("begin_s", began.elapsed().as_secs_f64())
                    .with("begin_cpu_s", cpu_time().saturating_sub(cpu).as_secs_f64()))
            }
            AgentsRequest::Until { remotes, locals } => self.until(remotes, locals).await,
            AgentsRequest::Report => {
                let plane = machinery::kube_config(config(&self.kubeconfig).await?).start().await?;
                report(&plane, &self.noted).await.map_err(|error| anyhow!(error))
            }
        }
    }

    async fn begin(&mut self, kubeconfig: &Path, nodes: usize, per_key: bool) -> machinery::Result {
        let config = config(kubeconfig).await?;
        for number in 0..nodes {
            let plane = machinery::kube_config(config.clone()).start().await?;
            let host = Ipv4Addr::from(u32::from(Ipv4Addr::new(198, 18, 0, 1)) + u32::try_from(number)?);
            let mut settings = AgentSettings::new(&node(number), host);
            settings.per_key = per_key;
            let fabric = RecordingFabric {
                of: LogFabric::new(),
                node: u32::try_from(number)?,
                noted: self.noted.clone(),
            };
            let recorder = plane.recorder("kos-agent");
            self.agents.push(Agent::run(&plane, settings, Arc::new(fabric), &recorder)?);
            self.planes.push(plane);
            if self.planes.len().is_multiple_of(AT_ONCE) {
                self.ready().await?;
            }
        }
        self.ready().await
    }

    async fn ready(&self) -> machinery::Result {
        let end = Instant::now() + TIMEOUT;
        while !self.agents.iter().all(Agent::is_ready) {
            if Instant::now() >= end {
                return Err("not all agents are ready".into());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    async fn until(&self, remotes: usize, locals: usize) -> anyhow::Result<Figures> {
        let (mut seen, mut since) = ((0, 0), Instant::now());
        loop {
            let now = self.noted.counts();
            if now == (remotes, locals) {
                // Wait for unexpected events.
                tokio::time::sleep(Duration::from_millis(500)).await;
                let more = self.noted.counts();
                ensure!(more == now, "{more:?} interfaces were made, and {now:?} are wanted");
                return Ok(Figures::default());
            }
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
            ensure!(since.elapsed() < TIMEOUT, "{now:?} interfaces of {remotes} and {locals} were made");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Reads a kubeconfig.
pub(super) async fn config(kubeconfig: &Path) -> anyhow::Result<Config> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    Ok(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
}

/// A logging fabric that also counts created local interfaces, and records the creation time of
/// each remote interface.
struct RecordingFabric {
    of: LogFabric,
    node: u32,
    noted: Arc<AttachmentLog>,
}

#[async_trait::async_trait]
impl Fabric for RecordingFabric {
    fn name(&self) -> &'static str {
        "noting"
    }

    async fn create_local(&self, interface: &LocalInterface) -> Result<(), FabricError> {
        self.of.create_local(interface).await?;
        self.noted.local();
        Ok(())
    }

    async fn delete_local(&self, interface: &LocalInterface) -> Result<(), FabricError> {
        self.of.delete_local(interface).await
    }

    async fn create_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        self.of.create_remote(interface).await?;
        self.noted.remote(self.node, interface);
        Ok(())
    }

    async fn delete_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        self.of.delete_remote(interface).await
    }

    async fn list(&self) -> Result<InterfaceList, FabricError> {
        self.of.list().await
    }

    async fn repair(&self, progress: &Progress) -> Result<FabricRepairs, FabricError> {
        self.of.repair(progress).await
    }

    async fn disturbed(&self) -> Disturbance {
        self.of.disturbed().await
    }

    async fn status(&self) -> FabricStatus {
        self.of.status().await
    }
}
