//! The subjects of this suite: a server that is started, used, measured from outside and killed.

use super::shape::ApiserverShape;
use super::{idle, lists, polite, writes};
use crate::measure::{Figures, count};
use crate::process;
use crate::server::{Measure, ServerSite, settled};
use anyhow::Context;

pub(super) const KIB: f64 = 1024.0;

/// Concurrent loaders. Loading is not measured, so it uses as many as make it fast.
const LOADERS: usize = 64;

pub(super) struct ApiserverSubject {
    site: ServerSite,
    kept: Option<LoadedServer>,
}

/// The files of a server with many objects, kept over the rounds: loading takes longer than
/// measuring.
#[derive(Clone, Copy)]
struct LoadedServer {
    objects: usize,
    /// Size of the list of all objects.
    length: usize,
}

impl From<ServerSite> for ApiserverSubject {
    fn from(site: ServerSite) -> Self {
        Self { site, kept: None }
    }
}

impl Measure<ApiserverShape> for ApiserverSubject {
    fn site(&mut self) -> &mut ServerSite {
        &mut self.site
    }

    fn measure(&mut self, kind: &ApiserverShape) -> anyhow::Result<Figures> {
        match *kind {
            ApiserverShape::Writes { clients, seconds } => self.writes(clients, seconds),
            ApiserverShape::Lists { objects, clients, indented } => {
                let kept = match self.kept.filter(|kept| kept.objects == objects) {
                    Some(kept) => kept,
                    None => self.load(objects)?,
                };
                self.lists(kept, clients, indented)
            }
            ApiserverShape::Watches { watches, per_connection } => {
                let access = self.site.begin()?;
                idle::idle(&access, self.site.server.pid()?, &self.site.runtime, watches, per_connection)
            }
            ApiserverShape::Idle => {
                self.site.begin()?;
                let pid = self.site.server.pid()?;
                settled(pid)?;
                Ok(Figures::default().with("resident_mib", process::memory(pid)?.0 / (KIB * KIB)))
            }
            ApiserverShape::Polite { connections, seconds } => {
                let access = self.site.begin()?;
                let (pid, directory) = (self.site.server.pid()?, self.site.directory());
                polite::add_users(&directory, pid)?;
                self.site.runtime.block_on(polite::latencies(&access, connections, seconds))
            }
        }
    }
}

impl ApiserverSubject {
    fn writes(&mut self, clients: usize, seconds: f64) -> anyhow::Result<Figures> {
        let access = self.site.begin()?;
        let pid = self.site.server.pid()?;
        let before = process::cpu_us(pid)?;
        let (writer_clients, creates) = self.site.runtime.block_on(async {
            writes::creates(writes::writer_clients(&access, clients).await?, seconds).await
        })?;
        let between = process::cpu_us(pid)?;
        let updates = self.site.runtime.block_on(writes::updates(writer_clients, seconds))?;
        let after = process::cpu_us(pid)?;
        let figures = costed(Figures::default(), "create", &creates, between - before)?;
        costed(figures, "update", &updates, after - between)
    }

    fn load(&mut self, objects: usize) -> anyhow::Result<LoadedServer> {
        self.kept = None;
        let access = self.site.server.begin(&self.site.kept_directory(), &self.site.runtime)?;
        let length = self.site.runtime.block_on(async {
            writes::load(writes::writer_clients(&access, LOADERS).await?, objects).await?;
            lists::whole(&access, objects).await
        })?;
        self.site.server.kill()?;
        Ok(*self.kept.insert(LoadedServer { objects, length }))
    }

    fn lists(&mut self, kept: LoadedServer, clients: usize, indented: bool) -> anyhow::Result<Figures> {
        let access = self.site.server.begin_again(&self.site.kept_directory(), &self.site.runtime)?;
        let pid = self.site.server.pid()?;
        settled(pid)?;
        process::forget_peak(pid)?;
        let (memory, _) = process::memory(pid)?;
        let before = process::cpu_us(pid)?;
        let figures = self.site.runtime.block_on(lists::lists(&access, clients, kept.length, indented))?;
        let cpu_s = (process::cpu_us(pid)? - before) / 1e6;
        const GIB: f64 = (1_u64 << 30) as f64;
        Ok(figures
            .with("cpu_s", cpu_s)
            .with("before_gib", memory / GIB)
            .with("peak_gib", process::peak(pid)? / GIB)
            .with("list_mb", count(kept.length) / 1e6))
    }
}

/// Adds `more` with the prefix `what`, and the cost of each operation to the server.
fn costed(figures: Figures, what: &str, more: &Figures, cpu_us: f64) -> anyhow::Result<Figures> {
    let operations = more.of("operations").context("traffic counts its operations")?;
    let figures = figures.with(&format!("{what}_cpu_us"), cpu_us / operations);
    let names = ["per_second", "p50_us", "p99_us", "client_cpu_us"];
    Ok(names.into_iter().fold(figures, |figures, name| match more.of(name) {
        Some(figure) => figures.with(&format!("{what}_{name}"), figure),
        None => figures,
    }))
}
