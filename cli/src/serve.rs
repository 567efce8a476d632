//! `machinery serve`: opens the store, runs the server, and reloads or stops it on signals.

use std::convert::Infallible;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use machinery::apiserver::{Access, ApiServer, Audit, CertificateFiles, ClusterFacts, Encryption, Listen};
use machinery::store::{Backend as _, Disk, DiskOptions, Memory, Options, Transaction};
use serde_json::Value;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::directory::DataDirectory;
use crate::memory::{MemoryArgs, MemoryBudget};
use crate::progress::with_progress;
use crate::webhooks::WebhookTargets;
use crate::{core_dumps, crds, descriptors};

/// Signals within this time count as one.
const SIGNAL_COALESCING: Duration = Duration::from_millis(300);
/// Interval of the checks for changed certificates and tokens, and of the store's state.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
pub(crate) struct ServeArgs {
    /// Directory of the objects, certificates and tokens. Created if it does not exist
    #[arg(long, value_name = "D", default_value = "machinery-data")]
    data_dir: PathBuf,
    /// Keep objects in memory only: they are lost when the server stops
    #[arg(long, conflicts_with = "data_dir")]
    memory: bool,
    /// Address to listen on. Port 0 selects a free port
    #[arg(long, value_name = "A", default_value = "127.0.0.1:6443")]
    listen: SocketAddr,
    /// Additional name or address of the server, for its certificate. May be repeated
    #[arg(long, value_name = "H")]
    host: Vec<String>,
    /// Path of the kubeconfig, instead of the data directory
    #[arg(long, value_name = "F")]
    kubeconfig_out: Option<PathBuf>,
    /// File or directory of CustomResourceDefinitions to create at start. Existing definitions stay
    /// unchanged
    #[arg(long, value_name = "DIR")]
    crds: Option<PathBuf>,
    /// Server certificate with its intermediate certificates, instead of a generated one
    #[arg(long, value_name = "F", requires = "tls_key", conflicts_with = "insecure_http")]
    tls_cert: Option<PathBuf>,
    /// Private key of the server certificate
    #[arg(long, value_name = "F", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Certificate authority of client certificates, with --tls-cert
    #[arg(long, value_name = "F", requires = "tls_cert")]
    client_ca: Option<PathBuf>,
    /// Serve HTTP without TLS and without authentication: every client is admin. Web pages of other
    /// origins are refused
    #[arg(long)]
    insecure_http: bool,
    #[command(flatten)]
    memory_budget: MemoryArgs,
    #[command(flatten)]
    audit: crate::audit::AuditArgs,
    #[command(flatten)]
    webhooks: crate::webhooks::WebhookArgs,
    #[command(flatten)]
    encryption: crate::encryption::EncryptionArgs,
    #[cfg(feature = "otel")]
    #[command(flatten)]
    traces: crate::traces::TraceArgs,
}

pub(crate) async fn run(arguments: ServeArgs) -> anyhow::Result<()> {
    core_dumps::disable()?;
    descriptors::raise_limit();
    // All arguments are validated before the first file is created: a failed start changes nothing.
    let crds = arguments.crds.as_deref().map(crds::read).transpose()?.unwrap_or_default();
    if !crds.is_empty() {
        validate_crds(crds.clone()).await.with_context(|| {
            let path = arguments.crds.iter().map(|path| path.display().to_string()).collect::<String>();
            format!("fix the definition in {path}")
        })?;
    }
    let policy = arguments.audit.policy()?;
    let webhooks = arguments.webhooks.targets()?;
    let encryption = arguments.encryption.read()?;
    let mut signals = ShutdownSignals::install()?;
    let mut hangup = listen_for(SignalKind::hangup(), "SIGHUP")?;
    let directory = match arguments.memory {
        true => DataDirectory::temporary()?,
        false => DataDirectory::at(arguments.data_dir.clone()),
    };
    directory.check()?;
    let listen = listen(&arguments, &directory);
    listen.check()?;
    std::net::TcpListener::bind(listen.address).with_context(|| {
        format!(
            "cannot listen on {}; stop the process that listens there, or choose another address",
            listen.address
        )
    })?;
    let audit = policy.map(|policy| arguments.audit.open(policy)).transpose()?;
    #[cfg(feature = "otel")]
    let traces = arguments.traces.start()?;
    let (memory, budget) = (arguments.memory, arguments.memory_budget.budget());
    let options = ServerOptions { memory, budget, crds, listen, audit, encryption, webhooks };
    let up = tokio::select! {
        biased;
        () = signals.recv() => return Ok(()),
        up = RunningServer::start(&directory, options) => up?,
    };
    up.announce(&directory, memory);
    up.serve_until_signal(&mut signals, &mut hangup).await;
    let ended = up.stop(&mut signals).await?;
    #[cfg(feature = "otel")]
    if ended == Shutdown::Clean
        && let Some(why) = traces.finish().await
    {
        print_notes(&[why]);
    }
    if ended == Shutdown::Forced {
        drop(directory);
        std::process::exit(1);
    }
    Ok(())
}

