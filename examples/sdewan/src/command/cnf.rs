//! `sdewan cnf`: a CNF, alone.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use machinery::ShutdownSignals;
use machinery::tokio_util::sync::CancellationToken;

use crate::cnf::{CnfLimits, CnfListener, CnfServer, CnfSettings, CnfTls, DeviceFacts, PasswordSource};
use crate::drive::MemoryDataPath;

/// Serve the REST API of a CNF
#[derive(Debug, clap::Args)]
pub(super) struct CnfArguments {
    /// The address to listen on. Port 0 chooses a free port
    #[arg(long, value_name = "A", default_value = "0.0.0.0:443")]
    listen: SocketAddr,
    /// The file with the password of root; read at each login
    #[arg(long, value_name = "F")]
    password_file: PathBuf,
    /// The certificate chain in PEM: for a-b-c-d.NAMESPACE.pod.cluster.local, or the address
    #[arg(long, value_name = "F")]
    cert: PathBuf,
    /// The private key of the certificate, in PEM
    #[arg(long, value_name = "F")]
    key: PathBuf,
    /// Keep the configuration in this directory; without it, the CNF forgets it at its end
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Comma-separated names of the NICs
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    nics: Vec<String>,
    /// A JSON file with the facts of the device: NICs with addresses, and entries of the status
    #[arg(long, value_name = "F", conflicts_with = "nics")]
    facts: Option<PathBuf>,
    /// Offer the original's REST API alone, without v2
    #[arg(long)]
    v1_only: bool,
}

pub(super) async fn run(arguments: CnfArguments) -> machinery::Result<ExitCode> {
    let mut signals = ShutdownSignals::new()?;
    let tls = CnfTls::files(&arguments.cert, &arguments.key)?;
    std::fs::read_to_string(&arguments.password_file).map_err(|error| {
        format!(
            "{}: {error}; --password-file names a file with the password",
            arguments.password_file.display()
        )
    })?;
    let facts = match &arguments.facts {
        None => DeviceFacts::of_nics(arguments.nics),
        Some(path) => {
            let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
            let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
            serde_json::from_str(&text).map_err(|error| wrong(&error))?
        }
    };
    let server = CnfServer::open(CnfSettings {
        password: PasswordSource::File(arguments.password_file),
        facts,
        state: arguments.state,
        apply: Arc::new(MemoryDataPath::default()),
        limits: CnfLimits::default(),
    })?;
    server.offer_v2(!arguments.v1_only);
    server.apply_kept().await?;
    let listener = CnfListener::bind(arguments.listen, tls).await.map_err(|error| {
        format!("{} cannot be bound: {error}; --listen names a free address", arguments.listen)
    })?;
    println!("serving https://{}{}/; Ctrl-C ends it", listener.address(), crate::cnf::BASE_PATH);
    let stopping = CancellationToken::new();
    let serving = listener.run(Arc::new(server), stopping.clone());
    let mut serving = std::pin::pin!(serving);
    machinery::tokio::select! {
        biased;
        () = signals.next() => {}
        () = serving.as_mut() => return Ok(ExitCode::FAILURE),
    }
    stopping.cancel();
    serving.await;
    Ok(ExitCode::SUCCESS)
}
