//! The configuration of a listening server: address, certificates, tokens and kubeconfigs.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use thiserror::Error;

use super::listener::{self, Protection};
use super::origin::LocalNames;
use super::reload::{Reloaded, Reloads};
use crate::auth::Identity;
use crate::auth::private::{self, FileError};
use crate::auth::token_file::{self, TokenFile};
use crate::server::ApiServer;
use crate::tls::kubeconfig::kubeconfig;
use crate::tls::own::GeneratedCertificates;
use crate::tls::serving::{Serving, Source};

/// The configuration of a listening server.
#[derive(Clone, Debug)]
pub struct Listen {
    /// The address. Port 0 selects a free port.
    pub address: SocketAddr,
    /// Host names and addresses for clients, in addition to those of this machine.
    pub hosts: Vec<String>,
    /// The directory of certificates and tokens; created with mode 0700 if missing.
    pub directory: PathBuf,
    /// Externally managed certificates. `None`: the server issues its own, in `directory`.
    pub certificates: Option<CertificateFiles>,
    /// Path of the kubeconfig; by default in `directory`.
    pub kubeconfig: Option<PathBuf>,
    /// Further users, each with a generated token and the path of a kubeconfig. With RBAC enabled,
    /// it decides their permissions.
    pub others: Vec<(Identity, PathBuf)>,
    /// HTTP without TLS. Clients do not send the credentials of a kubeconfig to such a server, so
    /// every client has all permissions. Requests of web pages are refused: those with another
    /// `Host` than a loopback name, the local address or one of `hosts`, or of another `Origin`.
    pub insecure: bool,
}

/// Externally managed certificates, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The server certificate with its intermediates.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
    /// The CA of client certificates. `None`: client certificates are not accepted.
    pub client_ca: Option<PathBuf>,
}

/// The endpoint and credentials of a listening server.
#[derive(Clone)]
pub struct Access {
    /// The URL, such as `https://127.0.0.1:6443`.
    pub url: String,
    /// The local address.
    pub address: SocketAddr,
    /// Path of the kubeconfig.
    pub kubeconfig: PathBuf,
    /// The CA certificate for clients, in PEM.
    pub ca: Option<String>,
    /// The token of a user with all permissions.
    pub token: String,
    /// Messages about created or expiring certificates.
    pub notes: Vec<String>,
    reloads: Arc<Reloads>,
}

/// The reason why a server cannot listen.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The address is not available.
    #[error("cannot listen on {address}: {why}; end what listens there, or choose another address")]
    Address {
        /// The address.
        address: SocketAddr,
        /// The I/O error.
        why: std::io::Error,
    },
    /// A certificate, token or kubeconfig file is not usable.
    #[error("{0}")]
    File(String),
    /// The clock shows a time before 1970, which no HTTP date and no certificate can state.
    #[error("the clock shows {now}, which is before 1970; set it, and start again")]
    Clock {
        /// The time.
        now: Timestamp,
    },
}

impl Listen {
    /// Listens with certificates issued in `directory`.
    pub fn at(address: SocketAddr, directory: impl Into<PathBuf>) -> Self {
        Self {
            address,
            hosts: Vec::new(),
            directory: directory.into(),
            certificates: None,
            kubeconfig: None,
            others: Vec::new(),
            insecure: false,
        }
    }

    /// Checks that existing files are usable and the kubeconfig is writable. Creates and changes
    /// nothing.
    ///
    /// # Errors
    /// The file errors of [`ApiServer::listen`].
    pub fn check(&self) -> Result<(), ListenError> {
        let now = Timestamp::now();
        check_clock(now)?;
        if !self.insecure {
            self.source().check(now).map_err(file)?;
        }
        token_file::check(&self.tokens()).map_err(file)?;
        let others = self.others.iter().map(|(_, path)| path.clone());
        others.chain([self.kubeconfig()]).try_for_each(|path| private::check_writable(&path)).map_err(file)
    }

    fn source(&self) -> Source {
        match &self.certificates {
            None => Source::Own(GeneratedCertificates::new(&self.directory, self.hosts.clone())),
            Some(CertificateFiles { certificate, key, client_ca }) => Source::Files {
                certificate: certificate.clone(),
                key: key.clone(),
                client_ca: client_ca.clone(),
            },
        }
    }

    fn tokens(&self) -> PathBuf {
        self.directory.join("tokens.csv")
    }