fn listen(arguments: &ServeArgs, directory: &DataDirectory) -> Listen {
    let kubeconfig = arguments.kubeconfig_out.clone().unwrap_or_else(|| directory.kubeconfig());
    let certificate = arguments.tls_cert.clone().zip(arguments.tls_key.clone());
    Listen {
        hosts: arguments.host.clone(),
        kubeconfig: Some(kubeconfig),
        insecure: arguments.insecure_http,
        certificates: certificate.map(|(certificate, key)| CertificateFiles {
            certificate,
            key,
            client_ca: arguments.client_ca.clone(),
        }),
        ..Listen::at(arguments.listen, directory.pki())
    }
}

/// Validates definitions on a temporary server in memory, so that a refusal leaves nothing on disk.
async fn validate_crds(crds: Vec<Value>) -> anyhow::Result<()> {
    let server = ApiServer::builder(Memory::new(Options::default())).crds(crds).start().await?;
    server.stop().await;
    Ok(())
}

/// The parsed and validated arguments of a server.
struct ServerOptions {
    memory: bool,
    budget: MemoryBudget,
    crds: Vec<Value>,
    listen: Listen,
    audit: Option<Audit>,
    encryption: Option<Encryption>,
    webhooks: WebhookTargets,
}

/// A server that accepts requests.
struct RunningServer {
    server: ApiServer,
    disk: Option<Disk>,
    access: Access,
}

impl RunningServer {
    async fn start(directory: &DataDirectory, wanted: ServerOptions) -> anyhow::Result<Self> {
        let ServerOptions { memory, budget, crds, listen, audit, encryption, webhooks } = wanted;
        let (builder, disk) = if memory {
            (ApiServer::builder(Memory::new(budget.store())), None)
        } else {
            let (store, activity) = (directory.store(), format!("opening {}", directory.path().display()));
            let options = DiskOptions { store: budget.store(), ..DiskOptions::default() };
            let disk = with_progress(&activity, move || Disk::open(store, options)).await??;
            (ApiServer::builder(disk.clone()), Some(disk))
        };
        let builder = builder.limits(budget.limits());
        let builder = match audit {
            Some(audit) => builder.audit(audit),
            None => builder,
        };
        let builder = match encryption {
            Some(encryption) => builder.encryption(encryption),
            None => builder,
        };
        let server = webhooks.configure(builder).rbac().crds(crds).start().await?;
        let access = server.listen(listen).await?;
        let facts = ClusterFacts { root_ca: access.ca.clone(), port: Some(access.address.port()) };
        server.maintain(facts).await?;
        Ok(Self { server, disk, access })
    }

