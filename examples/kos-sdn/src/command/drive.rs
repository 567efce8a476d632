//! `kos drive`: the load generator.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use machinery::Plane;
use machinery::k8s_openapi::api::core::v1::Node;
use machinery::tokio_util::sync::CancellationToken;

use super::cluster::ClusterArguments;
use super::report::print;
use crate::load::{LoadOutcome, LoadSettings, NodeSelection, RunDirectory, run_load};
use crate::load::{LoadShape, Pacing, record_rows};
use crate::metrics::Metrics;
use crate::plan::SplitMix64;

/// Create and delete attachments in networks of many sizes, measure latencies, and test
/// connectivity with frames. The namespace of the run remains: delete it afterwards
#[derive(Debug, clap::Args)]
pub(super) struct DriveArguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// The name of the run, of its namespace and of its directory. Default: from the time and a
    /// random number
    #[arg(long, value_name = "ID")]
    runid: Option<String>,
    /// The parent of the run's directory
    #[arg(long, value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// The first address of the subnets' blocks
    #[arg(long, value_name = "IP", default_value_t = Ipv4Addr::new(172, 24, 0, 0))]
    base_address: Ipv4Addr,
    /// The number of networks
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    num_nets: u32,
    /// The size of the largest network at bias 0
    #[arg(long, value_name = "N", default_value_t = 100.0)]
    top_net_size: f64,
    /// The exponent: steepness of the network sizes
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    exponent: f64,
    /// The bias: flattens the largest sizes
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    bias: f64,
    /// Print the size of the load, and exit
    #[arg(long)]
    estimate: bool,
    /// Assign attachments to nodes round robin instead of randomly
    #[arg(long)]
    round_robin: bool,
    /// One subnet per network instead of two
    #[arg(long)]
    single_subnet: bool,
    /// Addresses of a subnet per attachment
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    subnet_size_factor: f64,
    /// The share of ready attachments tested with frames where a tested peer exists. 0 disables all
    /// tests
    #[arg(long, value_name = "X", default_value_t = 0.1)]
    test_fraction: f64,
    /// Seconds that a test waits for a pending first test of its subnet
    #[arg(long, value_name = "S", default_value_t = 60)]
    pending_wait: u64,
    /// The maximum number of frames of a test
    #[arg(long, value_name = "N", default_value_t = 10)]
    ping_count: u16,
    /// Stop creating when a test with frames fails
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    stop_on_ping_fail: bool,
    /// Stop creating when an attachment reports an error
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    stop_on_break: bool,
    /// Delete nothing, and observe for this many seconds after the last creation
    #[arg(long, value_name = "S", default_value_t = 0)]
    wait_after_create: u64,
    /// Observe for at most this many seconds after the last deletion
    #[arg(long, value_name = "S", default_value_t = 15)]
    wait_after_delete: u64,
    /// The number of attachments to create
    #[arg(long, value_name = "N", default_value_t = 450)]
    num_attachments: usize,
    /// The number of threads; each executes its operations in order
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// Operations per second; 0: no limit
    #[arg(long, value_name = "X", default_value_t = 10.0)]
    rate: f64,
    /// The distribution of the operations over time
    #[arg(long, value_enum, default_value_t = OperationsDistribution::Steady)]
    ops_distribution: OperationsDistribution,
    /// Write the due time of each operation to a file
    #[arg(long)]
    dump_ops_times: bool,
    /// Comma-separated nodes. Default: the nodes that --node-label-selector selects
    #[arg(long, value_name = "NODES", value_delimiter = ',')]
    nodes: Vec<String>,
    /// Use this node only
    #[arg(long, value_name = "NODE", conflicts_with = "nodes")]
    only_node: Option<String>,
    /// The label of the nodes to use
    #[arg(long, value_name = "KEY=VALUE", default_value = "role.kos.example.com/workload=true")]
    node_label_selector: String,
    /// The seed of all random choices. Default: from the time
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The commit under test, recorded in the metrics
    #[arg(long, value_name = "COMMIT", default_value = "unknown")]
    git_commit: String,
    /// Serve metrics for Prometheus on this address
    #[arg(long, value_name = "A")]
    diagnostics: Option<SocketAddr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum OperationsDistribution {
    Steady,
    Poisson,
}

