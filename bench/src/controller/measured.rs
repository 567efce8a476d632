//! The subjects of this suite: a process per shape, with the control loop of one library.

use super::far::now_ns;
use super::process::ControllerLibrary;
use super::shape::ControllerShape;
use super::step::{ControllerStep, IdleContents};
use crate::go;
use crate::informer::configs::{PATH, name, sent};
use crate::informer::site::{RunningServer, SharedServer};
use crate::interleave::{OURS, Subject};
use crate::lines::LineProcess;
use crate::measure::{Figures, count};
use crate::process::cpu_us;
use crate::server::{Client, settled};
use anyhow::{Context, ensure};
use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use http::Method;
use std::cell::RefCell;
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

pub(super) const KR: &str = "kube-runtime";
pub(super) const CR: &str = "controller-runtime";

/// The locks of an allocator.
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

/// Writes in flight.
const IN_FLIGHT: usize = 64;

/// The program of a control loop.
pub(super) enum LoopProgram {
    /// This program, with a library.
    Rust(ControllerLibrary),
    /// The Go peers, with controller-runtime.
    Go(PathBuf),
}

pub(super) struct ControllerSubject {
    pub(super) of: LoopProgram,
    pub(super) site: Rc<RefCell<SharedServer>>,
    /// The number of turns begun by all subjects, so that turn numbers are unique.
    pub(super) turns: Rc<RefCell<usize>>,
}

impl ControllerSubject {
    /// Starts the program of a control loop.
    fn begin(&self) -> anyhow::Result<LineProcess> {
        if let LoopProgram::Go(program) = &self.of {
            return go::begin_with(program, &["controller"]);
        }
        let program = std::env::current_exe().context("cannot say where this program is")?;
        LineProcess::start(
            "the loop's process",
            Command::new(program).args(["controller-subject", self.name()]),
        )
    }

    fn once(&self, step: &ControllerStep) -> anyhow::Result<Figures> {
        let mut lines = self.begin()?;
        let figures = lines.ask(step)?;
        lines.kill()?;
        Ok(figures)
    }

    fn idle(&self, objects: usize) -> anyhow::Result<Figures> {
        let bytes = |keeps| -> anyhow::Result<f64> {
            let figures = self.once(&ControllerStep::Idle { objects, keeps })?;
            figures.of("bytes").context("it was measured")
        };
        let cache = bytes(IdleContents::Cache)?;
        let each = |bytes: f64| (bytes - cache) / count(objects);
        let mut figures = Figures::default().with("bytes", each(bytes(IdleContents::Loop)?));
        if matches!(self.of, LoopProgram::Rust(ControllerLibrary::Ours)) {
            figures = figures.with("without_records", each(bytes(IdleContents::LoopWithoutRecords)?));
        }
        Ok(figures)
    }

    /// Allocates beside plain creates, each on a server without locks.
    fn allocations(&self, owners: usize) -> anyhow::Result<Figures> {
        let mut site = self.site.borrow_mut();
        let there = site.with(owners)?;
        let kubeconfig = there.kubeconfig.clone();
        let plain = self.once(&ControllerStep::PlainCreates { kubeconfig, creates: owners })?;
        site.runtime.block_on(delete_locks(&there))?;
        let server = cpu_us(there.pid)?;
        let kubeconfig = there.kubeconfig.clone();
        let ours = self.once(&ControllerStep::Allocate { kubeconfig, owners })?;
        let server = (cpu_us(there.pid)? - server) / count(owners);
        site.runtime.block_on(delete_locks(&there))?;
        settled(there.pid)?;
        let of = |figures: &Figures, name: &str| figures.of(name).context("it was measured");
        let (creates, per_second) = (of(&plain, "creates")?, of(&ours, "per_second")?);
        Ok(ours.with("creates", creates).with("share", per_second / creates).with("server_cpu_us", server))
    }

    fn hand_overs(&self, waiting: usize, releases: usize) -> anyhow::Result<Figures> {
        let mut site = self.site.borrow_mut();
        let there = site.with(waiting + 1)?;
        let kubeconfig = there.kubeconfig.clone();
        let figures = self.once(&ControllerStep::HandOver { kubeconfig, waiting, releases })?;
        site.runtime.block_on(delete_locks(&there))?;
        settled(there.pid)?;
        Ok(figures)
    }

