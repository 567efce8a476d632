//! Addresses of pods on one machine: each of its own, from the loopback network.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::cnf::{CnfListener, CnfTls};

/// Addresses that are tried before the last error is returned.
const TRIES: u32 = 512;
/// The host numbers of the range, without those ending in 0 and 255.
const RANGE: u32 = 1 << 16;

/// Hands out addresses, each once until the range is exhausted.
#[derive(Debug)]
pub struct PodAddresses {
    network: Ipv4Addr,
    next: AtomicU32,
}

impl PodAddresses {
    /// Addresses of a /16 within 127.0.0.0/8.
    #[must_use]
    pub const fn new(network: Ipv4Addr) -> Self {
        Self { network, next: AtomicU32::new(1) }
    }

    /// Returns the next address.
    pub fn next(&self) -> Ipv4Addr {
        loop {
            let host = self.next.fetch_add(1, Ordering::Relaxed) % RANGE;
            if !matches!(host % 256, 0 | 255) {
                return Ipv4Addr::from(u32::from(self.network) | host);
            }
        }
    }

    /// Binds a port of the next address where it is free; `tls` returns the certificate for an
    /// address.
    ///
    /// # Errors
    /// The port is taken on all tried addresses, or may not be bound.
    pub async fn bind(
        &self,
        port: u16,
        tls: impl Fn(Ipv4Addr) -> io::Result<CnfTls>,
    ) -> io::Result<(IpAddr, CnfListener)> {
        let mut last = io::Error::other("no address was tried");
        for _ in 0..TRIES {
            let address = self.next();
            let bound = CnfListener::bind(SocketAddr::from((address, port)), tls(address)?).await;
            match bound {
                Ok(listener) => return Ok((address.into(), listener)),
                // Of another runner on the machine.
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }
}

impl Default for PodAddresses {
    fn default() -> Self {
        Self::new(Ipv4Addr::new(127, 30, 0, 0))
    }
}