pub(super) async fn run(arguments: DriveArguments) -> machinery::Result<ExitCode> {
    let now = jiff::Timestamp::now();
    let seed = arguments.seed.unwrap_or_else(|| u64::try_from(now.as_microsecond()).unwrap_or_default());
    let mark = SplitMix64::new(seed).below(10_000);
    let id = arguments.runid.clone();
    let id = id.unwrap_or_else(|| format!("{}-{mark:04}", now.strftime("%m%d-%H%M")));
    let mut settings = settings(&arguments, &id, seed);
    settings.load.check()?;
    estimate(&settings.load);
    if arguments.estimate {
        return Ok(ExitCode::SUCCESS);
    }
    let directory = RunDirectory::new(arguments.directory.join(&id))?;
    if arguments.dump_ops_times {
        let (due, operations) = settings.schedule();
        directory.times(&due, &operations)?;
    }
    let plane = arguments.cluster.plane().await?;
    let metrics = Metrics::default();
    settings.metrics = metrics.load.clone();
    plane.add_metrics(&metrics);
    if let Some(address) = arguments.diagnostics {
        let address = plane.diagnostics(address).await?;
        eprintln!("metrics: http://{address}/metrics");
    }
    let outcome = outcome(&arguments, &mut settings, &plane, &directory).await;
    let page = plane.metrics();
    plane.stop().await;
    let outcome = outcome?;
    print_outcome(&outcome, &directory, &id);
    directory.metrics(&page)?;
    let is_well =
        outcome.not_created + outcome.broken + outcome.shared + outcome.tests[2] + outcome.left == 0;
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn outcome(
    arguments: &DriveArguments,
    settings: &mut LoadSettings,
    plane: &Plane,
    directory: &RunDirectory,
) -> machinery::Result<LoadOutcome> {
    settings.nodes.names = nodes(arguments, plane).await?;
    let stopping = CancellationToken::new();
    let signalled = async {
        let _ = machinery::tokio::signal::ctrl_c().await;
        eprintln!("creating no more attachments, and deleting existing ones; Ctrl-C again stops at once");
        stopping.cancel();
        let _ = machinery::tokio::signal::ctrl_c().await;
    };
    machinery::tokio::select! {
        biased;
        outcome = run_load(plane, settings, directory, stopping.clone()) => outcome,
        () = signalled => Err("stopped: the objects of the run remain".into()),
    }
}

fn settings(arguments: &DriveArguments, id: &str, seed: u64) -> LoadSettings {
    let nodes = NodeSelection { names: Vec::new(), in_turn: arguments.round_robin };
    let mut settings = LoadSettings::new(id, nodes);
    settings.load = LoadShape {
        nets: arguments.num_nets,
        top: arguments.top_net_size,
        bias: arguments.bias,
        exponent: arguments.exponent,
        factor: arguments.subnet_size_factor,
        single_subnet: arguments.single_subnet,
    };
    settings.base = arguments.base_address;
    settings.attachments = arguments.num_attachments;
    settings.threads = arguments.threads;
    settings.rate = arguments.rate;
    settings.spread = match arguments.ops_distribution {
        OperationsDistribution::Steady => Pacing::Steady,
        OperationsDistribution::Poisson => Pacing::Poisson,
    };
    settings.test_fraction = arguments.test_fraction;
    settings.pending_wait = Duration::from_secs(arguments.pending_wait);
    settings.pings = arguments.ping_count;
    settings.stop_on_ping_fail = arguments.stop_on_ping_fail;
    settings.stop_on_break = arguments.stop_on_break;
    settings.wait_after_create = Duration::from_secs(arguments.wait_after_create);
    settings.wait_after_delete = Duration::from_secs(arguments.wait_after_delete);
    settings.seed = seed;
    settings.commit.clone_from(&arguments.git_commit);
    settings
}

async fn nodes(arguments: &DriveArguments, plane: &Plane) -> machinery::Result<Vec<String>> {
    if let Some(node) = &arguments.only_node {
        return Ok(vec![node.clone()]);
    }
    if !arguments.nodes.is_empty() {
        return Ok(arguments.nodes.clone());
    }
    let labels = arguments.node_label_selector.parse()?;
    let filter = machinery::objects::Filter { labels, ..machinery::objects::Filter::default() };
    let hint = "name the nodes by --nodes";
    let listed = plane.objects::<Node>()?.list(&filter).await;
    let listed =
        listed.map_err(|error| format!("the nodes of the cluster cannot be listed: {error}; {hint}"))?;
    let names: Vec<String> = listed.iter().filter_map(|node| node.metadata.name.clone()).collect();
    if names.is_empty() {
        return Err(format!("no node has the label {}; {hint}", arguments.node_label_selector).into());
    }
    Ok(names)
}

fn estimate(load: &LoadShape) {
    let point = load.break_point().map_or_else(|| "none".to_owned(), |point| point.to_string());
    println!(
        "{} networks with {} attachments at a time; each has {:.2} in its network, on average; the first network of one: {point}",
        load.nets,
        load.slots(),
        load.average_peers()
    );
}

fn print_outcome(outcome: &LoadOutcome, directory: &RunDirectory, id: &str) {
    let [half, full, failed] = outcome.tests;
    println!(
        "{} created, {} failed; {} deleted, {} left",
        outcome.created, outcome.not_created, outcome.deleted, outcome.left
    );
    println!(
        "{} operations were late; {half} tested without frames, {full} with frames, {failed} failed",
        outcome.late
    );
    println!("{} reported errors; {} addresses were shared\n", outcome.broken, outcome.shared);
    print(&record_rows(&outcome.records));
    let wrong = outcome.records.iter().filter(|record| !record.wrong.is_empty()).take(10);
    for record in wrong {
        println!("{}: {}", record.attachment, record.wrong.join("; "));
    }
    println!(
        "\n`kos report {}` plots it; `kubectl delete namespace {id}` deletes its objects",
        directory.path().display()
    );
}
