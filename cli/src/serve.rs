//! `machinery serve`.

use std::convert::Infallible;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use machinery::apiserver::{Access, ApiServer, Audit, CertificateFiles, Encryption, Listen};
use machinery::store::{Backend as _, Disk, DiskOptions, Memory, Options, Transaction};
use serde_json::Value;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::directory::Directory;
use crate::progress::step;
use crate::webhooks::Known;
use crate::{cores, crds};

/// Signals that are no further apart are one.
const SAME_WISH: Duration = Duration::from_millis(300);
/// How often is looked whether certificates or tokens are others.
const LOOK: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Where the objects are kept, with the certificates and tokens. Made if it is not there
    #[arg(long, value_name = "D", default_value = "machinery-data")]
    data_dir: PathBuf,
    /// Keep objects in memory only: they are gone when it ends
    #[arg(long, conflicts_with = "data_dir")]
    memory: bool,
    /// The address to listen on. Port 0 is any that is free
    #[arg(long, value_name = "A", default_value = "127.0.0.1:6443")]
    listen: SocketAddr,
    /// Another name or address that clients reach it by. May be given several times
    #[arg(long, value_name = "H")]
    host: Vec<String>,
    /// Where to write the kubeconfig, instead of into the data directory
    #[arg(long, value_name = "F")]
    kubeconfig_out: Option<PathBuf>,
    /// A file of CustomResourceDefinitions, or a directory of such, that are there when it is up. One that is there already
    /// stays as it is
    #[arg(long, value_name = "DIR")]
    crds: Option<PathBuf>,
    /// The server's certificate, instead of one that it makes for itself; with those between it and an authority
    #[arg(long, value_name = "F", requires = "tls_key", conflicts_with = "insecure_http")]
    tls_cert: Option<PathBuf>,
    /// The key of that certificate
    #[arg(long, value_name = "F", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// What verifies the certificates of clients, if the server's is given
    #[arg(long, value_name = "F", requires = "tls_cert")]
    client_ca: Option<PathBuf>,
    /// HTTP without TLS, and without asking who it is: for whoever reaches the address
    #[arg(long)]
    insecure_http: bool,
    #[command(flatten)]
    audit: crate::audit::AuditLog,
    #[command(flatten)]
    webhooks: crate::webhooks::Webhooks,
    #[command(flatten)]
    at_rest: crate::encryption::AtRest,
    #[cfg(feature = "otel")]
    #[command(flatten)]
    traces: crate::traces::Collector,
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    cores::leave_none()?;
    // What is wrong with the arguments is found out before anything is made.
    let crds = arguments.crds.as_deref().map(crds::read).transpose()?.unwrap_or_default();
    if !crds.is_empty() {
        would_take(crds.clone()).await.with_context(|| {
            let path = arguments.crds.iter().map(|path| path.display().to_string()).collect::<String>();
            format!("mend the definition in {path}")
        })?;
    }
    let policy = arguments.audit.policy()?;
    let webhooks = arguments.webhooks.known()?;
    let encryption = arguments.at_rest.read()?;
    let mut signals = Signals::hear()?;
    let mut hangup = hear(SignalKind::hangup(), "SIGHUP")?;
    let directory = match arguments.memory {
        true => Directory::temporary()?,
        false => Directory::at(arguments.data_dir.clone()),
    };
    directory.check()?;
    let listen = listen(&arguments, &directory);
    listen.check()?;
    std::net::TcpListener::bind(listen.address).with_context(|| {
        format!("cannot listen on {}; end what listens there, or choose another address", listen.address)
    })?;
    let audit = policy.map(|policy| arguments.audit.open(policy)).transpose()?;
    #[cfg(feature = "otel")]
    let traces = arguments.traces.start()?;
    let memory = arguments.memory;
    let up = tokio::select! {
        biased;
        () = signals.ending() => return Ok(()),
        up = Up::start(&directory, Wanted { memory, crds, listen, audit, encryption, webhooks }) => up?,
    };
    up.tell(&directory, memory);
    up.go_on(&mut signals, &mut hangup).await;
    let ended = up.stop(&mut signals).await?;
    #[cfg(feature = "otel")]
    if ended == Ended::InGoodOrder
        && let Some(why) = traces.finish().await
    {
        say(&[why]);
    }
    if ended == Ended::AtOnce {
        drop(directory);
        std::process::exit(1);
    }
    Ok(())
}

