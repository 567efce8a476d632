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
        Self::open_where(namespace, |_, link| link.addr() == Some(mac.0))
    }

    /// Opens a socket on the interface of a name.
    pub(crate) fn open_named(namespace: &str, interface: &str) -> Option<Self> {
        Self::open_where(namespace, |name, _| name == interface)
    }

    fn open_where(namespace: &str, is_it: impl Fn(&str, &LinkAddr) -> bool + Send + Sync) -> Option<Self> {
        let identity = identity(namespace)?;
        let socket = inside(namespace, || {
            let named = getifaddrs().ok()?;
            let mut links = named.filter_map(|it| Some((it.interface_name, *it.address?.as_link_addr()?)));
            let (_, link) = links.find(|(name, link)| is_it(name, link))?;
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
