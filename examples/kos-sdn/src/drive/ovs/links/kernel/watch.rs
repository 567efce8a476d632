//! Watches of links and names.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use machinery::tokio;
use machinery::tokio::io::unix::AsyncFd;
use machinery::tokio_util::sync::CancellationToken;
use rtnetlink::MulticastGroup;
use rtnetlink::packet_core::{NetlinkBuffer, NlasIterator};
use rtnetlink::sys::protocols::NETLINK_ROUTE;
use rtnetlink::sys::{AsyncSocket, AsyncSocketExt as _, SocketAddr, TokioSocket};
use rustix::fs::inotify;
use rustix::io::Errno;

use super::descriptor::async_descriptor;
use super::named::NAMESPACES;
use crate::drive::ovs::links::events::EventQueue;
use crate::drive::ovs::links::{LinkEvent, NamespaceName};

/// Bytes of events that the kernel keeps for a watch that is slow; then it drops some and says so.
const RECEIVE_BUFFER: usize = 1 << 20;

/// Opens a socket that receives changes of links and addresses: of the calling thread's namespace,
/// and of all namespaces with an id there. The kernel gives a namespace its id when a link is moved
/// into it.
pub(super) fn open_events() -> io::Result<TokioSocket> {
    let mut socket = TokioSocket::new(NETLINK_ROUTE)?;
    let inner = socket.socket_mut();
    inner.set_rx_buf_sz(i32::try_from(RECEIVE_BUFFER).unwrap_or(i32::MAX))?;
    inner.set_listen_all_namespaces(true)?;
    let groups = [MulticastGroup::Link, MulticastGroup::Ipv4Ifaddr];
    let mask = groups.map(|group| 1 << (group as u32 - 1)).iter().fold(0, |mask, bit| mask | bit);
    inner.bind(&SocketAddr::new(0, mask))?;
    Ok(socket)
}

/// Watches the names below `/run/netns`.
pub(super) fn open_names() -> io::Result<AsyncFd<OwnedFd>> {
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC)?;
    let flags = inotify::WatchFlags::CREATE
        | inotify::WatchFlags::DELETE
        | inotify::WatchFlags::MOVE
        | inotify::WatchFlags::DELETE_SELF
        | inotify::WatchFlags::ONLYDIR;
    inotify::add_watch(&watch, NAMESPACES, flags)?;
    async_descriptor(watch)
}

/// Forwards events until the token is cancelled, or a source fails.
pub(super) async fn forward(
    links: TokioSocket,
    names: AsyncFd<OwnedFd>,
    queue: EventQueue,
    ends: CancellationToken,
) {
    loop {
        let is_open = tokio::select! {
            biased;
            () = ends.cancelled() => false,
            received = links.recv_from_full() => match received {
                Ok((bytes, _)) => push_links(&bytes, &queue),
                Err(error) => is_overrun(&error) && push_lost(&queue),
            },
            ready = names.readable() => match ready {
                Ok(mut guard) => {
                    let is_open = push_names(names.get_ref(), &queue);
                    guard.clear_ready();
                    is_open
                }
                Err(_) => false,
            },
        };
        if !is_open {
            queue.close();
            return;
        }
    }
}

fn push_lost(queue: &EventQueue) -> bool {
    queue.push(LinkEvent::Lost);
    true
}

fn is_overrun(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error())
}

/// Message types of rtnetlink, with the length of their headers and the attribute with the name.
const RTM_NEWLINK: u16 = 16;
const RTM_DELLINK: u16 = 17;
const RTM_NEWADDR: u16 = 20;
const RTM_DELADDR: u16 = 21;
const LINK_HEADER: usize = 16;
const ADDRESS_HEADER: usize = 8;
/// Both `IFLA_IFNAME` and `IFA_LABEL`.
const NAME_ATTRIBUTE: u16 = 3;

/// Decodes names only: a message of a newer kernel with unknown attributes is an event, too.
fn push_links(mut bytes: &[u8], queue: &EventQueue) -> bool {
    while !bytes.is_empty() {
        let Ok(message) = NetlinkBuffer::new_checked(bytes) else { return push_lost(queue) };
        let header = match message.message_type() {
            RTM_NEWLINK | RTM_DELLINK => Some(LINK_HEADER),
            RTM_NEWADDR | RTM_DELADDR => Some(ADDRESS_HEADER),
            _ => None,
        };
        if let Some(attributes) = header.and_then(|header| message.payload().get(header..)) {
            let mut attributes = NlasIterator::new(attributes).filter_map(Result::ok);
            let name = attributes.find(|attribute| attribute.kind() == NAME_ATTRIBUTE);
            queue.push(match name {
                Some(name) => {
                    let name = String::from_utf8_lossy(name.value());
                    LinkEvent::Link { name: name.trim_end_matches('\0').into() }
                }
                None => LinkEvent::Lost,
            });
        }
        let length = usize::try_from(message.length()).unwrap_or(usize::MAX);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    true
}

/// Reads all pending events of names. Returns whether the directory is still watched.
fn push_names(watch: &OwnedFd, queue: &EventQueue) -> bool {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = inotify::Reader::new(watch, &mut buffer);
    loop {
        let event = match reader.next() {
            Ok(event) => event,
            Err(Errno::WOULDBLOCK) => return true,
            Err(Errno::INTR) => continue,
            Err(_) => return false,
        };
        if event.events().intersects(inotify::ReadFlags::IGNORED | inotify::ReadFlags::DELETE_SELF) {
            return false;
        }
        if event.events().contains(inotify::ReadFlags::QUEUE_OVERFLOW) {
            queue.push(LinkEvent::Lost);
        }
        let name = event.file_name().and_then(|name| name.to_str().ok());
        if let Some(Ok(name)) = name.map(NamespaceName::new) {
            queue.push(LinkEvent::Namespace { name });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::ovs::links::LinkEvents;

    /// Bytes of an event queue come from the kernel, and are checked nevertheless.
    #[tokio::test]
    async fn malformed_events_are_lost_events() {
        let queue = EventQueue::default();
        let mut events = LinkEvents::new(queue.clone(), CancellationToken::new());
        for bytes in [&[1, 2, 3][..], &[255; 40], &[0; 16]] {
            assert!(push_links(bytes, &queue));
            assert_eq!(events.next().await, Some(LinkEvent::Lost));
        }
        let mut message = vec![36, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        message.extend([0; 16]);
        message.extend([8, 0, 3, 0, b'k', b'o', b's', 0]);
        message[0] = u8::try_from(message.len()).unwrap();
        assert!(push_links(&message, &queue));
        assert_eq!(events.next().await, Some(LinkEvent::Link { name: "kos".into() }));
    }
}