    fn kubeconfig(&self) -> PathBuf {
        self.kubeconfig.clone().unwrap_or_else(|| self.directory.join("kubeconfig"))
    }

    /// The URL for clients. External certificates may not be valid for the local address, so it has
    /// the first host.
    fn url(&self, address: SocketAddr) -> String {
        let scheme = if self.insecure { "http" } else { "https" };
        match self.hosts.first() {
            Some(host) if self.certificates.is_some() => {
                let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
                format!("{scheme}://{host}:{}", address.port())
            }
            _ => format!("{scheme}://{}", reachable(address)),
        }
    }
}

/// Prints no token, since it is logged.
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, address, kubeconfig, .. } = self;
        let mut shown = f.debug_struct("Access");
        shown
            .field("url", url)
            .field("address", address)
            .field("kubeconfig", kubeconfig)
            .finish_non_exhaustive()
    }
}

impl Access {
    /// Reloads certificates and tokens, and renews own certificates that expire soon. A bad file is
    /// reported and its previous version stays in use. Connections stay open; requests with a
    /// removed token are rejected.
    pub fn reload(&self) -> Reloaded {
        self.reloads.reload()
    }

    /// Returns whether a certificate or token file has changed since the last
    /// [`reload`](Self::reload), or the daily check of own certificates is due.
    pub fn is_outdated(&self) -> bool {
        self.reloads.is_outdated()
    }
}

impl ApiServer {
    /// Listens until the server is stopped.
    ///
    /// # Errors
    /// The address is in use, a file is not usable, or the clock is wrong. Nothing listens then.
    pub async fn listen(&self, listen: Listen) -> Result<Access, ListenError> {
        let socket = listener::bind(listen.address).and_then(|socket| Ok((socket.local_addr()?, socket)));
        let (address, socket) =
            socket.map_err(|why| ListenError::Address { address: listen.address, why })?;
        let now = self.shared().environment.now();
        check_clock(now)?;
        private::make_directory(&listen.directory).map_err(file)?;
        let path = listen.tokens();
        let random = self.shared().environment.bytes();
        let token = token_file::ensure(&path, &Identity::admin(), random).map_err(file)?;
        let mut others = Vec::new();
        for (identity, kubeconfig) in &listen.others {
            let random = self.shared().environment.bytes();
            others.push((kubeconfig, token_file::ensure(&path, identity, random).map_err(file)?));
        }
        let tokens = TokenFile::open(&path).map_err(file)?;
        let (serving, mut notes) = if listen.insecure {
            (None, Vec::new())
        } else {
            let (serving, notes) = Serving::open(listen.source(), now).map_err(file)?;
            (Some(Arc::new(serving)), notes)
        };
        let ca = serving.as_ref().map(|serving| serving.ca()).transpose().map_err(file)?.flatten();
        let (url, kubeconfig) = (listen.url(address), listen.kubeconfig());
        others.push((&kubeconfig, token.clone()));
        for (path, token) in others {
            match write_kubeconfig(path, &url, ca.as_deref(), &token) {
                // Clients with the kubeconfig of an earlier start may read.
                Err(error) if error.full => notes.push(format!("not written, {error}")),
                done => done.map_err(file)?,
            }
        }
        let reloads = Arc::new(Reloads::new(self.shared().clone(), tokens, serving.clone()));
        let protection = match serving {
            Some(serving) => Protection::Tls(serving),
            None => Protection::Insecure(Arc::new(LocalNames::new(listen.hosts))),
        };
        self.spawn_task(listener::accept(self.shared().clone(), socket, protection));
        Ok(Access { url, address, kubeconfig, ca, token, notes, reloads })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err is given")]
fn file(error: FileError) -> ListenError {
    ListenError::File(error.to_string())
}

/// Refuses a time at which HTTP and TLS fail.
fn check_clock(now: Timestamp) -> Result<(), ListenError> {
    if now < Timestamp::UNIX_EPOCH { Err(ListenError::Clock { now }) } else { Ok(()) }
}

/// Replaces an unspecified address by that of the loopback interface.
fn reachable(address: SocketAddr) -> SocketAddr {
    let mut address = address;
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

fn write_kubeconfig(path: &Path, url: &str, ca: Option<&str>, token: &str) -> Result<(), FileError> {
    private::write(path, &kubeconfig(url, ca, token))
}
