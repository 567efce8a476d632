//! `kos apiserver`: the API server, alone.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use machinery::apiserver::{Access, Identity, Listen};

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

pub(super) async fn run(arguments: ApiserverArguments) -> machinery::Result<ExitCode> {
    std::fs::create_dir_all(&arguments.kubeconfigs)
        .map_err(|error| format!("{} cannot be created: {error}", arguments.kubeconfigs.display()))?;
    let file = |name: &str| arguments.kubeconfigs.join(format!("{name}.kubeconfig"));
    let agents = arguments.nodes.iter().map(|node| (model::agent_identity(node), file(node)));
    let listen = Listen {
        hosts: arguments.host.clone(),
        kubeconfig: Some(arguments.kubeconfigs.join("kubeconfig")),
        ..Listen::at(arguments.listen, arguments.data_dir.join("tls"))
    };
    let store = match arguments.memory {
        true => machinery::embedded(),
        false => machinery::embedded().data(arguments.data_dir.join("store")),
    };
    let kinds = store.kind_of(model::subnets()).kind_of(model::network_attachments());
    let plane = kinds
        .kind_of(model::ip_locks())
        .kind_of(model::probes())
        .admission(model::AgentWrites)
        .serve(listen)
        .component(model::controllers(), [(Identity::new(model::CONTROLLERS), file("controllers"))])
        .component(model::agents(), agents)
        .on_notice(|notice| eprintln!("kos: {notice}"))
        .start()
        .await?;
    if let Some(access) = plane.access() {
        print_next_steps(&arguments, access);
    }
    plane.shutdown_on_signal().await?;
    Ok(ExitCode::SUCCESS)
}

fn print_next_steps(arguments: &ApiserverArguments, access: &Access) {
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
