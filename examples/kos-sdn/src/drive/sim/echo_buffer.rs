//! Pings to nodes in other processes: replies arrive asynchronously.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use machinery::sync::Mutex;
use machinery::tokio::time::{Instant, sleep, timeout};

use super::underlay::{DeliveredFrame, PingError, Underlay};
use crate::plan::AddressKey;

/// The recent echo replies received by local guests.
#[derive(Debug, Default)]
pub(super) struct EchoBuffer {
    response: Mutex<VecDeque<(AddressKey, EchoKey)>>,
    next: AtomicU16,
}

/// Source address, identifier and sequence number of a reply.
type EchoKey = (Ipv4Addr, u16, u16);

/// Number of replies kept.
const KEPT: usize = 1024;
/// Time limit of the ARP exchange, and of the echo.
const TIME_LIMIT: Duration = Duration::from_secs(1);
/// Interval of ARP requests.
const ARP_INTERVAL: Duration = Duration::from_millis(200);
/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

impl EchoBuffer {
    /// Records the echo replies among delivered frames.
    pub(super) fn record(&self, delivered: Vec<DeliveredFrame>) {
        let mut response = self.response.lock();
        response.extend(delivered.into_iter().filter_map(|one| Some((one.to, one.response.echo?))));
        let spare = response.len().saturating_sub(KEPT);
        response.drain(..spare);
    }

    /// Exchanges ARP and ICMP echo with an address.
    pub(super) async fn ping(
        &self,
        underlay: &Underlay,
        node: Ipv4Addr,
        from: AddressKey,
        (to, sequence): (Ipv4Addr, u16),
    ) -> Result<(), PingError> {
        // A fresh identifier, so that a late reply does not answer the next ping.
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let sent = async {
            loop {
                // Lost ARP requests are repeated.
                underlay.send_arp_request(node, from, to)?;
                let next_request = Instant::now() + ARP_INTERVAL;
                while Instant::now() < next_request {
                    match underlay.send_echo_request(node, from, to, (id, sequence)) {
                        Ok(None) => sleep(POLL_INTERVAL).await,
                        sent => return sent,
                    }
                }
            }
        };
        let sent = timeout(TIME_LIMIT, sent).await.map_err(|_| PingError::NoArpReply(to))??;
        self.record(sent.unwrap_or_default());
        let echo = (from, (to, id, sequence));
        let answered = async {
            while !self.response.lock().contains(&echo) {
                sleep(POLL_INTERVAL).await;
            }
        };
        timeout(TIME_LIMIT, answered).await.map_err(|_| PingError::NoEchoReply(to))
    }
}
