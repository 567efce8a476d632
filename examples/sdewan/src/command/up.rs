//! `sdewan up`: everything in one process.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use futures::future::{Either, select};
use machinery::ShutdownSignals;
use machinery::apiserver::{Access, Listen};
use machinery::report::{Progress, text_table};
use machinery::tokio::time::Instant;
use serde_json::json;

use super::cluster::home;
use crate::agent::AgentSettings;
use crate::runner::RunnerSettings;
use crate::up::{LocalCluster, LocalClusterSettings, RuleRow, samples};

/// Run the API server, the agent, the runner and the CNFs of the samples in this process
#[derive(Debug, clap::Args)]
pub(super) struct UpArguments {
    /// The pods of the samples' CNF
    #[arg(long, value_name = "N", default_value_t = 2)]
    replicas: u32,
    /// The data path of the CNFs: held in memory (sim), or of this machine (real)
    #[arg(long, value_enum, default_value_t = DataPath::Sim)]
    datapath: DataPath,
    /// Create no samples
    #[arg(long)]
    empty: bool,
    /// Exit when the samples are in sync: with 0, or with 1 if they are not after two minutes
    #[arg(long)]
    once: bool,
    /// The address to listen on, for kubectl and the other commands. Port 0 chooses a free port
    #[arg(long, value_name = "A")]
    listen: Option<SocketAddr>,
    /// Keep the objects in this directory instead of in memory
    #[arg(long, value_name = "D")]
    data_dir: Option<PathBuf>,
    /// The file for the kubeconfig, instead of the default of the other commands
    #[arg(long, value_name = "F")]
    kubeconfig_out: Option<PathBuf>,
    /// The CNFs offer the original's REST API alone, without v2
    #[arg(long)]
    v1_only: bool,
    /// Print tables, or one JSON document when all is ready
    #[arg(long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum DataPath {
    Sim,
    Real,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Output {
    Table,
    Json,
}

/// Time limit of the start.
const TIME_LIMIT: Duration = Duration::from_secs(120);

pub(super) async fn run(arguments: UpArguments) -> machinery::Result<ExitCode> {
    if arguments.datapath == DataPath::Real {
        return Err("this build has no data path of the machine: use --datapath sim".into());
    }
    let began = Instant::now();
    let mut signals = ShutdownSignals::new()?;
    let runner = RunnerSettings { offers_v2: !arguments.v1_only, ..RunnerSettings::default() };
    let agent = AgentSettings { seed: super::seed()?, ..AgentSettings::default() };
    let settings = LocalClusterSettings { data: arguments.data_dir.clone(), agent, runner };
    let up = LocalCluster::start(settings).await?;
    let shown = show(&up, &arguments, began);
    let ran = match select(pin!(shown), pin!(signals.next())).await {
        Either::Left((Ok(()), _)) if arguments.once => Ok(()),
        Either::Left((Ok(()), signal)) => {
            signal.await;
            Ok(())
        }
        Either::Left((Err(error), _)) => Err(error),
        Either::Right(((), _)) => Ok(()),
    };
    up.plane().stop().await;
    ran.map(|()| ExitCode::SUCCESS)
}

/// Creates the samples, waits until they are in sync, and prints the tables.
async fn show(up: &LocalCluster, arguments: &UpArguments, began: Instant) -> machinery::Result {
    let access = listen(up, arguments).await?;
    let mut awaited = (0, 0);
    if !arguments.empty {
        up.make_samples(arguments.replicas).await?;
        let rules = samples(arguments.replicas)?;
        let rules = rules.iter().filter(|sample| sample["metadata"]["labels"]["sdewanPurpose"] == "cnf-1");
        // The Deployment has the label, too.
        awaited = (usize::try_from(arguments.replicas)?, rules.count().saturating_sub(1));
    }
    let mut progress = Progress::of(awaited.1 as u64, "rules in sync");
    up.settled(awaited, TIME_LIMIT, |in_sync, all| {
        progress.set_total(all as u64);
        progress.at(in_sync as u64);
    })
    .await?;
    drop(progress);
    match arguments.output {
        Output::Json => println!(
            "{}",
            json!({"server": access.url, "kubeconfig": access.kubeconfig, "pods": up.pod_rows()})
        ),
        Output::Table => print!("{}", text(up, &access, began)),
    }
    io::stdout().flush()?;
    Ok(())
}

fn text(up: &LocalCluster, access: &Access, began: Instant) -> String {
    let (pods, rules) = (up.pod_rows(), up.rule_rows());
    let mut text = format!(
        "server, agent, runner and {} CNF pods are up in {:.1} s\n\n",
        pods.len(),
        began.elapsed().as_secs_f32()
    );
    let header = ["POD", "PURPOSE", "REST API", "READY", "RESTARTS", "STATE"];
    text += &text_table(&header, pods.iter().map(|pod| pod.cells()));
    text += "\n";
    let states = by_state(&rules).into_iter().map(|((kind, state), count)| {
        [kind.to_owned(), if state.is_empty() { "-".to_owned() } else { state }, count.to_string()]
    });
    text += &text_table(&["KIND", "STATE", "OBJECTS"], states);
    let kubectl = format!("KUBECONFIG={} kubectl", access.kubeconfig.display());
    text += &format!("\nserving {}; in another terminal:\n  {kubectl} get sdewan -A\n", access.url);
    if let Some(pod) = pods.first() {
        let pod = format!("{kubectl} -n {} annotate pod {}", pod.namespace, pod.name);
        text += &format!("  {pod} sdewan/state=stopped     # kills a pod; sdewan/state- starts it empty\n");
        text += &format!("  {pod} sdewan/state=disconnected\n");
    }
    text + "Ctrl-C ends it\n"
}

fn by_state(rules: &[RuleRow]) -> BTreeMap<(&'static str, String), usize> {
    let mut counts = BTreeMap::new();
    for rule in rules {
        *counts.entry((rule.kind, rule.state.clone())).or_default() += 1;
    }
    counts
}

async fn listen(up: &LocalCluster, arguments: &UpArguments) -> machinery::Result<Access> {
    let server = up.plane().server().ok_or("the server is elsewhere")?;
    let kubeconfig = arguments.kubeconfig_out.clone().unwrap_or_else(|| home().join("kubeconfig"));
    let address = arguments.listen.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0)));
    let directory = arguments.data_dir.clone().unwrap_or_else(home).join("tls");
    Ok(server.listen(Listen { kubeconfig: Some(kubeconfig), ..Listen::at(address, directory) }).await?)
}
