//! The subjects of this suite: a store process that is started, used, measured from outside and
//! killed.

use super::shape::{StoreShape, StoreStep};
use crate::interleave::Subject;
use crate::measure::{Figures, count};
use crate::process;
use crate::scratch::Scratch;
use anyhow::{Context, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

/// A store in a separate process, and its clients.
pub(super) trait StoreServer {
    fn name(&self) -> &'static str;
    /// Starts the store on its directory, and returns when it has answered a read.
    fn start(&mut self, start: &Start) -> anyhow::Result<()>;
    /// Runs a step. The figures include `syncs`, the number of syncs of its log.
    fn ask(&mut self, step: &StoreStep) -> anyhow::Result<Figures>;
    /// Returns the process id of the store.
    fn pid(&self) -> anyhow::Result<u32>;
    /// Kills the store.
    fn kill(&mut self) -> anyhow::Result<()>;
}

pub(super) struct Start {
    pub(super) directory: PathBuf,
    /// Minimum duration of a sync.
    pub(super) sync_ms: u64,
}

pub(super) struct StoreSubject<S> {
    server: S,
    scratch: Rc<Scratch>,
    kept: Option<LoadedStore>,
}

/// The files of a large, killed store, kept over the rounds: loading takes longer than measuring.
#[derive(Clone, Copy)]
struct LoadedStore {
    objects: usize,
    /// Memory of an empty store.
    empty_memory: (f64, f64),
    /// Disk usage, minus that of an empty store.
    disk: f64,
}

impl<S: StoreServer> StoreSubject<S> {
    pub(super) fn new(server: S, scratch: Rc<Scratch>) -> Self {
        Self { server, scratch, kept: None }
    }

    fn measure(&mut self, kind: &StoreShape) -> anyhow::Result<Figures> {
        match *kind {
            StoreShape::Commits { clients, objects, seconds } => {
                self.begin(0)?;
                self.server.ask(&StoreStep::Load { objects, clients: LOADERS })?;
                self.costed(&StoreStep::Commits { clients, objects, seconds })
            }
            StoreShape::SlowSync { clients, objects, seconds, sync_ms } => {
                self.begin(sync_ms)?;
                self.server.ask(&StoreStep::Load { objects, clients: LOADERS })?;
                let figures = self.costed(&StoreStep::Commits { clients, objects, seconds })?;
                let rate = figures.of("per_second").zip(figures.of("sync_ms"));
                let (per_second, sync_ms) = rate.context("the step says not how fast it was")?;
                Ok(figures.with("share", per_second * sync_ms / 1e3 / count(clients)))
            }
            StoreShape::Reads { clients, objects, seconds } => {
                self.begin(0)?;
                self.server.ask(&StoreStep::Load { objects, clients: LOADERS })?;
                self.costed(&StoreStep::Reads { clients, objects, seconds })
            }
            StoreShape::Fanout { watchers, events } => {
                self.begin(0)?;
                self.server.ask(&StoreStep::Watch { watchers })?;
                self.server.ask(&StoreStep::Notify { events: 1 })?;
                self.costed(&StoreStep::Notify { events })
            }
            StoreShape::Large { objects, clients, seconds } => {
                if self.kept.is_none_or(|kept| kept.objects != objects) {
                    self.load(objects)?;
                }
                let kept = self.kept.context("it was loaded")?;
                self.restart(kept, &StoreStep::Commits { clients, objects, seconds })
            }
        }
    }

    /// Starts the store on an empty directory.
    fn begin(&mut self, sync_ms: u64) -> anyhow::Result<PathBuf> {
        self.clear()?;
        let directory = self.directory();
        fs::create_dir_all(&directory)?;
        self.server.start(&Start { directory: directory.clone(), sync_ms })?;
        Ok(directory)
    }

    /// Runs a step, and adds the server's cost per operation.
    fn costed(&mut self, step: &StoreStep) -> anyhow::Result<Figures> {
        let pid = self.server.pid()?;
        let directory = self.directory();
        let (cpu, written) = (process::cpu_us(pid)?, process::written(&directory));
        let figures = self.server.ask(step)?;
        let cpu = process::cpu_us(pid)? - cpu;
        let written = written.and_then(|before| Some(process::written(&directory)? - before));
        let of = |name| figures.of(name).with_context(|| format!("the step has no figure `{name}`"));
        let (operations, syncs) = (of("operations")?, of("syncs")?);
        let cpu_us = cpu / operations;
        let figures =
            figures.with("cpu_us", cpu_us).with("cpu_ms", cpu_us / 1e3).with("syncs", syncs / operations);
        Ok(match written {
            Some(bytes) => figures.with("written", bytes / operations),
            None => figures,
        })
    }

    /// Loads a store with many objects, and kills it.
    fn load(&mut self, objects: usize) -> anyhow::Result<()> {
        let directory = self.begin(0)?;
        let empty_memory = process::memory(self.server.pid()?)?;
        let empty_disk = process::disk(&directory)?;
        self.server.ask(&StoreStep::Load { objects, clients: LOADERS })?;
        self.server.kill()?;
        let disk = process::disk(&directory)? - empty_disk;
        remove(&self.kept_directory())?;
        fs::rename(directory, self.kept_directory())?;
        self.kept = Some(LoadedStore { objects, empty_memory, disk });
        Ok(())
    }

    fn restart(&mut self, kept: LoadedStore, commits: &StoreStep) -> anyhow::Result<Figures> {
        self.clear()?;
        copy(&self.kept_directory(), &self.directory())?;
        rustix::fs::sync();
        // Kill the process that has loaded all objects.
        let first = self.timed_start()?;
        self.server.kill()?;
        let seconds = self.timed_start()?;
        let (memory, anonymous) = process::memory(self.server.pid()?)?;
        let each = |bytes: f64| bytes / count(kept.objects);
        Ok(self
            .costed(commits)?
            .with("restart_s", seconds)
            .with("first_s", first)
            .with("memory", each(memory - kept.empty_memory.0))
            .with("anonymous", each(anonymous - kept.empty_memory.1))
            .with("disk", each(kept.disk)))
    }

    fn timed_start(&mut self) -> anyhow::Result<f64> {
        let started = Instant::now();
        self.server.start(&Start { directory: self.directory(), sync_ms: 0 })?;
        Ok(started.elapsed().as_secs_f64())
    }

    /// Kills the server, and waits until the disk has no pending writes, for the next measurement.
    fn end(&mut self) -> anyhow::Result<()> {
        self.server.kill()?;
        self.clear()?;
        rustix::fs::sync();
        Ok(())
    }

    fn clear(&self) -> anyhow::Result<()> {
        remove(&self.directory())
    }

    fn kept_directory(&self) -> PathBuf {
        self.scratch.path(&format!("{}-kept", self.server.name()))
    }

    fn directory(&self) -> PathBuf {
        self.scratch.path(self.server.name())
    }
}

fn remove(directory: &Path) -> anyhow::Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory).with_context(|| format!("cannot remove {}", directory.display()))?;
    }
    Ok(())
}

/// Copies a directory tree.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), &to).with_context(|| format!("cannot copy to {}", to.display()))?;
        }
    }
    Ok(())
}

/// Concurrent loaders. Loading is not measured, so it uses as many as make it fast.
const LOADERS: usize = 256;

impl<S: StoreServer> Subject<StoreShape> for StoreSubject<S> {
    fn name(&self) -> &'static str {
        self.server.name()
    }

    fn run(&mut self, kind: &StoreShape) -> anyhow::Result<Figures> {
        let measured = self.measure(kind);
        match (measured, self.end()) {
            (Ok(figures), Ok(())) => Ok(figures),
            (Err(error), _) => Err(error),
            (Ok(_), Err(error)) => bail!(error.context("it could not be ended")),
        }
    }
}
