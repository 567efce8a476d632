//! Benchmarks of Machinery and its peers, side by side in one run. See `README.md`.

#![expect(clippy::disallowed_methods, reason = "this measures real time, on threads and tasks of its own")]

mod apiserver;
mod controller;
mod fanout;
mod go;
mod informer;
mod interleave;
mod kos;
mod lines;
mod measure;
mod memory;
mod process;
mod random;
mod report;
mod scratch;
mod server;
mod snapshot;
mod store;
mod watches;
mod workqueue;

use anyhow::ensure;
use clap::{Args, Parser, Subcommand, ValueEnum};
use interleave::Plan;
use report::{Origin, Report, Verdict};
use std::path::PathBuf;
use std::process::ExitCode;

/// Measures Machinery beside its peers, in one run, on this machine.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Subcommand)]
enum Suite {
    /// The work queue, beside client-go, controller-runtime and kube-runtime.
    Workqueue(Options),
    /// The map with snapshots, beside client-go's cache.
    Snapshot(Options),
    /// The store on a disk, beside etcd.
    Store(Options),
    /// The API server on a disk and TLS, beside Kubernetes' own API machinery.
    Apiserver(Options),
    /// One event among many watches, beside Kubernetes' own API machinery.
    Fanout(Options),
    /// Informers, in the process and over the wire, beside kube-runtime's and client-go's.
    Informer(Options),
    /// The whole loop of a controller, in the process and over the wire, beside kube-runtime's.
    Controller(Options),
    /// KOS at its full size: the cost of an attachment, and the time until all affected nodes know
    /// of it; or on real Open vSwitch.
    Kos(KosOptions),
    /// Draws the bench files of `--json`: an SVG beside each.
    Plot { files: Vec<PathBuf> },
    /// A process of the suite `kos`.
    #[command(hide = true)]
    KosControl,
    /// The other process of the suite `kos`.
    #[command(hide = true)]
    KosAgents,
    /// A process of the suite `kos` on Open vSwitch.
    #[command(hide = true, name = kos::LAB_GUARD)]
    KosLabGuard { directory: PathBuf },
    /// A process of the suite `controller`.
    #[command(hide = true)]
    ControllerSubject { library: controller::ControllerLibrary },
    /// A process of the suite `informer`.
    #[command(hide = true)]
    InformerSubject { library: informer::InformerLibrary },
    /// A process of the suite `store`.
    #[command(hide = true)]
    StoreHolder,
}

/// Options of every suite.
#[derive(Args, Clone)]
pub(crate) struct Options {
    /// Write the bench file here.
    #[arg(long, value_name = "F")]
    json: Option<PathBuf>,
    /// Write the table here as the suite's section of a Markdown file (`bench/RESULTS.md`).
    #[arg(long, value_name = "F")]
    markdown: Option<PathBuf>,
    /// One short round without the million-key shapes, as a smoke test; its figures are not
    /// reliable.
    #[arg(long)]
    quick: bool,
    /// Rounds; a figure is the median over them.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Only shapes with a row name that contains this. May be given several times.
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Suites of servers: measure this build of `machinery` as the peer `previous`, and no other
    /// peer.
    #[arg(long, value_name = "PROGRAM")]
    previous: Option<PathBuf>,
    /// Fail if a goal is missed.
    #[arg(long)]
    strict: bool,
}

/// Options of the suite `kos`.
#[derive(Args, Clone)]
struct KosOptions {
    /// The fabric of the agents: `log` measures the control plane, `ovs` real Open vSwitch (as
    /// root).
    #[arg(long, value_enum, default_value_t = KosFabric::Log)]
    fabric: KosFabric,
    #[command(flatten)]
    options: Options,
}

#[derive(Clone, Copy, ValueEnum)]
enum KosFabric {
    Log,
    Ovs,
}

fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    let origin = Origin::here();
    let (suite, options, run): (_, _, fn(&Options) -> anyhow::Result<interleave::SuiteResults>) =
        match &cli.suite {
            Suite::Workqueue(options) => ("workqueue", options, workqueue::run),
            Suite::Snapshot(options) => ("snapshot", options, snapshot::run),
            Suite::Store(options) => ("store", options, store::run),
            Suite::Apiserver(options) => ("apiserver", options, apiserver::run),
            Suite::Fanout(options) => ("fanout", options, fanout::run),
            Suite::Informer(options) => ("informer", options, informer::run),
            Suite::Controller(options) => ("controller", options, controller::run),
            Suite::Kos(KosOptions { fabric: KosFabric::Log, options }) => ("kos", options, kos::run),
            Suite::Kos(KosOptions { fabric: KosFabric::Ovs, options }) => ("kos-ovs", options, kos::run_ovs),
            Suite::Plot { files } => return report::plot_files(files).map(|()| ExitCode::SUCCESS),
            Suite::KosControl => return kos::serve_control().map(|()| ExitCode::SUCCESS),
            Suite::KosLabGuard { directory } => return kos::guard_lab(directory).map(|()| ExitCode::SUCCESS),
            Suite::KosAgents => return kos::serve_agents().map(|()| ExitCode::SUCCESS),
            Suite::ControllerSubject { library } => {
                return controller::serve(*library).map(|()| ExitCode::SUCCESS);
            }
            Suite::InformerSubject { library } => {
                return informer::serve(*library).map(|()| ExitCode::SUCCESS);
            }
            Suite::StoreHolder => return store::hold().map(|()| ExitCode::SUCCESS),
        };
    let found = run(options)?;
    let report = Report { origin, suite, rounds: options.rounds(), rows: found.rows };
    report::print(&report);
    if let Some(path) = &options.json {
        report.write_json(path)?;
    }
    if let Some(path) = &options.markdown {
        report::write_section(&report, path)?;
    }
    for failure in &found.failures {
        eprintln!("{failure}");
    }
    let met = |row: &report::Row| matches!(row.verdict(), None | Some(Verdict::Met | Verdict::NoPeer));
    let kept = !options.strict || report.rows.iter().all(met);
    Ok(if kept && found.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Options {
    pub(crate) fn rounds(&self) -> usize {
        if self.quick { 1 } else { self.rounds.into() }
    }

    /// Returns the plans with a selected row.
    pub(crate) fn selected<S>(&self, plans: fn(bool) -> Vec<Plan<S>>) -> anyhow::Result<Vec<Plan<S>>> {
        let mut plans = plans(self.quick);
        plans.retain(|plan| plan.rows.iter().any(|row| self.selects(&row.name)));
        ensure!(!plans.is_empty(), "no row is called like {:?}", self.only);
        Ok(plans)
    }

    fn selects(&self, row: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|text| row.contains(text.as_str()))
    }
}
