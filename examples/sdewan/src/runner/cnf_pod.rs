//! The CNF of one pod, in this process.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use machinery::k8s_openapi::api::core::v1::{Pod, Secret};
use machinery::sync::Mutex;
use machinery::tokio::time::{Instant, sleep, sleep_until};
use machinery::tokio_util::sync::{CancellationToken, DropGuard};
use machinery::tokio_util::task::TaskTracker;

use super::addresses::PodAddresses;
use super::networks::pod_nics;
use super::pod_spec::{ReadinessProbe, networks, rest_port};
use super::pod_status::status_time;
use super::probe::{ProbeResults, probe_once};
use crate::cnf::{
    CnfAuthority, CnfLimits, CnfListener, CnfServer, CnfSettings, CnfTls, Connectivity, DeviceFacts,
    PasswordSource, pod_dns_name,
};
use crate::drive::MemoryDataPath;

/// A running CNF. It is killed when this is dropped.
pub(super) struct RunningCnf {
    /// The UID of the pod.
    pub(super) uid: String,
    /// The number of starts before this one.
    pub(super) restarts: i32,
    pub(super) ip: IpAddr,
    pub(super) since: Timestamp,
    pub(super) connectivity: Connectivity,
    pub(super) server: Arc<CnfServer>,
    is_ready: Arc<AtomicBool>,
    password: Arc<Mutex<String>>,
    _killed: DropGuard,
}

