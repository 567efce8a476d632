//! A packet socket on an interface in a namespace.

use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};

use kos::plan::Mac;
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recvfrom, send, socket,
};

use crate::ovs::namespace::{identity, inside};

/// A raw socket on the interface with a MAC address. It keeps its namespace alive.
pub(crate) struct PacketSocket {
    socket: OwnedFd,
    namespace: String,
    identity: u64,
}

const PACKET_OUTGOING: u8 = 4;

impl PacketSocket {
    /// Opens a socket; `None` while the namespace or the interface is missing.
    pub(crate) fn open(namespace: &str, mac: Mac) -> Option<Self> {
        let identity = identity(namespace)?;
        let socket = inside(namespace, || {
            let links = getifaddrs().ok()?.filter_map(|link| link.address?.as_link_addr().copied());
            let link = links.into_iter().find(|link| link.addr() == Some(mac.0))?;
            let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
            let made = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll).ok()?;
            bind(made.as_raw_fd(), &link).ok()?;
            Some(made)
        })??;
        Some(Self { socket, namespace: namespace.into(), identity })
    }

    /// Returns false once the namespace was deleted or replaced.
    pub(crate) fn is_current(&self) -> bool {
        identity(&self.namespace) == Some(self.identity)
    }

    /// Sends a frame; false if the interface is gone. A full queue drops the frame, as a link may.
    pub(crate) fn send(&self, frame: &[u8]) -> bool {
        let sent = send(self.socket.as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT);
        matches!(sent, Ok(_) | Err(Errno::ENOBUFS | Errno::EAGAIN | Errno::EINTR))
    }

    /// Takes the next frame that arrived. An error says that the interface is gone.
    pub(crate) fn receive<'a>(&self, buffer: &'a mut [u8]) -> Result<Option<&'a [u8]>, Errno> {
        loop {
            let (length, from) = match recvfrom::<LinkAddr>(self.socket.as_raw_fd(), buffer) {
                Ok(received) => received,
                Err(Errno::EAGAIN) => return Ok(None),
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error),
            };
            if from.is_none_or(|from| from.pkttype() != PACKET_OUTGOING) {
                return Ok(Some(&buffer[..length.min(buffer.len())]));
            }
        }
    }

    /// Waits for a frame, for some milliseconds.
    pub(crate) fn wait(&self, milliseconds: u8) {
        let mut polled = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        let _ = poll(&mut polled, PollTimeout::from(milliseconds));
    }
}
