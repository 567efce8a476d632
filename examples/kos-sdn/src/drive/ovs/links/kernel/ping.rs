//! ICMP echo from a namespace, over a raw socket.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU16, Ordering};

use machinery::tokio::io::Interest;
use machinery::tokio::io::unix::AsyncFd;
use machinery::tokio::time::timeout;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, connect, ipproto, recv, send,
    socket_with,
};

use super::descriptor::async_descriptor;
use crate::drive::ovs::links::{EchoRequest, LinkError};
use crate::drive::packet::{Echo, Ipv4};

/// Identifiers of requests, so that concurrent ones do not take each other's replies.
static NEXT_IDENTIFIER: AtomicU16 = AtomicU16::new(1);

/// Payload of requests.
const PAYLOAD: &[u8] = b"kos ping";

/// Opens a raw ICMP socket between two addresses, in the calling thread's namespace.
pub(super) fn open(from: Ipv4Addr, to: Ipv4Addr) -> io::Result<AsyncFd<OwnedFd>> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::RAW, flags, Some(ipproto::ICMP))?;
    bind(&socket, &SocketAddr::new(IpAddr::V4(from), 0))?;
    connect(&socket, &SocketAddr::new(IpAddr::V4(to), 0))?;
    async_descriptor(socket)
}

/// Sends a request, and waits for its reply.
pub(super) async fn exchange(socket: &AsyncFd<OwnedFd>, request: &EchoRequest) -> Result<(), LinkError> {
    let id = NEXT_IDENTIFIER.fetch_add(1, Ordering::Relaxed);
    let unanswered = |reason: String| LinkError::NoReply { to: request.to, reason };
    let exchanged = timeout(request.time_limit, async {
        let echo = Echo { is_request: true, id, sequence: request.sequence, data: PAYLOAD };
        let bytes = echo.bytes();
        socket.async_io(Interest::WRITABLE, |fd| Ok(send(fd, &bytes, SendFlags::empty())?)).await?;
        loop {
            let mut buffer = [0; 2048];
            let receive = |fd: &OwnedFd| Ok(recv(fd, &mut buffer[..], RecvFlags::empty())?.1);
            let length = socket.async_io(Interest::READABLE, receive).await?;
            if is_reply(buffer.get(..length).unwrap_or_default(), id, request) {
                return Ok::<(), io::Error>(());
            }
        }
    });
    match exchanged.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(unanswered(error.to_string())),
        Err(_) => Err(unanswered(format!("no reply within {} ms", request.time_limit.as_millis()))),
    }
}

fn is_reply(bytes: &[u8], id: u16, request: &EchoRequest) -> bool {
    let Ok(packet) = Ipv4::read(bytes) else { return false };
    let Ok(echo) = Echo::read(packet.payload) else { return false };
    let expected = Echo { is_request: false, id, sequence: request.sequence, data: PAYLOAD };
    packet.from == request.to && packet.to == request.from && echo == expected
}
