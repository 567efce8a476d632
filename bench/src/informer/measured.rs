//! The subjects of this suite: a process per shape, with the informers of one library, measured
//! from outside.

use super::irrelevant::{self, AgentLoad};
use super::process::InformerLibrary;
use super::shape::{InformerShape, Projection};
use super::site::SharedServer;
use super::step::InformerStep;
use super::text::TextServer;
use crate::go;
use crate::interleave::{OURS, Subject};
use crate::lines::LineProcess;
use crate::measure::{Figures, count};
use crate::process;
use crate::scratch::Scratch;
use crate::server::settled;
use anyhow::{Context, bail, ensure};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

pub(super) const KR: &str = "kube-runtime";
pub(super) const CG: &str = "client-go";

/// The process of a subject.
pub(super) enum SubjectProcess {
    Rust(InformerLibrary),
    /// client-go's, in the program of the Go peers.
    Go(PathBuf),
}

pub(super) struct InformerSubject {
    pub(super) whose: SubjectProcess,
    pub(super) site: Rc<RefCell<SharedServer>>,
    pub(super) scratch: Rc<Scratch>,
}

/// Starts this program with one library's informers.
pub(super) fn begin(library: InformerLibrary) -> anyhow::Result<LineProcess> {
    let program = std::env::current_exe().context("cannot say where this program is")?;
    let library = match library {
        InformerLibrary::Ours => "ours",
        InformerLibrary::KubeRuntime => "kube-runtime",
    };
    LineProcess::start("the informer's process", Command::new(program).args(["informer-subject", library]))
}

impl InformerSubject {
    fn begin(&self) -> anyhow::Result<LineProcess> {
        match &self.whose {
            SubjectProcess::Rust(library) => begin(*library),
            SubjectProcess::Go(program) => go::begin(program),
        }
    }

    fn measure(&self, kind: &InformerShape) -> anyhow::Result<Figures> {
        let is_ours = self.name() == OURS;
        match *kind {
            InformerShape::Writes { objects, readers, ms, under_way } => {
                self.once(&InformerStep::Writes { objects, readers, ms, under_way })
            }
            InformerShape::Reads { objects, passes } => self.once(&InformerStep::Reads { objects, passes }),
            InformerShape::Hop { objects, events } => self.once(&InformerStep::Hop { objects, events }),
            InformerShape::Decode { objects, passes } => self.once(&InformerStep::Decode { objects, passes }),
            InformerShape::Near { objects } if is_ours => self.once(&InformerStep::Near { objects }),
            InformerShape::Sync { objects, of } => self.sync(objects, of),
            InformerShape::Near { objects } => self.sync(objects, Projection::Whole),
            InformerShape::Relist { objects, changed } => self.relist(objects, changed),
            InformerShape::Agents { agents, each, events, edits } if is_ours => {
                // Two agents hold each key.
                let keys = agents * each / 2;
                let mut site = self.site.borrow_mut();
                let there = site.with(keys)?;
                let few = AgentLoad { agents, each, keys, events, edits };
                irrelevant::agents(&there, &site.runtime, &few)
            }
            InformerShape::Keys { few, many, events } if is_ours => {
                let mut site = self.site.borrow_mut();
                let there = site.with(many)?;
                irrelevant::keys(&there, &site.runtime, few, many, events)
            }
            InformerShape::Agents { .. } | InformerShape::Keys { .. } => bail!("it has no such thing"),
        }
    }

    fn once(&self, step: &InformerStep) -> anyhow::Result<Figures> {
        let mut lines = self.begin()?;
        let figures = lines.ask(step)?;
        lines.kill()?;
        Ok(figures)
    }

    fn sync(&self, objects: usize, of: Projection) -> anyhow::Result<Figures> {
        let there = self.site.borrow_mut().with(objects)?;
        let server = process::cpu_us(there.pid)?;
        let (lines, figures) = self.synced(objects, of, &there.kubeconfig)?;
        let server = (process::cpu_us(there.pid)? - server) / 1e6;
        lines.kill()?;
        Ok(figures.with("server_cpu_s", server))
    }

    /// Starts a process with a synced informer, and returns the figures of the sync.
    fn synced(
        &self,
        objects: usize,
        of: Projection,
        kubeconfig: &Path,
    ) -> anyhow::Result<(LineProcess, Figures)> {
        let mut lines = self.begin()?;
        settled(lines.pid())?;
        let (_, before) = process::memory(lines.pid())?;
        process::forget_peak(lines.pid())?;
        let figures = lines.ask(&InformerStep::Sync { objects, kubeconfig: kubeconfig.to_owned(), of })?;
        settled(lines.pid())?;
        let (steady, peak) = anonymous(lines.pid())?;
        let each = |bytes: f64| (bytes - before) / count(objects);
        let figures =
            figures.with("steady", each(steady)).with("peak", each(peak)).with("before_mb", before / 1e6);
        Ok((lines, figures))
    }

    fn relist(&self, objects: usize, changed: usize) -> anyhow::Result<Figures> {
        let server = TextServer::start(objects)?;
        let kubeconfig = self.scratch.path("text-kubeconfig");
        server.write_kubeconfig(&kubeconfig)?;
        let (lines, figures) = self.synced(objects, Projection::Whole, &kubeconfig)?;
        let pid = lines.pid();
        let before = figures.of("before_mb").context("it was measured")? * 1e6;
        let (steady, _) = anonymous(pid)?;
        process::forget_peak(pid)?;
        server.expire(changed)?;
        settled(pid)?;
        let (after, peak) = anonymous(pid)?;
        lines.kill()?;
        ensure!(steady > before, "objects take memory");
        let each = |bytes: f64| (bytes - before) / count(objects);
        Ok(Figures::default()
            .with("ratio", each(peak) / each(steady))
            .with("steady", each(steady))
            .with("peak", each(peak))
            .with("after", each(after)))
    }
}

/// Returns anonymous memory, and its peak since the last reset. File-backed memory is constant.
fn anonymous(pid: u32) -> anyhow::Result<(f64, f64)> {
    let (all, anonymous) = process::memory(pid)?;
    let peak = process::peak(pid)? - (all - anonymous);
    Ok((anonymous, peak.max(anonymous)))
}

impl Subject<InformerShape> for InformerSubject {
    fn name(&self) -> &'static str {
        match self.whose {
            SubjectProcess::Rust(InformerLibrary::Ours) => OURS,
            SubjectProcess::Rust(InformerLibrary::KubeRuntime) => KR,
            SubjectProcess::Go(_) => CG,
        }
    }

    fn run(&mut self, kind: &InformerShape) -> anyhow::Result<Figures> {
        self.measure(kind)
    }
}
