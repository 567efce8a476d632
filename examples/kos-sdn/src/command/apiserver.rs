//! `kos apiserver`: the API server, alone.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use machinery::apiserver::{Access, ApiServer, Identity, Listen};
use machinery::objects::{Kind, Preconditions, Scope, WriteError, Writer as _};
use machinery::store::{Disk, DiskOptions, Memory, Options};
use machinery::tokio::signal::unix::{SignalKind, signal};
use machinery::tokio::task::spawn_blocking;
use machinery::tokio::time::sleep;
use serde_json::Value;

use super::cluster::home;
use crate::model;

/// Run the API server with TLS, for components in other processes. Each component has its own
/// kubeconfig and role
#[derive(Debug, clap::Args)]
pub(super) struct ApiserverArguments {
    /// The address to listen on. Port 0 chooses a free port
    #[arg(long, value_name = "A", default_value = "127.0.0.1:6443")]
    listen: SocketAddr,
    /// A further host name or address that components connect to. May be repeated
    #[arg(long, value_name = "H")]
    host: Vec<String>,
    /// The directory of the objects, certificates and tokens
    #[arg(long, value_name = "D", default_value_os_t = home().join("apiserver"))]
    data_dir: PathBuf,
    /// Keep objects in memory only: they are lost when the server stops
    #[arg(long)]
    memory: bool,
    /// Comma-separated nodes; each gets a kubeconfig for its agent
    #[arg(long, value_name = "NODES", value_delimiter = ',')]
    nodes: Vec<String>,
    /// The directory of the kubeconfigs: `kubeconfig` for users, `controllers.kubeconfig`, and
    /// `NODE.kubeconfig` for each node
    #[arg(long, value_name = "DIR", default_value_os_t = home())]
    kubeconfigs: PathBuf,
}

/// Interval of checks for changed certificates and tokens.
const RELOAD_INTERVAL: Duration = Duration::from_secs(5);

pub(super) async fn run(arguments: ApiserverArguments) -> machinery::Result<ExitCode> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    std::fs::create_dir_all(&arguments.kubeconfigs)
        .map_err(|error| format!("{} cannot be created: {error}", arguments.kubeconfigs.display()))?;
    let listen = listen(&arguments);
    listen.check()?;
    let (store, disk) = match arguments.memory {
        true => (ApiServer::builder(Memory::new(Options::default())), None),
        false => {
            let store = arguments.data_dir.join("store");
            let disk = spawn_blocking(move || Disk::open(store, DiskOptions::default())).await??;
            (ApiServer::builder(disk.clone()), Some(disk))
        }
    };
    let kinds = store.kind(model::subnets()).kind(model::network_attachments());
    let server = kinds
        .kind(model::ip_locks())
        .kind(model::probes())
        .admission(model::AgentWrites)
        .rbac()
        .start()
        .await?;
    for role in model::roles() {
        put_role(&server, &role).await?;
    }
    let access = server.listen(listen).await?;
    print_next_steps(&arguments, &access);
    loop {
        machinery::tokio::select! {
            biased;
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            () = sleep(RELOAD_INTERVAL) => {
                if access.is_outdated() {
                    access.reload().refused.iter().for_each(|why| eprintln!("kos: {why}"));
                }
                if let Some(trouble) = disk.as_ref().and_then(Disk::trouble) {
                    eprintln!("kos: the store needs attention: {trouble}");
                }
            }
        }
    }
    // The server first: its last commits still write to the store.
    server.stop().await;
    if let Some(disk) = disk {
        disk.close().await?;
    }
    Ok(ExitCode::SUCCESS)
}

fn listen(arguments: &ApiserverArguments) -> Listen {
    let file = |name: &str| arguments.kubeconfigs.join(format!("{name}.kubeconfig"));
    let agents = arguments.nodes.iter().map(|node| (model::agent_identity(node), file(node)));
    let controllers = (Identity::new(model::CONTROLLERS), file("controllers"));
    Listen {
        hosts: arguments.host.clone(),
        kubeconfig: Some(arguments.kubeconfigs.join("kubeconfig")),
        others: agents.chain([controllers]).collect(),
        ..Listen::at(arguments.listen, arguments.data_dir.join("tls"))
    }
}

/// Creates or updates a role.
async fn put_role(server: &ApiServer, role: &Value) -> machinery::Result {
    let kind = match role["kind"].as_str() {
        Some("ClusterRole") => ("ClusterRole", "clusterroles"),
        _ => ("ClusterRoleBinding", "clusterrolebindings"),
    };
    let kind = Kind::new("rbac.authorization.k8s.io/v1", kind.0, kind.1, Scope::Cluster)?;
    let handle = server.handle_of::<Value>(kind, Identity::admin());
    match handle.create(role, None).await {
        Ok(_) => Ok(()),
        Err(WriteError::AlreadyExists { .. }) => {
            handle.update(role, &Preconditions::default()).await?;
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

fn print_next_steps(arguments: &ApiserverArguments, access: &Access) {
    access.notes.iter().for_each(|note| eprintln!("kos: {note}"));
    let directory = arguments.kubeconfigs.display();
    println!("serving {}; in other terminals:", access.url);
    println!("  kos controllers --kubeconfig {directory}/controllers.kubeconfig");
    for (number, node) in (2..).zip(&arguments.nodes) {
        println!(
            "  kos agent --kubeconfig {directory}/{node}.kubeconfig --node {node} --host-ip 127.0.0.{number}"
        );
    }
    println!("  KUBECONFIG={directory}/kubeconfig kubectl get subnets,networkattachments\nCtrl-C ends it");
}
