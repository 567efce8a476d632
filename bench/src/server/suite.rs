//! Suites of both servers: each is started for a shape, measured from outside, and killed.

use super::{Access, ServerProcess, remove, subjects};
use crate::Options;
use crate::interleave::{self, Plan, Subject, SuiteResults};
use crate::measure::Figures;
use crate::scratch::Scratch;
use std::path::PathBuf;
use std::rc::Rc;
use tokio::runtime::{Builder, Runtime};

/// The measurements of a suite.
pub(crate) trait Measure<S>: From<ServerSite> + 'static {
    fn site(&mut self) -> &mut ServerSite;
    /// Starts a server and measures it; the caller kills it.
    fn measure(&mut self, shape: &S) -> anyhow::Result<Figures>;
}

/// A server with its files and its clients' thread.
pub(crate) struct ServerSite {
    pub(crate) server: ServerProcess,
    scratch: Rc<Scratch>,
    /// All clients run on one thread, which is cheapest and leaves the other core to the server.
    pub(crate) runtime: Runtime,
}

impl ServerSite {
    /// Starts the server on an empty directory.
    pub(crate) fn begin(&mut self) -> anyhow::Result<Access> {
        self.server.begin(&self.directory(), &self.runtime)
    }

    /// Returns the directory of files kept over the rounds.
    pub(crate) fn kept_directory(&self) -> PathBuf {
        self.scratch.path(&format!("{}-kept", self.server.name()))
    }

    /// Returns the directory of the server that is started for a shape.
    pub(crate) fn directory(&self) -> PathBuf {
        self.scratch.path(self.server.name())
    }
}

/// Measures the selected shapes.
pub(crate) fn run<M: Measure<S>, S>(
    options: &Options,
    plans: fn(bool) -> Vec<Plan<S>>,
) -> anyhow::Result<SuiteResults> {
    let plans = options.selected(plans)?;
    let (mut subjects, missing) = subjects(options.previous.as_deref(), |server, scratch| {
        let name = server.name();
        let site = ServerSite { server, scratch, runtime: runtime()? };
        Ok(Box::new(ServerSubject { name, by: M::from(site) }) as Box<_>)
    })?;
    Ok(interleave::run(&plans, &mut subjects, &missing, options.rounds()))
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

struct ServerSubject<M> {
    name: &'static str,
    by: M,
}

impl<S, M: Measure<S>> Subject<S> for ServerSubject<M> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&mut self, shape: &S) -> anyhow::Result<Figures> {
        let measured = self.by.measure(shape);
        let site = self.by.site();
        // Close all client connections: otherwise ten thousand sockets would stay until the next
        // round.
        site.runtime = runtime()?;
        site.server.kill()?;
        remove(&site.directory())?;
        measured
    }
}
