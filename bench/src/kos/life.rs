//! One run of the system, in processes of its own.

use super::plan::{attachments_path, subnet, subnets_path};
use super::shape::KosLoad;
use super::step::{AgentsRequest, ControlRequest};
use crate::lines::LineProcess;
use crate::measure::{Figures, count};
use crate::process::{cpu_us, memory};
use crate::scratch::Scratch;
use crate::server::{Access, Client, settled};
use anyhow::{Context, ensure};
use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use std::path::Path;
use std::process::Command;
use tokio::runtime::{Builder, Runtime};

/// Creations in flight.
const IN_FLIGHT: usize = 64;

pub(super) fn live(scratch: &Scratch, load: &KosLoad) -> anyhow::Result<Figures> {
    let directory = scratch.path("kos");
    std::fs::create_dir_all(&directory)?;
    let kubeconfig = directory.join("kubeconfig");
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut control = start("the server's process", "kos-control")?;
    control.ask(&ControlRequest::Begin { directory: directory.clone(), kubeconfig: kubeconfig.clone() })?;
    let mut agents = start("the agents' process", "kos-agents")?;
    let &KosLoad { nodes, attachments, per_key, .. } = load;
    let begun = agents.ask(&AgentsRequest::Begin { kubeconfig: kubeconfig.clone(), nodes, per_key })?;
    let there = ServerView { access: Access::read(&kubeconfig)?, runtime: &runtime };
    there.make(subnets_path(), (0..load.networks).map(subnet))?;
    settled(control.pid())?;
    let watched = r#"resource="networkattachments""#;
    let before = (
        there.metric("apiserver_watch_events_total", watched)?,
        there.metric("machinery_response_bytes_total", r#"verb="WATCH""#)?,
    );
    let pids = [control.pid(), agents.pid()];
    let cpu = || Ok::<_, anyhow::Error>([cpu_us(pids[0])?, cpu_us(pids[1])?]);
    let (cpu_before, memory_before) = (cpu()?, [memory(control.pid())?.1, memory(agents.pid())?.1]);

    there.make(attachments_path(), (0..attachments).map(|number| load.attachment(number)))?;
    agents.ask(&AgentsRequest::Until { remotes: load.remotes(), locals: attachments })?;
    settled(agents.pid())?;
    settled(control.pid())?;
    let (cpu_after, memory_after) = (cpu()?, [memory(control.pid())?.1, memory(agents.pid())?.1]);
    let events = there.metric("apiserver_watch_events_total", watched)? - before.0;
    let bytes = there.metric("machinery_response_bytes_total", r#"verb="WATCH""#)? - before.1;
    let counted = there.metric("machinery_interest_irrelevant_events_total", "")?;
    let streams = there.metric("apiserver_longrunning_requests", "")?;
    let reported = agents.ask(&AgentsRequest::Report)?;
    agents.kill()?;
    control.kill()?;
    std::fs::remove_dir_all(&directory).with_context(|| format!("cannot remove {}", directory.display()))?;

    let each = |all: f64| all / count(attachments);
    let [server_cpu, agents_cpu] = [0, 1].map(|at| each(cpu_after[at] - cpu_before[at]));
    let irrelevant = reported.of("irrelevant").context("it was counted")? + counted;
    Ok(reported
        .with("irrelevant", irrelevant)
        .with("cpu_us", server_cpu + agents_cpu)
        .with("server_cpu_us", server_cpu)
        .with("agents_cpu_us", agents_cpu)
        .with("server_bytes", each(memory_after[0] - memory_before[0]))
        .with("agents_bytes", each(memory_after[1] - memory_before[1]))
        .with("agents_mib", memory_after[1] / f64::from(1 << 20))
        .with("events", events / count(nodes))
        .with("bytes", bytes / count(nodes))
        .with("streams", streams)
        .with("begin_s", begun.of("begin_s").unwrap_or(f64::NAN)))
}

fn start(name: &'static str, subject: &str) -> anyhow::Result<LineProcess> {
    let program = std::env::current_exe().context("cannot say where this program is")?;
    LineProcess::start(name, Command::new(program).arg(subject))
}

/// The server as seen by a client.
struct ServerView<'a> {
    access: Access,
    runtime: &'a Runtime,
}

impl ServerView<'_> {
    fn make(&self, path: String, objects: impl Iterator<Item = serde_json::Value>) -> anyhow::Result<()> {
        self.runtime.block_on(async {
            let client = Client::connect(&self.access).await?;
            let made = stream::iter(objects).map(|object| {
                let (mut client, path) = (client.clone(), path.as_str());
                async move { client.post(path, Bytes::from(object.to_string())).await.map(drop) }
            });
            let mut made = made.buffer_unordered(IN_FLIGHT);
            while let Some(made) = made.next().await {
                made?;
            }
            Ok(())
        })
    }

    /// Returns the sum of a metric over the label sets that contain `with`.
    fn metric(&self, name: &str, with: &str) -> anyhow::Result<f64> {
        let page =
            self.runtime.block_on(async { Client::connect(&self.access).await?.get("/metrics").await })?;
        let page = std::str::from_utf8(&page)?;
        let lines = page.lines().filter(|line| {
            let rest = line.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with(['{', ' ']) && rest.contains(with))
        });
        let values: Vec<f64> = lines
            .map(|line| {
                line.rsplit(' ').next().unwrap_or_default().parse::<f64>().context("a metric is no number")
            })
            .collect::<anyhow::Result<_>>()?;
        ensure!(!with.is_empty() || !values.is_empty(), "the server has no metric {name}");
        Ok(values.iter().sum())
    }
}

/// Removes the files of a run.
pub(super) fn forget(scratch: &Scratch) {
    let path: &Path = &scratch.path("kos");
    let _ = std::fs::remove_dir_all(path);
}
