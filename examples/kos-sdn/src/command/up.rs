//! `kos up`: a whole cluster in one process.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use futures::future::{Either, select};
use machinery::apiserver::{Access, Listen};
use machinery::report::{Progress, text_table};
use machinery::tokio::signal::unix::{SignalKind, signal};
use machinery::tokio::time::Instant;
use serde_json::json;

use super::cluster::home;
use super::cluster_text::{next_steps, pings_text, row};
use super::lab_cluster;
use crate::agent::ProgramSettings;
use crate::checker::InvariantChecker;
use crate::probe::Prober;
use crate::up::{ClusterFabric, LocalCluster, LocalClusterSettings, PingResult, pairs, ping_pairs};

/// Run server, controllers and agents in this process: of simulated nodes, or of a lab's hosts
#[derive(Debug, clap::Args)]
pub(super) struct UpArguments {
    /// The number of nodes: node-1, node-2, …
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(super) nodes: usize,
    /// The data path: switches in memory (sim), calls that are only logged (log), or Open vSwitch
    /// in a lab of network namespaces, which ends with this command (ovs, as root)
    #[arg(long, value_enum, default_value_t = UpFabric::Sim)]
    fabric: UpFabric,
    /// The directory of the lab, absent or empty. Of the fabric ovs
    #[arg(long, value_name = "D", default_value_os_t = home().join("lab"))]
    pub(super) lab_dir: PathBuf,
    /// Prefix of the lab's network namespaces. Of the fabric ovs
    #[arg(long, value_name = "NAME", default_value = "kos")]
    pub(super) lab_name: String,
    /// The address to listen on, for kubectl and the other commands. Port 0 chooses a free port
    #[arg(long, value_name = "A")]
    listen: Option<SocketAddr>,
    /// Keep the objects in this directory instead of in memory
    #[arg(long, value_name = "D")]
    data_dir: Option<PathBuf>,
    /// The file for the kubeconfig, instead of the default of the other commands
    #[arg(long, value_name = "F")]
    kubeconfig_out: Option<PathBuf>,
    /// Comma-separated paths of the programs that attachments may run
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    allowed_programs: Vec<String>,
    /// Serve metrics for Prometheus and the latest reconciliations on this address: /metrics,
    /// /readyz, /debug/machinery.json
    #[arg(long, value_name = "A")]
    diagnostics: Option<SocketAddr>,
    /// Create no sample subnets and attachments
    #[arg(long)]
    empty: bool,
    /// Exit after the checks: with 0 only if exactly the expected pings are answered
    #[arg(long)]
    once: bool,
    /// Check invariants until the end, and then exit with 0 only if none was violated. Takes memory
    /// for each change
    #[arg(long)]
    check: bool,
    /// Print attachments and pings as tables, or as one JSON document
    #[arg(long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum UpFabric {
    Sim,
    Ovs,
    Log,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Output {
    Table,
    Json,
}

/// Time in which the nodes converge at the end of `--check`.
const SETTLE_TIME: Duration = Duration::from_secs(10);
/// Minimum time limit of each phase.
const TIME_LIMIT: Duration = Duration::from_secs(60);

pub(super) async fn run(arguments: UpArguments) -> machinery::Result<ExitCode> {
    match arguments.fabric {
        UpFabric::Sim => run_on(&arguments, ClusterFabric::Sim).await,
        UpFabric::Log => run_on(&arguments, ClusterFabric::Log).await,
        UpFabric::Ovs => lab_cluster::run(&arguments).await,
    }
}

/// Runs a cluster on a fabric, until a signal or the end of the checks.
pub(super) async fn run_on(arguments: &UpArguments, fabric: ClusterFabric) -> machinery::Result<ExitCode> {
    let began = Instant::now();
    let mut programs = ProgramSettings::default();
    programs.allowed.extend(arguments.allowed_programs.iter().cloned());
    let data = arguments.data_dir.clone();
    let settings = LocalClusterSettings { nodes: arguments.nodes, fabric: fabric.clone(), data, programs };
    let up = LocalCluster::start(settings).await?;
    // The checker's memory grows with history.
    let checker = if arguments.once || arguments.check { Some(up.checker()?) } else { None };
    let shown = show(&up, arguments, &fabric, (began, checker.as_ref()));
    let is_well = match select(pin!(shown), pin!(ended())).await {
        Either::Left((Ok(is_well), _)) if arguments.once => Ok(is_well),
        Either::Left((Ok(_), ended)) => {
            ended.await?;
            Ok(true)
        }
        Either::Left((Err(error), _)) => Err(error),
        Either::Right((ended, _)) => ended.map(|()| true),
    };
    let violations = match checker {
        Some(checker) if arguments.check => checker.wait_converged(SETTLE_TIME).await,
        _ => Vec::new(),
    };
    up.plane().stop().await;
    let is_well = is_well?;
    if arguments.check && !arguments.once {
        violations.iter().for_each(|finding| println!("violation: {finding}"));
        println!("{} violations of invariants", violations.len());
    }
    Ok(if is_well && violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Waits for SIGINT or SIGTERM.
pub(super) async fn ended() -> machinery::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    select(pin!(terminate.recv()), pin!(interrupt.recv())).await;
    Ok(())
}

/// Creates the samples, pings between them, and prints the results. Returns true if all checks
/// pass.
async fn show(
    up: &LocalCluster,
    arguments: &UpArguments,
    fabric: &ClusterFabric,
    (began, checker): (Instant, Option<&InvariantChecker>),
) -> machinery::Result<bool> {
    let access = match arguments.once && arguments.listen.is_none() && arguments.kubeconfig_out.is_none() {
        true => None,
        false => Some(listen(up, arguments).await?),
    };
    if let Some(address) = arguments.diagnostics {
        let address = up.plane().diagnostics(address).await?;
        eprintln!("metrics: http://{address}/metrics");
    }
    if !arguments.empty {
        up.make_samples().await?;
    }
    let time_limit = TIME_LIMIT.max(Duration::from_secs(arguments.nodes as u64));
    let mut progress = Progress::of(0, "attachments with an interface");
    let all = up
        .all_ready(time_limit, |ready, all| {
            progress.set_total(all as u64);
            progress.at(ready as u64);
        })
        .await?;
    progress.message("pings");
    let pings = match fabric {
        ClusterFabric::Sim | ClusterFabric::Ovs(_) => {
            let prober = Prober::new(up.plane(), TIME_LIMIT)?;
            ping_pairs(&prober, &all, &pairs(&all), TIME_LIMIT).await
        }
        ClusterFabric::Log => Vec::new(),
    };
    drop(progress);
    let violations = match checker.filter(|_| arguments.once) {
        Some(checker) => checker.wait_converged(TIME_LIMIT).await,
        None => Vec::new(),
    };
    let is_well = pings.iter().all(PingResult::is_right) && violations.is_empty();
    match arguments.output {
        Output::Json => {
            println!(
                "{}",
                json!({
                    "nodes": arguments.nodes, "attachments": all.iter().map(row).collect::<Vec<_>>(), "pings": pings,
                    "url": access.as_ref().map(|access| &access.url),
                    "kubeconfig": access.as_ref().map(|access| &access.kubeconfig), "well": is_well,
                    "found": violations.iter().map(ToString::to_string).collect::<Vec<_>>(),
                })
            );
        }
        Output::Table => {
            println!(
                "server, controllers and {} agents are up in {:.1} s\n",
                arguments.nodes,
                began.elapsed().as_secs_f32()
            );
            print!(
                "{}",
                text_table(&["ATTACHMENT", "NODE", "VNI", "IP", "MAC", "INTERFACE"], all.iter().map(row))
            );
            print!("{}", pings_text(&pings, fabric));
            violations.iter().for_each(|finding| println!("violation: {finding}"));
            if arguments.once && violations.is_empty() {
                println!(
                    "invariants hold: no address was shared, and each node has exactly the desired interfaces"
                );
            }
            if let Some(access) = access {
                print!("{}", next_steps(&access, &all, fabric, arguments));
            }
        }
    }
    io::stdout().flush()?;
    Ok(is_well)
}

async fn listen(up: &LocalCluster, arguments: &UpArguments) -> machinery::Result<Access> {
    let server = up.plane().server().ok_or("the server is elsewhere")?;
    let kubeconfig = arguments.kubeconfig_out.clone().unwrap_or_else(|| home().join("kubeconfig"));
    let address = arguments.listen.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0)));
    let directory = arguments.data_dir.clone().unwrap_or_else(home).join("tls");
    let listen = Listen { kubeconfig: Some(kubeconfig), ..Listen::at(address, directory) };
    Ok(server.listen(listen).await?)
}