/// The reason why a CNF does not start: one of a kubelet's, and a message.
pub(super) struct NotStarted(pub(super) &'static str, pub(super) String);

/// The contents of the Secrets of a pod.
pub(super) struct PodSecrets {
    pub(super) password: String,
    issuer: CertificateSource,
}

enum CertificateSource {
    Authority(Box<CnfAuthority>),
    Issued { certificate: Vec<u8>, key: Vec<u8> },
}

impl PodSecrets {
    /// Reads the Secrets that the labels of a pod name: `password`; and `ca.crt` with `ca.key`, by
    /// which certificates are issued, or `tls.crt` with `tls.key`.
    pub(super) fn read(
        [account, authority]: [Option<&str>; 2],
        find: impl Fn(&str) -> Option<Arc<Secret>>,
    ) -> Result<Self, NotStarted> {
        let secret = |label: &str, name: Option<&str>| {
            let name = name.ok_or_else(|| waiting(format!("the pod has no label {label}")))?;
            find(name)
                .map(|found| (name.to_owned(), found))
                .ok_or_else(|| waiting(format!("secret {name:?} not found")))
        };
        let (name, account) = secret(crate::model::names::ACCOUNT_SECRET_LABEL, account)?;
        let password = value(&account, "password").ok_or_else(|| missing(&name, "password"))?;
        let password = String::from_utf8_lossy(&password).trim_end_matches(['\r', '\n']).to_owned();
        let (name, authority) = secret(crate::model::names::CERT_SECRET_LABEL, authority)?;
        let pair = |certificate, key| Some((value(&authority, certificate)?, value(&authority, key)?));
        let issuer = if let Some((certificate, key)) = pair("ca.crt", "ca.key") {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let authority = CnfAuthority::from_pem(&text(&certificate), &text(&key));
            CertificateSource::Authority(Box::new(authority.map_err(|error| {
                waiting(format!("the authority in secret {name:?} cannot be used: {error}"))
            })?))
        } else {
            let (certificate, key) = pair("tls.crt", "tls.key").ok_or_else(|| {
                missing(&name, "ca.key (to issue certificates for pods), or tls.crt and tls.key")
            })?;
            CertificateSource::Issued { certificate, key }
        };
        Ok(Self { password, issuer })
    }

    fn tls(&self, address: Ipv4Addr, namespace: &str) -> io::Result<CnfTls> {
        let tls = match &self.issuer {
            CertificateSource::Issued { certificate, key } => CnfTls::pem(certificate, key),
            CertificateSource::Authority(authority) => {
                let hosts = [pod_dns_name(address.into(), namespace), address.to_string()];
                let issued = authority.issue(&hosts).map_err(io::Error::other)?;
                CnfTls::pem(issued.certificate.as_bytes(), issued.key.as_bytes())
            }
        };
        tls.map_err(io::Error::other)
    }
}

fn waiting(message: String) -> NotStarted {
    NotStarted("ContainerCreating", message)
}

fn missing(name: &str, key: &str) -> NotStarted {
    NotStarted("CreateContainerConfigError", format!("secret {name:?} has no {key}"))
}

fn value(secret: &Secret, key: &str) -> Option<Vec<u8>> {
    secret.data.as_ref()?.get(key).map(|value| value.0.clone())
}

impl RunningCnf {
    /// Starts the CNF of a pod, empty and with a new address. Its tasks are those of `tasks`, and
    /// end with it or with `stopping`. `notify` is called when its readiness changes.
    pub(super) async fn start(
        pod: &Pod,
        restarts: i32,
        secrets: &PodSecrets,
        addresses: &PodAddresses,
        (tasks, stopping): (&TaskTracker, &CancellationToken),
        notify: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, NotStarted> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or("default");
        let port = rest_port(pod);
        let bound = addresses.bind(port, |address| secrets.tls(address, namespace)).await;
        let (ip, listener) = bound.map_err(|error| {
            let remedy = match error.kind() {
                io::ErrorKind::PermissionDenied => "; name a container port `rest` of 1024 or more",
                _ => "",
            };
            NotStarted("RunContainerError", format!("port {port} cannot be bound: {error}{remedy}"))
        })?;
        let nics = pod_nics(networks(pod), ip);
        let nics = nics.map_err(|error| NotStarted("CreateContainerConfigError", error.to_string()))?;
        let (source, password) = PasswordSource::shared(&secrets.password);
        let server = CnfServer::open(CnfSettings {
            password: source,
            facts: DeviceFacts { nics, ..DeviceFacts::default() },
            state: None,
            apply: Arc::new(MemoryDataPath::default()),
            limits: CnfLimits { drain: Duration::ZERO, ..CnfLimits::default() },
        });
        let server = server.map_err(|error| NotStarted("RunContainerError", error.to_string()))?;
        let server = Arc::new(server);
        let killed = stopping.child_token();
        let connectivity = listener.connectivity();
        let is_ready = Arc::new(AtomicBool::new(false));
        let probe = ReadinessProbe::of(pod);
        if let Some(other) = probe.as_ref().and_then(ReadinessProbe::port).filter(|other| *other != port) {
            let page = CnfListener::bind_for_probes(SocketAddr::new(ip, other), connectivity.clone()).await;
            let page = page.map_err(|error| {
                NotStarted("RunContainerError", format!("port {other} of the probe cannot be bound: {error}"))
            })?;
            tasks.spawn(page.run(server.clone(), killed.clone()));
        }
        tasks.spawn(listener.run(server.clone(), killed.clone()));
        let probed = (probe, ip, connectivity.clone());
        tasks.spawn(watch_readiness(probed, is_ready.clone(), notify, killed.clone()));
        Ok(Self {
            uid: pod.metadata.uid.clone().unwrap_or_default(),
            restarts,
            ip,
            since: status_time(),
            connectivity,
            server,
            is_ready,
            password,
            _killed: killed.drop_guard(),
        })
    }

    /// Returns whether the probe succeeds.
    pub(super) fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Acquire)
    }

    /// Sets the password of the account, as a mounted Secret that is replaced does.
    pub(super) fn set_password(&self, password: &str) {
        let mut current = self.password.lock();
        if *current != password {
            password.clone_into(&mut current);
        }
    }
}

/// Probes until the CNF is killed.
async fn watch_readiness(
    (probe, ip, connectivity): (Option<ReadinessProbe>, IpAddr, Connectivity),
    is_ready: Arc<AtomicBool>,
    notify: impl Fn() + Send + Sync,
    killed: CancellationToken,
) {
    let Some(probe) = probe else {
        is_ready.store(true, Ordering::Release);
        return notify();
    };
    let watch = async {
        sleep(probe.initial_delay).await;
        let mut results = ProbeResults::default();
        loop {
            let next = Instant::now() + probe.period;
            let succeeded = probe_once(&probe, ip, &connectivity).await;
            let now = results.add(succeeded, &probe);
            if is_ready.swap(now, Ordering::AcqRel) != now {
                notify();
            }
            sleep_until(next).await;
        }
    };
    killed.run_until_cancelled(watch).await;
}
