//! What a server on a socket is started with: an address, certificates, a token, and a kubeconfig that has them.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use thiserror::Error;
use tokio::net::TcpListener;

use super::connection;
use super::reload::{Reloaded, Reloads};
use crate::auth::Identity;
use crate::auth::private::{self, FileError};
use crate::auth::token_file::{self, TokenFile};
use crate::server::ApiServer;
use crate::tls::kubeconfig::kubeconfig;
use crate::tls::own::Own;
use crate::tls::serving::{Serving, Source};

/// Where a server listens, and where it keeps what clients know it by.
#[derive(Clone, Debug)]
pub struct Listen {
    /// The address. Port 0 is any that is free.
    pub address: SocketAddr,
    /// Names and addresses under which clients reach it, besides those of this machine.
    pub hosts: Vec<String>,
    /// The directory of its certificates and tokens: made if it is not there, for its owner only.
    pub directory: PathBuf,
    /// Certificates that somebody else makes and replaces. None: the server makes its own, in that directory.
    pub certificates: Option<CertificateFiles>,
    /// Where the kubeconfig is written. None: in that directory.
    pub kubeconfig: Option<PathBuf>,
    /// Others who may come, each with a token of its own, and where the kubeconfig is written that each comes with. What they may do, roles and
    /// bindings say, if the server asks those.
    pub others: Vec<(Identity, PathBuf)>,
    /// HTTP without TLS. Clients drop the credentials of a kubeconfig for such a server, so whoever reaches it may do
    /// everything.
    pub insecure: bool,
}

/// Where the certificates of a server are that does not make its own. All in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The server's, and those between it and an authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// What verifies clients. None: clients show no certificates.
    pub client_ca: Option<PathBuf>,
}

/// How a listening server is reached.
#[derive(Clone)]
pub struct Access {
    /// `https://127.0.0.1:6443`
    pub url: String,
    /// The address that it listens on.
    pub address: SocketAddr,
    /// The kubeconfig that was written.
    pub kubeconfig: PathBuf,
    /// What clients verify it by, in PEM.
    pub ca: Option<String>,
    /// The token of one who may do everything.
    pub token: String,
    /// What was made or ends soon: a line each, for people.
    pub notes: Vec<String>,
    reloads: Arc<Reloads>,
}

/// Why a server does not listen.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The address cannot be had.
    #[error("cannot listen on {address}: {why}; end what listens there, or choose another address")]
    Address {
        /// The address.
        address: SocketAddr,
        /// Why.
        why: std::io::Error,
    },
    /// A file of its certificates, tokens or kubeconfig cannot be used.
    #[error("{0}")]
    File(String),
}

impl Listen {
    /// On this machine, with certificates that are made in `directory`.
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

    /// Whether all files that are there can be used, and the kubeconfig can be written. Makes and changes nothing.
    ///
    /// # Errors
    /// What [`ApiServer::listen`] would refuse, of files.
    pub fn check(&self) -> Result<(), ListenError> {
        if !self.insecure {
            self.source().check(Timestamp::now()).map_err(file)?;
        }
        token_file::check(&self.tokens()).map_err(file)?;
        let others = self.others.iter().map(|(_, path)| path.clone());
        others.chain([self.kubeconfig()]).try_for_each(|path| private::check_writable(&path)).map_err(file)
    }

    fn source(&self) -> Source {
        match &self.certificates {
            None => Source::Own(Own::new(&self.directory, self.hosts.clone())),
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

    /// As clients write it. Certificates that we have not made are for the names that they are for.
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

/// Shows no token: it goes into logs.
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
    /// Reads certificates and tokens again, and makes our own certificates anew that end soon. A file that is not good is
    /// refused, and what was read before is kept. Connections that there are stay; whoever was let in by a token
    /// that is no more is refused from the next request on.
    pub fn reload(&self) -> Reloaded {
        self.reloads.reload()
    }

    /// Whether a file of certificates or tokens is another one than at the last [`reload`](Self::reload), or our own
    /// certificates are to be looked at because a day has passed.
    pub fn is_outdated(&self) -> bool {
        self.reloads.is_outdated()
    }
}

impl ApiServer {
    /// Listens until the server is stopped.
    ///
    /// # Errors
    /// The address is taken, or a file cannot be used. Nothing listens then.
    pub async fn listen(&self, listen: Listen) -> Result<Access, ListenError> {
        let socket =
            TcpListener::bind(listen.address).await.and_then(|socket| Ok((socket.local_addr()?, socket)));
        let (address, socket) =
            socket.map_err(|why| ListenError::Address { address: listen.address, why })?;
        private::make_directory(&listen.directory).map_err(file)?;
        let now = self.shared().world.now();
        let path = listen.tokens();
        let random = self.shared().world.bytes();
        let token = token_file::ensure(&path, &Identity::admin(), random).map_err(file)?;
        let mut others = Vec::new();
        for (identity, kubeconfig) in &listen.others {
            let random = self.shared().world.bytes();
            others.push((kubeconfig, token_file::ensure(&path, identity, random).map_err(file)?));
        }
        let tokens = TokenFile::open(&path).map_err(file)?;
        let (serving, notes) = if listen.insecure {
            (None, Vec::new())
        } else {
            let (serving, notes) = Serving::open(listen.source(), now).map_err(file)?;
            (Some(Arc::new(serving)), notes)
        };
        let ca = serving.as_ref().map(|serving| serving.ca()).transpose().map_err(file)?.flatten();
        let (url, kubeconfig) = (listen.url(address), listen.kubeconfig());
        others.push((&kubeconfig, token.clone()));
        for (path, token) in others {
            write_kubeconfig(path, &url, ca.as_deref(), &token).map_err(file)?;
        }
        let reloads = Arc::new(Reloads::new(self.shared().clone(), tokens, serving.clone()));
        self.go_on(connection::accept(self.shared().clone(), socket, serving));
        Ok(Access { url, address, kubeconfig, ca, token, notes, reloads })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err is given")]
fn file(error: FileError) -> ListenError {
    ListenError::File(error.to_string())
}

/// An address that a client on this machine can reach.
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