fn listen(arguments: &Arguments, directory: &Directory) -> Listen {
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

/// Tries definitions on a server of no consequence: those that are refused leave nothing behind.
async fn would_take(crds: Vec<Value>) -> anyhow::Result<()> {
    let server = ApiServer::builder(Memory::new(Options::default())).crds(crds).start().await?;
    server.stop().await;
    Ok(())
}

/// What a server is started with.
struct Wanted {
    memory: bool,
    crds: Vec<Value>,
    listen: Listen,
    audit: Option<Audit>,
    encryption: Option<Encryption>,
    webhooks: Known,
}

/// A server that is up.
struct Up {
    server: ApiServer,
    disk: Option<Disk>,
    access: Access,
}

impl Up {
    async fn start(directory: &Directory, wanted: Wanted) -> anyhow::Result<Self> {
        let Wanted { memory, crds, listen, audit, encryption, webhooks } = wanted;
        let (builder, disk) = if memory {
            (ApiServer::builder(Memory::new(Options::default())), None)
        } else {
            let (store, what) = (directory.store(), format!("opening {}", directory.path().display()));
            let disk = step(&what, move || Disk::open(store, DiskOptions::default())).await??;
            (ApiServer::builder(disk.clone()), Some(disk))
        };
        let builder = match audit {
            Some(audit) => builder.audit(audit),
            None => builder,
        };
        let builder = match encryption {
            Some(encryption) => builder.encryption(encryption),
            None => builder,
        };
        let server = webhooks.told_to(builder).rbac().crds(crds).start().await?;
        let access = server.listen(listen).await?;
        Ok(Self { server, disk, access })
    }

    /// Says how it is reached. Whoever does not listen misses it.
    fn tell(&self, directory: &Directory, memory: bool) {
        let Access { url, kubeconfig, notes, .. } = &self.access;
        say(notes);
        let anew = self.server.resealed().rewritten;
        if anew > 0 {
            say(&[format!("objects written anew, as the encryption configuration wants them: {anew}")]);
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

    /// Serves until somebody wants it to end. Reads again what has changed meanwhile.
    async fn go_on(&self, signals: &mut Signals, hangup: &mut Signal) {
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut trouble: Option<Arc<str>> = None;
        loop {
            tokio::select! {
                biased;
                () = signals.ending() => return,
                _ = hangup.recv() => self.reload(),
                _ = look.tick() => {
                    if self.access.is_outdated() {
                        self.reload();
                    }
                    let now = self.trouble().await;
                    match &now {
                        Some(why) if now != trouble => say(&[format!("the store needs help: {why}")]),
                        None if trouble.is_some() => say(&["the store needs no help any more".to_owned()]),
                        _ => {}
                    }
                    trouble = now;
                }
            }
        }
    }

    /// What the store cannot do. One whose disk is full has another look, with a transaction that changes nothing.
    async fn trouble(&self) -> Option<Arc<str>> {
        let disk = self.disk.as_ref()?;
        disk.trouble()?;
        let _ = timeout(LOOK, disk.commit(Transaction::new())).await;
        disk.trouble()
    }

    fn reload(&self) {
        let reloaded = self.access.reload();
        say(&reloaded.notes);
        for why in &reloaded.refused {
            say(&[format!("not taken, and what was there before goes on: {why}")]);
        }
        if reloaded.refused.is_empty() {
            say(&["certificates and tokens are read again".to_owned()]);
        }
    }

    /// Ends in good order; at once, if somebody asks a second time.
    async fn stop(self, signals: &mut Signals) -> anyhow::Result<Ended> {
        say(&["stopping when what was begun is done; ask again to end at once".to_owned()]);
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
            () = signals.ending_again() => {
                say(&["ended at once; what was acknowledged is safe".to_owned()]);
                Ok(Ended::AtOnce)
            }
            ended = end => {
                let why = "the store could not be closed in good order; what was acknowledged is safe";
                ended.map(|()| Ended::InGoodOrder).context(why)
            }
        }
    }
}

#[derive(PartialEq)]
enum Ended {
    InGoodOrder,
    AtOnce,
}

/// Lines for people, whether anybody reads them or not.
fn say(lines: &[String]) {
    for line in lines {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

/// Somebody wants it to end.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn hear() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: hear(SignalKind::terminate(), "SIGTERM")?,
            interrupt: hear(SignalKind::interrupt(), "Ctrl-C")?,
        })
    }

    /// Until it should end at once. What comes on the heels of the first signal is the same wish, told twice: `timeout` signals
    /// a process and its group, and so may others.
    async fn ending_again(&mut self) {
        let heels = async {
            loop {
                self.ending().await;
            }
        };
        let _: Result<Infallible, _> = timeout(SAME_WISH, heels).await;
        self.ending().await;
    }

    /// Until it should end.
    async fn ending(&mut self) {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

fn hear(kind: SignalKind, name: &str) -> anyhow::Result<Signal> {
    signal(kind).with_context(|| format!("cannot hear of {name}"))
}
