//! A node with peers in other processes: frames travel over UDP.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use machinery::tokio::net::UdpSocket;
use machinery::tokio_util::sync::CancellationToken;

use super::echo_buffer::EchoBuffer;
use super::fabric::SimFabric;
use super::underlay::{SimLimits, Underlay};
use super::vxlan::{unwrapped, wrapped};
use crate::drive::{FabricError, Tunnel};

/// The UDP endpoint of one node; all nodes use the same port.
#[derive(Clone, Debug)]
pub struct Wire {
    underlay: Underlay,
    node: Ipv4Addr,
    socket: Arc<UdpSocket>,
    far: Arc<EchoBuffer>,
}

/// Above the size of any datagram.
const DATAGRAM: usize = 1 << 16;

impl Wire {
    /// Binds a UDP socket to the underlay address of a node, which identifies the node to its
    /// peers.
    ///
    /// # Errors
    /// The address is not local, or the port is taken.
    pub async fn bind(node: Ipv4Addr, port: u16) -> io::Result<Self> {
        let socket = Arc::new(UdpSocket::bind((node, port)).await?);
        let port = socket.local_addr()?.port();
        // `try_send_to` fails until the socket has been polled once.
        socket.writable().await?;
        let sends = socket.clone();
        let out = move |tunnel: Tunnel, there: Ipv4Addr, frame: &[u8]| {
            // A full socket buffer drops the frame, as a network would.
            let _ = sends.try_send_to(&wrapped(tunnel.vni, frame), SocketAddr::from((there, port)));
        };
        let underlay = Underlay::part(SimLimits { nodes: 1, ..SimLimits::default() }, Box::new(out));
        Ok(Self { underlay, node, socket, far: Arc::default() })
    }

    /// Returns the UDP port.
    ///
    /// # Errors
    /// The system call fails.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.socket.local_addr()?.port())
    }

    /// Returns the fabric of the node.
    ///
    /// # Errors
    /// None in practice.
    pub fn fabric(&self) -> Result<SimFabric, FabricError> {
        Ok(self.underlay.join(self.node)?.with(self.far.clone()))
    }

    /// Receives frames until cancelled. Malformed datagrams are ignored.
    pub async fn run(self, stopping: CancellationToken) {
        let mut bytes = vec![0; DATAGRAM];
        while let Some(received) = stopping.run_until_cancelled(self.socket.recv_from(&mut bytes)).await {
            // The error belongs to an earlier datagram: the peer was unreachable.
            let Ok((length, source)) = received else { continue };
            let (Some((vni, frame)), IpAddr::V4(node)) = (unwrapped(&bytes[..length]), source.ip()) else {
                continue;
            };
            match self.underlay.deliver(self.node, Tunnel { vni, node }, frame.to_vec()) {
                Ok(delivered) => self.far.record(delivered),
                Err(error) => tracing::debug!(%error, %node, "a frame was lost"),
            }
        }
    }
}
