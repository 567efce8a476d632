//! `sdewan apiserver`: the API server, alone.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use machinery::apiserver::{Access, Identity, Listen};
use machinery::k8s_openapi::api::core::v1::Namespace;
use machinery::objects::WriteError;

use super::cluster::home;
use crate::model::definitions;
use crate::roles::{agent, components, runner, system_namespace, webhook};

/// Run the API server with TLS, for components in other processes. Each has its own kubeconfig and
/// role
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
    /// The directory of the kubeconfigs: `kubeconfig` for users, and `agent.kubeconfig`,
    /// `webhook.kubeconfig` and `runner.kubeconfig`
    #[arg(long, value_name = "DIR", default_value_os_t = home())]
    kubeconfigs: PathBuf,
}

pub(super) async fn run(arguments: ApiserverArguments) -> machinery::Result<ExitCode> {
    std::fs::create_dir_all(&arguments.kubeconfigs)
        .map_err(|error| format!("{} cannot be created: {error}", arguments.kubeconfigs.display()))?;
    let listen = Listen {
        hosts: arguments.host.clone(),
        kubeconfig: Some(arguments.kubeconfigs.join("kubeconfig")),
        ..Listen::at(arguments.listen, arguments.data_dir.join("tls"))
    };
    let store = match arguments.memory {
        true => machinery::embedded(),
        false => machinery::embedded().data(arguments.data_dir.join("store")),
    };
    let builder = store
        .server(|server| server.crds(definitions()))
        .serve(listen)
        .on_notice(|notice| eprintln!("sdewan: {notice}"));
    let client = |component: &machinery::Component| {
        let name = component.name().trim_start_matches("sdewan-");
        let file = arguments.kubeconfigs.join(format!("{name}.kubeconfig"));
        [(Identity::new(component.name()), file)]
    };
    let [agents, webhooks, runners] = [agent(), webhook(), runner()].map(|component| client(&component));
    let [agent, webhook, runner] = components();
    let plane = builder
        .component(agent, agents)
        .component(webhook, webhooks)
        .component(runner, runners)
        .start()
        .await?;
    match plane.writer::<Namespace>()?.create(&system_namespace(), None).await {
        Ok(_) | Err(WriteError::AlreadyExists { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    if let Some(access) = plane.access() {
        print_next_steps(&arguments, access);
    }
    plane.shutdown_on_signal().await?;
    Ok(ExitCode::SUCCESS)
}

fn print_next_steps(arguments: &ApiserverArguments, access: &Access) {
    let directory = arguments.kubeconfigs.display();
    println!("serving {}; in other terminals:", access.url);
    println!("  sdewan agent --kubeconfig {directory}/agent.kubeconfig");
    println!("  sdewan runner --kubeconfig {directory}/runner.kubeconfig");
    println!("  sdewan samples | KUBECONFIG={directory}/kubeconfig kubectl apply -f -");
    println!("  KUBECONFIG={directory}/kubeconfig kubectl get sdewan -A\nCtrl-C ends it");
}
