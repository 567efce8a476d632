//! The thread of one attachment: sends its frames and checks arrivals.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use kos::model::Vni;
use kos::plan::Mac;
use machinery::sync::Mutex;

use super::frames::round;
use super::ledger::Ledger;
use super::mark::Mark;
use super::packet_socket::PacketSocket;

/// An attachment that takes part in the probe.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Station {
    pub(crate) namespace: String,
    pub(crate) vni: u32,
    pub(crate) address: Ipv4Addr,
}

/// Ten rounds a second, so that a gap of a second is ten lost frames in a row.
const ROUND: Duration = Duration::from_millis(100);

impl Station {
    pub(crate) fn new(namespace: &str, vni: u32, address: Ipv4Addr) -> Self {
        Self { namespace: namespace.into(), vni, address }
    }

    pub(crate) fn mac(&self) -> Mac {
        Mac::of(Vni::new(self.vni).unwrap(), self.address)
    }
}

pub(super) fn run(number: u32, station: &Station, ledger: &Mutex<Ledger>, stop: &AtomicBool) {
    let mut socket: Option<PacketSocket> = None;
    let (mut next, mut rounds) = (Instant::now(), 0);
    while !stop.load(Relaxed) {
        // A socket in a deleted namespace would keep it alive.
        socket = socket.filter(PacketSocket::is_current);
        let Some(open) = socket.take().or_else(|| PacketSocket::open(&station.namespace, station.mac()))
        else {
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        open.wait(10);
        let mut is_alive = drain(number, station, &open, ledger);
        if Instant::now() >= next {
            next = Instant::now() + ROUND;
            rounds += 1;
            is_alive &= send_round(number, station, &open, ledger, rounds);
        }
        socket = is_alive.then_some(open);
    }
}

fn drain(number: u32, station: &Station, socket: &PacketSocket, ledger: &Mutex<Ledger>) -> bool {
    let mut buffer = [0; 2048];
    loop {
        match socket.receive(&mut buffer) {
            Ok(None) => return true,
            Err(_) => return false,
            Ok(Some(frame)) => {
                if let Some(mark) = Mark::find(frame) {
                    ledger.lock().arrived(number, station, mark);
                }
            }
        }
    }
}

fn send_round(
    number: u32,
    station: &Station,
    socket: &PacketSocket,
    ledger: &Mutex<Ledger>,
    round_number: u32,
) -> bool {
    let all = ledger.lock().stations();
    let frames = round(number, station, &all, round_number);
    let is_alive = frames.iter().all(|(_, frame)| socket.send(frame));
    if is_alive {
        ledger.lock().sent(number, frames.len());
    }
    is_alive
}
