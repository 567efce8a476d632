//! `kos drive`: load, by a plan.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use machinery::Plane;
use machinery::k8s_openapi::api::core::v1::Node;
use machinery::tokio_util::sync::CancellationToken;

use super::cluster::Cluster;
use super::report::print;
use crate::driver::{Directory, DriveSettings, Driven, Nodes, drive};
use crate::metrics::Metrics;
use crate::plan::{Chance, Load, Spread, rows};

/// Make and delete attachments in networks of many sizes, look at what becomes of them, and test them with frames. What it makes it
/// leaves in a namespace of its own: delete that
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: Cluster,
    /// What the run is called: its namespace, and the directory of its files. Default: by the time, and chance
    #[arg(long, value_name = "ID")]
    runid: Option<String>,
    /// Where the directory of the run is made
    #[arg(long, value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Where the blocks of subnets begin
    #[arg(long, value_name = "IP", default_value_t = Ipv4Addr::new(172, 24, 0, 0))]
    base_address: Ipv4Addr,
    /// How many networks
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    num_nets: u32,
    /// The size of the largest network, were there no bias
    #[arg(long, value_name = "N", default_value_t = 100.0)]
    top_net_size: f64,
    /// How steep the sizes fall
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    exponent: f64,
    /// How flat they begin
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    bias: f64,
    /// Say how large the load would be, and end
    #[arg(long)]
    estimate: bool,
    /// Put attachments on nodes in turn, instead of by chance
    #[arg(long)]
    round_robin: bool,
    /// One subnet for each network, instead of two
    #[arg(long)]
    single_subnet: bool,
    /// How many addresses a subnet has for each that is used
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    subnet_size_factor: f64,
    /// Of those that could be tested with frames, this share is. With 0 none is tested at all
    #[arg(long, value_name = "X", default_value_t = 0.1)]
    test_fraction: f64,
    /// So many seconds a test waits for a first one of its network that is being tested
    #[arg(long, value_name = "S", default_value_t = 60)]
    pending_wait: u64,
    /// How many frames a test sends, until one is answered
    #[arg(long, value_name = "N", default_value_t = 10)]
    ping_count: u16,
    /// Make no more when no frame of a test was answered
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    stop_on_ping_fail: bool,
    /// Make no more when an attachment says that something is wrong
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    stop_on_break: bool,
    /// Delete none, and look on for so many seconds when all were made
    #[arg(long, value_name = "S", default_value_t = 0)]
    wait_after_create: u64,
    /// Look on for no more than so many seconds when all were deleted
    #[arg(long, value_name = "S", default_value_t = 15)]
    wait_after_delete: u64,
    /// How many attachments are made in all
    #[arg(long, value_name = "N", default_value_t = 450)]
    num_attachments: usize,
    /// So many who make them, one after the other each
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// How many operations a second; 0: as fast as it goes
    #[arg(long, value_name = "X", default_value_t = 10.0)]
    rate: f64,
    /// How they are spread over time
    #[arg(long, value_enum, default_value_t = Distribution::Steady)]
    ops_distribution: Distribution,
    /// Write when each operation is due
    #[arg(long)]
    dump_ops_times: bool,
    /// The nodes, with commas between them. Without it: those of the cluster with the label
    #[arg(long, value_name = "NODES", value_delimiter = ',')]
    nodes: Vec<String>,
    /// This node alone
    #[arg(long, value_name = "NODE", conflicts_with = "nodes")]
    only_node: Option<String>,
    /// Which nodes of the cluster
    #[arg(long, value_name = "KEY=VALUE", default_value = "role.kos.example.com/workload=true")]
    node_label_selector: String,
    /// Where the row of numbers begins by which all is chosen. Default: by the time
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// What is tested: it is noted with the numbers
    #[arg(long, value_name = "COMMIT", default_value = "unknown")]
    git_commit: String,
    /// Show numbers for Prometheus on this address, as it goes
    #[arg(long, value_name = "A")]
    diagnostics: Option<SocketAddr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Distribution {
    Steady,
    Poisson,
}

