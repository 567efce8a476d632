//! What a server on a socket is started with: an address, certificates, a token, and a kubeconfig that has them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;
use tokio::net::TcpListener;

use super::connection;
use crate::auth::authenticate::Authenticator;
use crate::auth::token::Tokens;
use crate::auth::token_file::{self, TokenFile};
use crate::auth::{Identity, private};
use crate::server::ApiServer;
use crate::tls::kubeconfig::{Credential, kubeconfig};
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
    /// Where the kubeconfig is written. None: in that directory.
    pub kubeconfig: Option<PathBuf>,
    /// HTTP without TLS. Clients drop the credentials of a kubeconfig for such a server, so whoever reaches it may do
    /// everything.
    pub insecure: bool,
}

/// How a listening server is reached.
#[derive(Clone, Debug)]
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
        let file = |error: private::FileError| ListenError::File(error.to_string());
        private::make_directory(&listen.directory).map_err(file)?;
        let now = self.shared().world.now();
        let tokens = listen.directory.join("tokens.csv");
        let random = self.shared().world.bytes();
        let token = token_file::ensure(&tokens, &Identity::admin(), random).map_err(file)?;
        let tokens: Arc<Tokens> = TokenFile::open(&tokens).map_err(file)?.tokens();
        self.shared().authenticator.swap(Arc::new(Authenticator { tokens, anonymous: false }));
        let own = Own::new(&listen.directory, listen.hosts.clone());
        let (serving, ca, notes) = if listen.insecure {
            (None, None, Vec::new())
        } else {
            let ca = own.open(now).map_err(file)?;
            let (serving, more) = Serving::open(Source::Own(own), now).map_err(file)?;
            let notes = ca.notes.into_iter().chain(more).collect();
            (Some(Arc::new(serving)), Some(ca.ca), notes)
        };
        let scheme = if listen.insecure { "http" } else { "https" };
        let url = format!("{scheme}://{}", reachable(address));
        let path = listen.kubeconfig.unwrap_or_else(|| listen.directory.join("kubeconfig"));
        write_kubeconfig(&path, &url, ca.as_deref(), &token).map_err(file)?;
        self.go_on(connection::accept(self.shared().clone(), socket, serving));
        Ok(Access { url, address, kubeconfig: path, ca, token, notes })
    }
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

fn write_kubeconfig(path: &Path, url: &str, ca: Option<&str>, token: &str) -> Result<(), private::FileError> {
    private::write(path, &kubeconfig(url, ca, Credential::Token(token)))
}
