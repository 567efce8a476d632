//! `machinery serve` over TLS with ConfigMaps, shared by all subjects and rounds of a shape.

use super::configs::{PATH, name, sent};
use crate::measure::count;
use crate::process;
use crate::scratch::Scratch;
use crate::server::{Access, Client, ServerProcess, ours, remove, settled};
use anyhow::{Context, ensure};
use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

pub(crate) struct SharedServer {
    server: ServerProcess,
    scratch: Rc<Scratch>,
    /// All clients of this process run on one thread.
    pub(crate) runtime: Runtime,
    there: Option<RunningServer>,
}

/// A running server.
#[derive(Clone)]
pub(crate) struct RunningServer {
    objects: usize,
    pub(crate) access: Access,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) pid: u32,
}

/// Writes in flight.
const IN_FLIGHT: usize = 64;

impl SharedServer {
    pub(crate) fn new(scratch: Rc<Scratch>) -> anyhow::Result<Self> {
        let server = ours(scratch.clone())?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { server, scratch, runtime, there: None })
    }

    /// Returns a server with `objects` objects, reusing the running one if it matches.
    pub(crate) fn with(&mut self, objects: usize) -> anyhow::Result<RunningServer> {
        if let Some(there) = self.there.as_ref().filter(|there| there.objects == objects) {
            return Ok(there.clone());
        }
        self.end()?;
        let access = self.server.begin(&self.directory(), &self.runtime)?;
        self.runtime.block_on(async {
            let client = Client::connect(&access).await?;
            let made = stream::iter(0..objects).map(|i| {
                let mut client = client.clone();
                async move { client.post(PATH, Bytes::from(sent(i, 0))).await.map(drop) }
            });
            let mut made = made.buffer_unordered(IN_FLIGHT);
            while let Some(made) = made.next().await {
                made?;
            }
            anyhow::Ok(())
        })?;
        let pid = self.server.pid()?;
        settled(pid)?;
        let kubeconfig = self.server.kubeconfig();
        Ok(self.there.insert(RunningServer { objects, access, kubeconfig, pid }).clone())
    }

    pub(crate) fn end(&mut self) -> anyhow::Result<()> {
        self.there = None;
        self.server.kill()?;
        remove(&self.directory())
    }

    fn directory(&self) -> PathBuf {
        self.scratch.path("informer")
    }
}

impl RunningServer {
    /// Rewrites the first `among` objects in turn at a steady rate, and returns the server's CPU µs
    /// per write. `turn` distinguishes calls.
    pub(crate) async fn write(
        &self,
        among: usize,
        events: usize,
        turn: usize,
        rate: f64,
    ) -> anyhow::Result<f64> {
        let client = Client::connect(&self.access).await?;
        let before = process::cpu_us(self.pid)?;
        let start = Instant::now();
        let written = stream::iter(0..events).map(|n| {
            let mut client = client.clone();
            async move {
                let due = start + Duration::from_secs_f64(count(n) / rate);
                tokio::time::sleep_until(due.into()).await;
                let i = n % among;
                let body = Bytes::from(sent(i, turn + n));
                client.put(&format!("{PATH}/{}", name(i)), body).await.map(drop)
            }
        });
        let mut written = written.buffer_unordered(IN_FLIGHT);
        while let Some(written) = written.next().await {
            written?;
        }
        // Wait until all events are delivered, on both sides of a comparison.
        tokio::time::sleep(Duration::from_millis(300)).await;
        Ok((process::cpu_us(self.pid)? - before) / count(events))
    }

    /// Returns the sum of a metric over the label sets that contain `with`.
    pub(crate) async fn metric(&self, name: &str, with: &str) -> anyhow::Result<f64> {
        let page = Client::connect(&self.access).await?.get("/metrics").await?;
        let page = std::str::from_utf8(&page)?;
        let mut lines = page.lines().filter(|line| {
            let rest = line.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with(['{', ' ']) && rest.contains(with))
        });
        let values = lines.by_ref().map(|line| {
            let value = line.rsplit(' ').next().unwrap_or_default();
            value.parse::<f64>().with_context(|| format!("{line} is no metric"))
        });
        let values: Vec<f64> = values.collect::<anyhow::Result<_>>()?;
        ensure!(!with.is_empty() || !values.is_empty(), "the server has no metric {name}");
        Ok(values.iter().sum())
    }
}
