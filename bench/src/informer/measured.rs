//! A subject: a process of its own for each shape, used and looked at from outside.

use super::irrelevant::{self, Few};
use super::process::Library;
use super::shape::{Kind, Of};
use super::site::Site;
use super::step::Step;
use super::text::TextServer;
use crate::go;
use crate::interleave::{OURS, Subject};
use crate::lines::Lines;
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

/// Whose informers a process has.
pub(super) enum Whose {
    Rust(Library),
    /// client-go's, in the program with the Go peers.
    Go(PathBuf),
}

pub(super) struct Measured {
    pub(super) whose: Whose,
    pub(super) site: Rc<RefCell<Site>>,
    pub(super) scratch: Rc<Scratch>,
}

/// This program again, with one library's informers in it.
pub(super) fn begin(library: Library) -> anyhow::Result<Lines> {
    let program = std::env::current_exe().context("cannot say where this program is")?;
    let library = match library {
        Library::Ours => "ours",
        Library::KubeRuntime => "kube-runtime",
    };
    Lines::start("the informer's process", Command::new(program).args(["informer-subject", library]))
}

impl Measured {
    fn begin(&self) -> anyhow::Result<Lines> {
        match &self.whose {
            Whose::Rust(library) => begin(*library),
            Whose::Go(program) => go::begin(program),
        }
    }

    fn measure(&self, kind: &Kind) -> anyhow::Result<Figures> {
        let is_ours = self.name() == OURS;
        match *kind {
            Kind::Writes { objects, readers, ms, under_way } => {
                self.once(&Step::Writes { objects, readers, ms, under_way })
            }
            Kind::Reads { objects, passes } => self.once(&Step::Reads { objects, passes }),
            Kind::Hop { objects, events } => self.once(&Step::Hop { objects, events }),
            Kind::Decode { objects, passes } => self.once(&Step::Decode { objects, passes }),
            Kind::Near { objects } if is_ours => self.once(&Step::Near { objects }),
            Kind::Sync { objects, of } => self.sync(objects, of),
            Kind::Near { objects } => self.sync(objects, Of::Whole),
            Kind::Relist { objects, changed } => self.relist(objects, changed),
            Kind::Agents { agents, each, events, edits } if is_ours => {
                // Two agents hold each key.
                let keys = agents * each / 2;
                let mut site = self.site.borrow_mut();
                let there = site.with(keys)?;
                let few = Few { agents, each, keys, events, edits };
                irrelevant::agents(&there, &site.runtime, &few)
            }
            Kind::Keys { few, many, events } if is_ours => {
                let mut site = self.site.borrow_mut();
                let there = site.with(many)?;
                irrelevant::keys(&there, &site.runtime, few, many, events)
            }
            Kind::Agents { .. } | Kind::Keys { .. } => bail!("it has no such thing"),
        }
    }

    fn once(&self, step: &Step) -> anyhow::Result<Figures> {
        let mut lines = self.begin()?;
        let figures = lines.ask(step)?;
        lines.kill()?;
        Ok(figures)
    }

    fn sync(&self, objects: usize, of: Of) -> anyhow::Result<Figures> {
        let there = self.site.borrow_mut().with(objects)?;
        let server = process::cpu_us(there.pid)?;
        let (lines, figures) = self.synced(objects, of, &there.kubeconfig)?;
        let server = (process::cpu_us(there.pid)? - server) / 1e6;
        lines.kill()?;
        Ok(figures.with("server_cpu_s", server))
    }

    /// A process with an informer that is whole, and what that took.
    fn synced(&self, objects: usize, of: Of, kubeconfig: &Path) -> anyhow::Result<(Lines, Figures)> {
        let mut lines = self.begin()?;
        settled(lines.pid())?;
        let (_, before) = process::memory(lines.pid())?;
        process::forget_peak(lines.pid())?;
        let figures = lines.ask(&Step::Sync { objects, kubeconfig: kubeconfig.to_owned(), of })?;
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
        let (lines, figures) = self.synced(objects, Of::Whole, &kubeconfig)?;
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

/// Anonymous memory, and the most of it since the peak was forgotten. What is a file's was there before, and stays.
fn anonymous(pid: u32) -> anyhow::Result<(f64, f64)> {
    let (all, anonymous) = process::memory(pid)?;
    let peak = process::peak(pid)? - (all - anonymous);
    Ok((anonymous, peak.max(anonymous)))
}

impl Subject<Kind> for Measured {
    fn name(&self) -> &'static str {
        match self.whose {
            Whose::Rust(Library::Ours) => OURS,
            Whose::Rust(Library::KubeRuntime) => KR,
            Whose::Go(_) => CG,
        }
    }

    fn run(&mut self, kind: &Kind) -> anyhow::Result<Figures> {
        self.measure(kind)
    }
}
