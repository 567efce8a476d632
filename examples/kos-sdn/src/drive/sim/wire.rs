//! A node whose neighbours are in other processes: frames go over UDP.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use machinery::tokio::net::UdpSocket;
use machinery::tokio_util::sync::CancellationToken;

use super::fabric::SimFabric;
use super::far::Far;
use super::underlay::{SimLimits, Underlay};
use super::vxlan::{unwrapped, wrapped};
use crate::drive::{FabricError, Tunnel};

/// The wire of one node: where it is on a real network, all of whose nodes use one port.
#[derive(Clone, Debug)]
pub struct Wire {
    underlay: Underlay,
    node: Ipv4Addr,
    socket: Arc<UdpSocket>,
    far: Arc<Far>,
}

/// More than any datagram has.
const DATAGRAM: usize = 1 << 16;

impl Wire {
    /// Listens on the address of a node, and sends from there: others know a node by the address that its frames come from.
    ///
    /// # Errors
    /// The address is no address of this machine, or the port is taken.
    pub async fn bind(node: Ipv4Addr, port: u16) -> io::Result<Self> {
        let socket = Arc::new(UdpSocket::bind((node, port)).await?);
        let port = socket.local_addr()?.port();
        // Until that is known nothing is sent.
        socket.writable().await?;
        let sends = socket.clone();
        let out = move |tunnel: Tunnel, there: Ipv4Addr, frame: &[u8]| {
            // What a network has no room for it drops.
            let _ = sends.try_send_to(&wrapped(tunnel.vni, frame), SocketAddr::from((there, port)));
        };
        let underlay = Underlay::part(SimLimits { nodes: 1, ..SimLimits::default() }, Box::new(out));
        Ok(Self { underlay, node, socket, far: Arc::default() })
    }

    /// The port that it listens on.
    ///
    /// # Errors
    /// The system does not say.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.socket.local_addr()?.port())
    }

    /// The fabric of the node.
    ///
    /// # Errors
    /// None that is known.
    pub fn fabric(&self) -> Result<SimFabric, FabricError> {
        Ok(self.underlay.join(self.node)?.with(self.far.clone()))
    }

    /// Takes what comes, until the token is cancelled. What is no frame of a network is let go.
    pub async fn run(self, stopping: CancellationToken) {
        let mut bytes = vec![0; DATAGRAM];
        while let Some(came) = stopping.run_until_cancelled(self.socket.recv_from(&mut bytes)).await {
            // An error is of what was sent before: nobody was there.
            let Ok((length, source)) = came else { continue };
            let (Some((vni, frame)), IpAddr::V4(node)) = (unwrapped(&bytes[..length]), source.ip()) else {
                continue;
            };
            match self.underlay.arrive(self.node, Tunnel { vni, node }, frame.to_vec()) {
                Ok(delivered) => self.far.came(delivered),
                Err(error) => tracing::debug!(%error, %node, "a frame was lost"),
            }
        }
    }
}
