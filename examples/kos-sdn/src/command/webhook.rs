//! `kos webhook`: what our server does of its own, beside another.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use machinery::tokio;
use machinery::tokio::signal::unix::{SignalKind, signal};
use machinery::tokio_util::sync::CancellationToken;
use serde_json::json;

use crate::hook::{Hook, TlsFiles};
use crate::model::webhook_manifests;

/// Note section times and refuse what is wrong on a cluster that is not served by `kos` itself: a webhook for admission
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The address to listen on. Port 0 is any that is free
    #[arg(long, value_name = "A", default_value = "0.0.0.0:9443")]
    listen: SocketAddr,
    /// Its certificate, with those between it and an authority. Read again when it is another
    #[arg(long, value_name = "F", required_unless_present = "manifests", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of that certificate
    #[arg(long, value_name = "F")]
    tls_key: Option<PathBuf>,
    /// Print what has a cluster ask the webhook, and end
    #[arg(long)]
    manifests: bool,
    /// Where the cluster reaches it: a service of the cluster, as NAMESPACE/NAME
    #[arg(long, value_name = "NS/NAME", default_value = "kos/kos-webhook", conflicts_with = "url")]
    service: machinery::objects::ObjectKey,
    /// Where the cluster reaches it, if not through a service: https://HOST:PORT
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// What the cluster verifies it by
    #[arg(long, value_name = "F")]
    ca: Option<PathBuf>,
}

pub(super) async fn run(arguments: Arguments) -> machinery::Result<ExitCode> {
    if arguments.manifests {
        return print(&arguments);
    }
    let (Some(certificate), Some(key)) = (arguments.tls_cert, arguments.tls_key) else {
        return Err("--tls-cert and --tls-key name its certificate, and the key of that".into());
    };
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let hook = Hook::bind(arguments.listen, TlsFiles { certificate, key }).await?;
    println!("reviews are answered at https://{}/mutate and /validate; Ctrl-C ends it", hook.address()?);
    let stopping = CancellationToken::new();
    let serving = hook.run(stopping.clone());
    let signalled = async {
        tokio::select! {
            biased;
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        stopping.cancel();
    };
    futures::future::join(serving, signalled).await;
    Ok(ExitCode::SUCCESS)
}

fn print(arguments: &Arguments) -> machinery::Result<ExitCode> {
    let mut client = match &arguments.url {
        Some(url) => json!({"url": url}),
        None => {
            let service = &arguments.service;
            json!({"service": {"namespace": service.namespace(), "name": service.name()}})
        }
    };
    if let Some(ca) = &arguments.ca {
        client["caBundle"] = STANDARD.encode(std::fs::read(ca)?).into();
    }
    print!("{}", webhook_manifests(&client)?);
    Ok(ExitCode::SUCCESS)
}