    fn status(&self, objects: usize, events: usize, every: Duration) -> anyhow::Result<Figures> {
        let mut site = self.site.borrow_mut();
        let there = site.with(objects)?;
        let turn = self.turns.replace_with(|turn| *turn + 1);
        let mut lines = self.begin()?;
        lines.ask(&ControllerStep::Begin { kubeconfig: there.kubeconfig.clone(), turn })?;
        let server = cpu_us(there.pid)?;
        let wrote = lines.ask(&ControllerStep::Write { objects })?;
        let server = (cpu_us(there.pid)? - server) / count(objects);
        settled(there.pid)?;
        let cpu = || Ok::<_, anyhow::Error>([cpu_us(there.pid)?, cpu_us(lines.pid())?]);
        let before = cpu()?;
        site.runtime.block_on(change(&there, objects, events, every))?;
        let after = cpu()?;
        let heard = lines.ask(&ControllerStep::Heard { events })?;
        lines.kill()?;
        let each = |at: usize| (after[at] - before[at]) / count(events);
        let of = |figures: &Figures, name: &str| figures.of(name).context("it was measured");
        Ok(Figures::default()
            .with("per_second", of(&wrote, "per_second")?)
            .with("runs", of(&wrote, "runs")?)
            .with("client_cpu_us", of(&wrote, "client_cpu_us")?)
            .with("server_cpu_us", server)
            .with("p50_us", of(&heard, "p50_us")?)
            .with("p99_us", of(&heard, "p99_us")?)
            .with("runs_per_write", of(&heard, "runs_per_write")?)
            .with("event_server_cpu_us", each(0))
            .with("event_client_cpu_us", each(1)))
    }
}

/// Deletes the locks of an allocator.
async fn delete_locks(there: &RunningServer) -> anyhow::Result<()> {
    let mut client = Client::connect(&there.access).await?;
    let deleted = client.attempt(Method::DELETE, LEASES, Bytes::new()).await?;
    ensure!(deleted.is_success(), "the locks were not deleted: {deleted}");
    Ok(())
}

/// Writes objects in turn at an interval, each with its time of sending.
async fn change(there: &RunningServer, objects: usize, events: usize, every: Duration) -> anyhow::Result<()> {
    let client = Client::connect(&there.access).await?;
    let start = Instant::now();
    let written = stream::iter(0..events).map(|n| {
        let mut client = client.clone();
        async move {
            tokio::time::sleep_until(start + every * u32::try_from(n)?).await;
            let i = n % objects;
            let body = Bytes::from(sent(i, now_ns().try_into()?));
            client.put(&format!("{PATH}/{}", name(i)), body).await.map(drop)
        }
    });
    let mut written = written.buffer_unordered(IN_FLIGHT);
    while let Some(written) = written.next().await {
        written?;
    }
    Ok(())
}

impl Subject<ControllerShape> for ControllerSubject {
    fn name(&self) -> &'static str {
        match self.of {
            LoopProgram::Rust(ControllerLibrary::Ours) => OURS,
            LoopProgram::Rust(ControllerLibrary::KubeRuntime) => KR,
            LoopProgram::Go(_) => CR,
        }
    }

    fn run(&mut self, kind: &ControllerShape) -> anyhow::Result<Figures> {
        match *kind {
            ControllerShape::Reconciles { objects, ms, under_way, is_limited } => {
                self.once(&ControllerStep::Reconciles { objects, ms, under_way, is_limited })
            }
            ControllerShape::Hops { objects, events, every_us } => {
                self.once(&ControllerStep::Hops { objects, events, every_us })
            }
            ControllerShape::Idle { objects } => self.idle(objects),
            ControllerShape::Allocations { owners } => self.allocations(owners),
            ControllerShape::HandOvers { waiting, releases } => self.hand_overs(waiting, releases),
            ControllerShape::Status { objects, events, every_us } => {
                self.status(objects, events, Duration::from_micros(every_us))
            }
        }
    }
}
