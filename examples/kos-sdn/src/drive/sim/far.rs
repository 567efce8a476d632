//! Pings over a wire: what comes back comes later.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use machinery::sync::Mutex;
use machinery::tokio::time::{Instant, sleep, timeout};

use super::underlay::{Delivered, PingError, Underlay};
use crate::plan::AddressKey;

/// The echoes that came to guests here.
#[derive(Debug, Default)]
pub(super) struct Far {
    heard: Mutex<VecDeque<(AddressKey, Echoed)>>,
    next: AtomicU16,
}

/// Of whom an echo is, and of which request.
type Echoed = (Ipv4Addr, u16, u16);

/// So many echoes are kept for who waits for them.
const KEPT: usize = 1024;
/// So long each of the two answers may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// So long until it is asked again who has an address.
const ASK_AGAIN: Duration = Duration::from_millis(200);
/// Between two looks.
const LOOK: Duration = Duration::from_micros(200);

impl Far {
    /// Frames came to guests.
    pub(super) fn came(&self, delivered: Vec<Delivered>) {
        let mut heard = self.heard.lock();
        heard.extend(delivered.into_iter().filter_map(|one| Some((one.to, one.heard.echo?))));
        let spare = heard.len().saturating_sub(KEPT);
        heard.drain(..spare);
    }

    /// A real exchange: who has the address, and an echo from it.
    pub(super) async fn ping(
        &self,
        underlay: &Underlay,
        node: Ipv4Addr,
        from: AddressKey,
        (to, sequence): (Ipv4Addr, u16),
    ) -> Result<(), PingError> {
        // A number of its own, so that an echo that comes late is none of the next.
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let sent = async {
            loop {
                // What is lost is asked again.
                underlay.asks(node, from, to)?;
                let again = Instant::now() + ASK_AGAIN;
                while Instant::now() < again {
                    match underlay.pings(node, from, to, (id, sequence)) {
                        Ok(None) => sleep(LOOK).await,
                        sent => return sent,
                    }
                }
            }
        };
        let sent = timeout(PATIENCE, sent).await.map_err(|_| PingError::NobodyThere(to))??;
        self.came(sent.unwrap_or_default());
        let echo = (from, (to, id, sequence));
        let answered = async {
            while !self.heard.lock().contains(&echo) {
                sleep(LOOK).await;
            }
        };
        timeout(PATIENCE, answered).await.map_err(|_| PingError::NoAnswer(to))
    }
}
