//! `kos webhook`: validation and stamping for clusters that are not served by `kos`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use machinery::tokio;
use machinery::tokio::signal::unix::{SignalKind, signal};
use machinery::tokio_util::sync::CancellationToken;
use serde_json::json;

use crate::model::webhook_manifests;
use crate::webhook::{TlsFiles, WebhookServer};

/// Serve an admission webhook that stamps section times and rejects invalid objects, for clusters
/// that are not served by `kos` itself
#[derive(Debug, clap::Args)]
pub(super) struct WebhookArguments {
    /// The address to listen on. Port 0 chooses a free port
    #[arg(long, value_name = "A", default_value = "0.0.0.0:9443")]
    listen: SocketAddr,
    /// The certificate chain in PEM; reloaded when the file changes
    #[arg(long, value_name = "F", required_unless_present = "manifests", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate
    #[arg(long, value_name = "F")]
    tls_key: Option<PathBuf>,
    /// Print the webhook configurations for the cluster, and exit
    #[arg(long)]
    manifests: bool,
    /// The webhook's service in the cluster, as NAMESPACE/NAME
    #[arg(long, value_name = "NS/NAME", default_value = "kos/kos-webhook", conflicts_with = "url")]
    service: machinery::objects::ObjectKey,
    /// The webhook's URL, if it has no service: https://HOST:PORT
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The CA certificate for clients of the webhook
    #[arg(long, value_name = "F")]
    ca: Option<PathBuf>,
}

pub(super) async fn run(arguments: WebhookArguments) -> machinery::Result<ExitCode> {
    if arguments.manifests {
        return print(&arguments);
    }
    let (Some(certificate), Some(key)) = (arguments.tls_cert, arguments.tls_key) else {
        return Err("--tls-cert and --tls-key name its certificate, and the key of that".into());
    };
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let hook = WebhookServer::bind(arguments.listen, TlsFiles { certificate, key }).await?;
    println!("serving https://{}/mutate and /validate; Ctrl-C ends it", hook.address()?);
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

fn print(arguments: &WebhookArguments) -> machinery::Result<ExitCode> {
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