    /// Prints the URL and the kubeconfig's path. A closed standard output is no error.
    fn announce(&self, directory: &DataDirectory, memory: bool) {
        let Access { url, kubeconfig, notes, .. } = &self.access;
        print_notes(notes);
        let rewritten = self.server.resealed().rewritten;
        if rewritten > 0 {
            print_notes(&[format!(
                "objects rewritten as the encryption configuration requires: {rewritten}"
            )]);
        }
        let kept = match memory {
            true => "data in memory".to_owned(),
            false => format!("data in {}", directory.path().display()),
        };
        let kinds = self.server.kinds();
        let mut out = std::io::stdout().lock();
        let _ = writeln!(
            out,
            "serving {url}; {kinds} kinds; {kept}\n  export KUBECONFIG={}",
            kubeconfig.display()
        );
        let _ = out.flush();
    }

    /// Serves until a signal arrives. Reloads changed certificates and tokens.
    async fn serve_until_signal(&self, signals: &mut ShutdownSignals, hangup: &mut Signal) {
        let mut poll = interval(POLL_INTERVAL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut trouble: Option<Arc<str>> = None;
        loop {
            tokio::select! {
                biased;
                () = signals.recv() => return,
                _ = hangup.recv() => self.reload(),
                _ = poll.tick() => {
                    if self.access.is_outdated() {
                        self.reload();
                    }
                    let now = self.store_trouble().await;
                    match &now {
                        Some(why) if now != trouble => print_notes(&[format!("the store is degraded: {why}")]),
                        None if trouble.is_some() => print_notes(&["the store has recovered".to_owned()]),
                        _ => {}
                    }
                    trouble = now;
                }
            }
        }
    }

    /// The reason why the store is degraded. An empty transaction makes a full store retry, and any
    /// store check that its files are still in their place.
    async fn store_trouble(&self) -> Option<Arc<str>> {
        let disk = self.disk.as_ref()?;
        let _ = timeout(POLL_INTERVAL, disk.commit(Transaction::new())).await;
        disk.trouble()
    }

    fn reload(&self) {
        let reloaded = self.access.reload();
        print_notes(&reloaded.notes);
        for why in &reloaded.refused {
            print_notes(&[format!("not reloaded, the previous one stays in use: {why}")]);
        }
        if reloaded.refused.is_empty() {
            print_notes(&["certificates and tokens reloaded".to_owned()]);
        }
    }

    /// Stops after the requests in flight have finished, or at once at a second signal.
    async fn stop(self, signals: &mut ShutdownSignals) -> anyhow::Result<Shutdown> {
        print_notes(&[
            "stopping after the requests in flight; send the signal again to stop at once".to_owned()
        ]);
        let Self { server, disk, .. } = self;
        let end = async {
            server.stop().await;
            match disk {
                Some(disk) => disk.close().await,
                None => Ok(()),
            }
        };
        tokio::select! {
            biased;
            () = signals.recv_second() => {
                print_notes(&["stopped at once; acknowledged writes are safe".to_owned()]);
                Ok(Shutdown::Forced)
            }
            ended = end => {
                let why = "the store could not be closed cleanly";
                ended.map(|()| Shutdown::Clean).context(why)
            }
        }
    }
}

#[derive(PartialEq)]
enum Shutdown {
    Clean,
    Forced,
}

/// Prints lines to standard error. A closed one is no error.
fn print_notes(lines: &[String]) {
    for line in lines {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

/// The signals that stop the server: SIGTERM and SIGINT.
struct ShutdownSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl ShutdownSignals {
    fn install() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: listen_for(SignalKind::terminate(), "SIGTERM")?,
            interrupt: listen_for(SignalKind::interrupt(), "Ctrl-C")?,
        })
    }

    /// Waits for a second signal. Signals directly after the first count as the first: `timeout`
    /// signals the process and its group.
    async fn recv_second(&mut self) {
        let duplicates = async {
            loop {
                self.recv().await;
            }
        };
        let _: Result<Infallible, _> = timeout(SIGNAL_COALESCING, duplicates).await;
        self.recv().await;
    }

    /// Waits for a signal.
    async fn recv(&mut self) {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

fn listen_for(kind: SignalKind, name: &str) -> anyhow::Result<Signal> {
    signal(kind).with_context(|| format!("cannot install a handler for {name}"))
}
