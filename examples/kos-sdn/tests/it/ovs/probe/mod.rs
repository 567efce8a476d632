//! The isolation probe.
//!
//! A thread for each attachment sends marked frames from a packet socket in the attachment's
//! namespace: to each MAC address and each address of all networks, to all, and with forged
//! senders. It also checks each arrival: only honest frames of the own network, sent to this
//! attachment, are permitted. While the network has to be steady, each permitted sender must
//! arrive at least once in each second of sending.

mod frames;
mod ledger;
mod mark;
mod packet_socket;
mod station;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use machinery::sync::Mutex;

use ledger::Ledger;
pub(crate) use ledger::{Gap, Leak};
pub(crate) use mark::{FrameKind, Mark};
pub(crate) use packet_socket::PacketSocket;
pub(crate) use station::Station;

/// A running probe. Its threads end on drop.
#[derive(Default)]
pub(crate) struct IsolationProbe {
    ledger: Arc<Mutex<Ledger>>,
    threads: Vec<(u32, Arc<AtomicBool>, JoinHandle<()>)>,
    next: u32,
}

impl IsolationProbe {
    /// Adds an attachment, whose namespace may not exist yet, and returns its number.
    pub(crate) fn add(&mut self, station: Station) -> u32 {
        self.next += 1;
        let (number, stop) = (self.next, Arc::new(AtomicBool::new(false)));
        self.ledger.lock().add(number, station.clone());
        let (ledger, stopped) = (self.ledger.clone(), stop.clone());
        let thread = thread::spawn(move || station::run(number, &station, &ledger, &stopped));
        self.threads.push((number, stop, thread));
        number
    }

    /// Removes an attachment. Its last frames are still checked.
    pub(crate) fn remove(&mut self, number: u32) {
        if let Some(index) = self.threads.iter().position(|(of, ..)| *of == number) {
            let (_, stop, thread) = self.threads.swap_remove(index);
            stop.store(true, Relaxed);
            thread.join().unwrap();
        }
        self.ledger.lock().remove(number);
    }

    /// Waits until a frame of each permitted sender has arrived at each attachment since the call.
    ///
    /// # Panics
    /// A pair is still silent at the deadline.
    #[track_caller]
    pub(crate) fn wait_for_all_pairs(&self, deadline: Duration) -> Duration {
        let started = Instant::now();
        loop {
            let silent = self.ledger.lock().silent_since(started);
            if silent.is_empty() {
                return started.elapsed();
            }
            assert!(started.elapsed() < deadline, "no frame arrived within {deadline:?}: {silent:#?}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until an ARP request of each permitted sender, which is a broadcast frame, has arrived
    /// since the call.
    #[track_caller]
    pub(crate) fn wait_for_all_broadcasts(&self, deadline: Duration) {
        self.ledger.lock().forget_requests();
        let started = Instant::now();
        loop {
            let silent = self.ledger.lock().without_requests();
            if silent.is_empty() {
                return;
            }
            assert!(started.elapsed() < deadline, "no request arrived within {deadline:?}: {silent:#?}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Requires each permitted sender to arrive once a second, for some time.
    #[track_caller]
    pub(crate) fn assert_steady(&self, time: Duration) {
        self.ledger.lock().begin_steady();
        thread::sleep(time);
        let gaps = self.ledger.lock().end_steady();
        assert!(gaps.is_empty(), "frames of permitted senders were missing: {gaps:#?}");
    }

    /// Starts to require each permitted sender to arrive once a second.
    pub(crate) fn begin_steady(&self) {
        self.ledger.lock().begin_steady();
    }

    /// Ends the requirement, and returns the intervals in which frames were missing.
    pub(crate) fn end_steady(&self) -> Vec<Gap> {
        self.ledger.lock().end_steady()
    }

    /// Returns the frames that should not have arrived since the last call.
    pub(crate) fn take_leaks(&self) -> Vec<Leak> {
        self.ledger.lock().take_leaks()
    }

    /// Asserts that no frame arrived that should not have, since the last call of
    /// [`take_leaks`](Self::take_leaks).
    #[track_caller]
    pub(crate) fn assert_isolated(&self, during: &str) {
        let leaks = self.take_leaks();
        let few: Vec<_> = leaks.iter().take(10).collect();
        assert!(leaks.is_empty(), "{} frames arrived that must not, {during}: {few:#?}", leaks.len());
    }

    /// Returns the numbers of frames sent and of permitted arrivals.
    pub(crate) fn counts(&self) -> (u64, u64) {
        self.ledger.lock().counts()
    }
}

impl Drop for IsolationProbe {
    fn drop(&mut self) {
        for (_, stop, _) in &self.threads {
            stop.store(true, Relaxed);
        }
        for (.., thread) in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
