//! `machinery serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use machinery::apiserver::{ApiServer, Builder, Listen};
use machinery::store::{Disk, DiskOptions, Memory, Options};
use tokio::signal::unix::{SignalKind, signal};

use crate::crds;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Where the objects are kept, with the certificates and tokens. Made if it is not there
    #[arg(long, value_name = "D", default_value = "machinery-data")]
    data_dir: PathBuf,
    /// Keep objects in memory only: they are gone when it ends
    #[arg(long, conflicts_with = "data_dir")]
    memory: bool,
    /// The address to listen on
    #[arg(long, value_name = "A", default_value = "127.0.0.1:6443")]
    listen: SocketAddr,
    /// Another name or address that clients reach it by. May be given several times
    #[arg(long, value_name = "H")]
    host: Vec<String>,
    /// Where to write the kubeconfig, instead of into the data directory
    #[arg(long, value_name = "F")]
    kubeconfig_out: Option<PathBuf>,
    /// A file of CustomResourceDefinitions, or a directory of such, that are there when it is up
    #[arg(long, value_name = "DIR")]
    crds: Option<PathBuf>,
    /// HTTP without TLS, and without asking who it is: for whoever reaches the address
    #[arg(long)]
    insecure_http: bool,
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let crds = arguments.crds.as_deref().map(crds::read).transpose()?.unwrap_or_default();
    // An address that is taken is found out before anything is made.
    std::net::TcpListener::bind(arguments.listen).with_context(|| {
        format!("cannot listen on {}; end what listens there, or choose another address", arguments.listen)
    })?;
    // Signals from here on end it in good order.
    let mut terminate = signal(SignalKind::terminate()).context("cannot hear of SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot hear of Ctrl-C")?;
    let temporary = if arguments.memory { Some(temporary()?) } else { None };
    let directory = temporary.clone().unwrap_or_else(|| arguments.data_dir.clone());
    let (builder, disk): (Builder, Option<Disk>) = if arguments.memory {
        (ApiServer::builder(Memory::new(Options::default())), None)
    } else {
        std::fs::create_dir_all(&directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
        let disk = Disk::open(directory.join("store"), DiskOptions::default())?;
        (ApiServer::builder(disk.clone()), Some(disk))
    };
    let server = builder.rbac().crds(crds).start().await?;
    let access = server
        .listen(Listen {
            address: arguments.listen,
            hosts: arguments.host,
            directory: directory.join("pki"),
            certificates: None,
            kubeconfig: Some(arguments.kubeconfig_out.unwrap_or_else(|| directory.join("kubeconfig"))),
            insecure: arguments.insecure_http,
        })
        .await?;
    for note in &access.notes {
        eprintln!("{note}");
    }
    let kept = if arguments.memory { "in memory".to_owned() } else { format!("in {}", directory.display()) };
    println!("serving {}; objects are kept {kept}", access.url);
    println!("  export KUBECONFIG={}", access.kubeconfig.display());
    tokio::select! {
        biased;
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    eprintln!("stopping");
    server.stop().await;
    if let Some(disk) = disk {
        disk.close()
            .await
            .context("the store could not be closed in good order; what was acknowledged is safe")?;
    }
    if let Some(temporary) = temporary {
        let _ = std::fs::remove_dir_all(temporary);
    }
    Ok(())
}

/// A directory of this process for certificates and tokens.
fn temporary() -> anyhow::Result<PathBuf> {
    let directory = std::env::temp_dir().join(format!("machinery-{}", std::process::id()));
    std::fs::create_dir(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
    Ok(directory)
}
