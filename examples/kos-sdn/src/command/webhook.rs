//! `kos webhook`: validation and stamping for clusters that are not served by `kos`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use machinery::ShutdownSignals;
use machinery::apiserver::{WebhookEndpoint, WebhookServer, WebhookTls};

use crate::model::webhook_hooks;

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
    /// The CA certificate of API servers: others are refused. Reloaded when the file changes
    #[arg(long, value_name = "F")]
    client_ca: Option<PathBuf>,
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
        print!("{}", webhook_hooks().manifests(&endpoint(&arguments)?)?);
        return Ok(ExitCode::SUCCESS);
    }
    let (Some(certificate), Some(key)) = (arguments.tls_cert, arguments.tls_key) else {
        return Err("--tls-cert and --tls-key name its certificate, and the key of that".into());
    };
    let tls = WebhookTls::files(certificate, key);
    let tls = arguments.client_ca.into_iter().fold(tls, WebhookTls::client_ca);
    let mut signals = ShutdownSignals::new()?;
    let hook = WebhookServer::bind(webhook_hooks(), arguments.listen, tls).await?;
    println!("serving https://{}/mutate and /validate; Ctrl-C ends it", hook.address());
    hook.run(signals.next()).await;
    Ok(ExitCode::SUCCESS)
}

fn endpoint(arguments: &WebhookArguments) -> machinery::Result<WebhookEndpoint> {
    let service = &arguments.service;
    let endpoint = match &arguments.url {
        Some(url) => WebhookEndpoint::url(url),
        None => WebhookEndpoint::service(service.namespace().unwrap_or("default"), service.name()),
    };
    Ok(match &arguments.ca {
        Some(ca) => endpoint.ca_bundle(std::fs::read_to_string(ca)?),
        None => endpoint,
    })
}