pub(super) async fn run(arguments: Arguments) -> machinery::Result<ExitCode> {
    let now = jiff::Timestamp::now();
    let seed = arguments.seed.unwrap_or_else(|| u64::try_from(now.as_microsecond()).unwrap_or_default());
    let mark = Chance::new(seed).below(10_000);
    let id = arguments.runid.clone();
    let id = id.unwrap_or_else(|| format!("{}-{mark:04}", now.strftime("%m%d-%H%M")));
    let mut settings = settings(&arguments, &id, seed);
    settings.load.check()?;
    estimate(&settings.load);
    if arguments.estimate {
        return Ok(ExitCode::SUCCESS);
    }
    let directory = Directory::new(arguments.directory.join(&id))?;
    if arguments.dump_ops_times {
        let (due, operations) = settings.schedule();
        directory.times(&due, &operations)?;
    }
    let plane = arguments.cluster.plane().await?;
    let metrics = Metrics::default();
    settings.metrics = metrics.driver.clone();
    metrics.show(&plane);
    if let Some(address) = arguments.diagnostics {
        let address = plane.diagnostics(address).await?;
        eprintln!("how it goes is shown at http://{address}/metrics");
    }
    let driven = driven(&arguments, &mut settings, &plane, &directory).await;
    let page = plane.metrics();
    plane.stop().await;
    let driven = driven?;
    tell(&driven, &directory, &id);
    directory.metrics(&page)?;
    let is_well = driven.not_created + driven.broken + driven.shared + driven.tests[2] + driven.left == 0;
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn driven(
    arguments: &Arguments,
    settings: &mut DriveSettings,
    plane: &Plane,
    directory: &Directory,
) -> machinery::Result<Driven> {
    settings.nodes.names = nodes(arguments, plane).await?;
    let stopping = CancellationToken::new();
    let signalled = async {
        let _ = machinery::tokio::signal::ctrl_c().await;
        eprintln!("no more are made, and what was made is deleted; Ctrl-C again ends it at once");
        stopping.cancel();
        let _ = machinery::tokio::signal::ctrl_c().await;
    };
    machinery::tokio::select! {
        biased;
        driven = drive(plane, settings, directory, stopping.clone()) => driven,
        () = signalled => Err("it was ended: what it made is there still".into()),
    }
}

fn settings(arguments: &Arguments, id: &str, seed: u64) -> DriveSettings {
    let nodes = Nodes { names: Vec::new(), in_turn: arguments.round_robin };
    let mut settings = DriveSettings::new(id, nodes);
    settings.load = Load {
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
        Distribution::Steady => Spread::Steady,
        Distribution::Poisson => Spread::Poisson,
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

async fn nodes(arguments: &Arguments, plane: &Plane) -> machinery::Result<Vec<String>> {
    if let Some(node) = &arguments.only_node {
        return Ok(vec![node.clone()]);
    }
    if !arguments.nodes.is_empty() {
        return Ok(arguments.nodes.clone());
    }
    let labels = arguments.node_label_selector.parse()?;
    let filter = machinery::objects::Filter { labels, ..machinery::objects::Filter::default() };
    let hint = "--nodes says which nodes there are";
    let listed = plane.objects::<Node>()?.list(&filter).await;
    let listed = listed.map_err(|error| format!("the cluster tells of no nodes: {error}; {hint}"))?;
    let names: Vec<String> = listed.iter().filter_map(|node| node.metadata.name.clone()).collect();
    if names.is_empty() {
        return Err(format!("no node has the label {}; {hint}", arguments.node_label_selector).into());
    }
    Ok(names)
}

fn estimate(load: &Load) {
    let point = load.break_point().map_or_else(|| "none".to_owned(), |point| point.to_string());
    println!(
        "{} networks with {} attachments at a time; each has {:.2} in its network, on average; the first network of one: {point}",
        load.nets,
        load.slots(),
        load.average_peers()
    );
}

fn tell(driven: &Driven, directory: &Directory, id: &str) {
    let [half, full, failed] = driven.tests;
    println!(
        "{} made, {} not; {} deleted, {} left",
        driven.created, driven.not_created, driven.deleted, driven.left
    );
    println!(
        "{} operations were late; {half} tested alone, {full} with frames, {failed} not well",
        driven.late
    );
    println!(
        "{} said that something was wrong; {} addresses were had by two\n",
        driven.broken, driven.shared
    );
    print(&rows(&driven.records));
    let wrong = driven.records.iter().filter(|record| !record.wrong.is_empty()).take(10);
    for record in wrong {
        println!("{}: {}", record.attachment, record.wrong.join("; "));
    }
    println!(
        "\n`kos report {}` draws it; `kubectl delete namespace {id}` takes it away",
        directory.path().display()
    );
}
