//! Whoever uses an interface: a machine that answers ARP and echoes, and asks for them. Pure.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use crate::drive::packet::{Arp, Echo, Ethernet, Ipv4, Malformed};
use crate::plan::{EtherType, Local, Mac};

/// A machine behind an interface.
#[derive(Clone, Debug)]
pub struct Guest {
    mac: Mac,
    address: Ipv4Addr,
    /// Who has which address, as they said.
    known: BTreeMap<Ipv4Addr, Mac>,
}

/// What a guest makes of a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// What it answers.
    pub answer: Option<Vec<u8>>,
    /// The echo that it heard: of whom, and of which of its requests.
    pub echo: Option<(Ipv4Addr, u16, u16)>,
}

/// So many addresses are remembered.
const KNOWN: usize = 1024;
const TTL: u8 = 64;

impl Guest {
    /// The one that uses an interface as it should.
    #[must_use]
    pub const fn of(interface: &Local) -> Self {
        Self { mac: interface.mac, address: interface.address, known: BTreeMap::new() }
    }

    /// Its frame to all: who has an address?
    #[must_use]
    pub fn asks(&self, target: Ipv4Addr) -> Vec<u8> {
        let nobody = Mac([0; 6]);
        let arp = Arp { asks: true, sender_mac: self.mac, sender: self.address, target_mac: nobody, target };
        Ethernet::new(Mac::BROADCAST, self.mac, EtherType::Arp, &arp.bytes()).bytes()
    }

    /// Its request for an echo; nothing, if it does not know who has the address.
    ///
    /// # Errors
    /// There is more data than a packet holds.
    pub fn pings(
        &self,
        to: Ipv4Addr,
        id: u16,
        sequence: u16,
        data: &[u8],
    ) -> Result<Option<Vec<u8>>, Malformed> {
        let Some(mac) = self.known.get(&to) else { return Ok(None) };
        self.sends(*mac, to, &Echo { asks: true, id, sequence, data }).map(Some)
    }

    /// A request for an echo to whom it is said to be.
    pub(super) fn pings_to(&self, mac: Mac, to: Ipv4Addr) -> Option<Vec<u8>> {
        self.sends(mac, to, &Echo { asks: true, id: 0, sequence: 0, data: b"" }).ok()
    }

    /// Forgets who has which address.
    pub fn forgets(&mut self) {
        self.known.clear();
    }

    /// Hears a frame. What is not for it, or is none, it leaves alone.
    pub fn hears(&mut self, frame: &[u8]) -> Heard {
        let Ok(frame) = Ethernet::read(frame) else { return Heard::default() };
        if frame.to != self.mac && frame.to != Mac::BROADCAST {
            return Heard::default();
        }
        match frame.of() {
            Some(EtherType::Arp) => Heard { answer: self.hears_arp(frame.payload), echo: None },
            Some(EtherType::Ipv4) if frame.to == self.mac => self.hears_packet(frame.from, frame.payload),
            _ => Heard::default(),
        }
    }

    fn hears_arp(&mut self, payload: &[u8]) -> Option<Vec<u8>> {
        let arp = Arp::read(payload).ok().filter(|arp| arp.target == self.address)?;
        if self.known.len() >= KNOWN && !self.known.contains_key(&arp.sender) {
            self.known.pop_first();
        }
        self.known.insert(arp.sender, arp.sender_mac);
        let answer = Arp {
            asks: false,
            sender_mac: self.mac,
            sender: self.address,
            target_mac: arp.sender_mac,
            target: arp.sender,
        };
        arp.asks.then(|| Ethernet::new(arp.sender_mac, self.mac, EtherType::Arp, &answer.bytes()).bytes())
    }

    fn hears_packet(&self, from: Mac, payload: &[u8]) -> Heard {
        let packet = Ipv4::read(payload)
            .ok()
            .filter(|packet| packet.to == self.address && packet.protocol == Ipv4::ICMP);
        let Some(packet) = packet else { return Heard::default() };
        match Echo::read(packet.payload) {
            Ok(echo) if echo.asks => Heard {
                answer: self.sends(from, packet.from, &Echo { asks: false, ..echo }).ok(),
                echo: None,
            },
            Ok(echo) => Heard { answer: None, echo: Some((packet.from, echo.id, echo.sequence)) },
            Err(_) => Heard::default(),
        }
    }

    fn sends(&self, mac: Mac, to: Ipv4Addr, echo: &Echo<'_>) -> Result<Vec<u8>, Malformed> {
        let echo = echo.bytes();
        let packet = Ipv4 { from: self.address, to, ttl: TTL, protocol: Ipv4::ICMP, payload: &echo };
        Ok(Ethernet::new(mac, self.mac, EtherType::Ipv4, &packet.bytes()?).bytes())
    }
}
