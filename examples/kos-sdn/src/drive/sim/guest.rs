//! The machine behind an interface: answers ARP and ICMP echo requests, and sends them. Pure.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use crate::drive::packet::{Arp, Echo, Ethernet, Ipv4, Malformed};
use crate::plan::{EtherType, LocalInterface, Mac};

/// A machine behind an interface.
#[derive(Clone, Debug)]
pub struct Guest {
    mac: Mac,
    address: Ipv4Addr,
    /// ARP cache.
    known: BTreeMap<Ipv4Addr, Mac>,
}

/// The reaction of a guest to a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuestResponse {
    /// The frame that it sends in reply.
    pub answer: Option<Vec<u8>>,
    /// The echo reply received: source, identifier and sequence number.
    pub echo: Option<(Ipv4Addr, u16, u16)>,
}

/// Capacity of the ARP cache.
const KNOWN: usize = 1024;
const TTL: u8 = 64;

impl Guest {
    /// Creates a guest with the addresses of an interface.
    #[must_use]
    pub const fn of(interface: &LocalInterface) -> Self {
        Self { mac: interface.mac, address: interface.address, known: BTreeMap::new() }
    }

    /// Returns an ARP request.
    #[must_use]
    pub fn arp_request(&self, target: Ipv4Addr) -> Vec<u8> {
        let nobody = Mac([0; 6]);
        let arp =
            Arp { is_request: true, sender_mac: self.mac, sender: self.address, target_mac: nobody, target };
        Ethernet::new(Mac::BROADCAST, self.mac, EtherType::Arp, &arp.bytes()).bytes()
    }

    /// Returns an ICMP echo request, or `None` if the ARP cache lacks the address.
    ///
    /// # Errors
    /// The payload is too long.
    pub fn echo_request(
        &self,
        to: Ipv4Addr,
        id: u16,
        sequence: u16,
        data: &[u8],
    ) -> Result<Option<Vec<u8>>, Malformed> {
        let Some(mac) = self.known.get(&to) else { return Ok(None) };
        self.packet(*mac, to, &Echo { is_request: true, id, sequence, data }).map(Some)
    }

    /// Returns an ICMP echo request to a given MAC address.
    pub(super) fn echo_request_to(&self, mac: Mac, to: Ipv4Addr) -> Option<Vec<u8>> {
        self.packet(mac, to, &Echo { is_request: true, id: 0, sequence: 0, data: b"" }).ok()
    }

    /// Clears the ARP cache.
    pub fn clear_arp_cache(&mut self) {
        self.known.clear();
    }

    /// Processes a frame. Malformed frames and frames for others are ignored.
    pub fn receive(&mut self, frame: &[u8]) -> GuestResponse {
        let Ok(frame) = Ethernet::read(frame) else { return GuestResponse::default() };
        if frame.to != self.mac && frame.to != Mac::BROADCAST {
            return GuestResponse::default();
        }
        match frame.of() {
            Some(EtherType::Arp) => GuestResponse { answer: self.receive_arp(frame.payload), echo: None },
            Some(EtherType::Ipv4) if frame.to == self.mac => self.receive_packet(frame.from, frame.payload),
            _ => GuestResponse::default(),
        }
    }

    fn receive_arp(&mut self, payload: &[u8]) -> Option<Vec<u8>> {
        let arp = Arp::read(payload).ok().filter(|arp| arp.target == self.address)?;
        if self.known.len() >= KNOWN && !self.known.contains_key(&arp.sender) {
            self.known.pop_first();
        }
        self.known.insert(arp.sender, arp.sender_mac);
        let answer = Arp {
            is_request: false,
            sender_mac: self.mac,
            sender: self.address,
            target_mac: arp.sender_mac,
            target: arp.sender,
        };
        arp.is_request
            .then(|| Ethernet::new(arp.sender_mac, self.mac, EtherType::Arp, &answer.bytes()).bytes())
    }

    fn receive_packet(&self, from: Mac, payload: &[u8]) -> GuestResponse {
        let packet = Ipv4::read(payload)
            .ok()
            .filter(|packet| packet.to == self.address && packet.protocol == Ipv4::ICMP);
        let Some(packet) = packet else { return GuestResponse::default() };
        match Echo::read(packet.payload) {
            Ok(echo) if echo.is_request => GuestResponse {
                answer: self.packet(from, packet.from, &Echo { is_request: false, ..echo }).ok(),
                echo: None,
            },
            Ok(echo) => GuestResponse { answer: None, echo: Some((packet.from, echo.id, echo.sequence)) },
            Err(_) => GuestResponse::default(),
        }
    }

    fn packet(&self, mac: Mac, to: Ipv4Addr, echo: &Echo<'_>) -> Result<Vec<u8>, Malformed> {
        let echo = echo.bytes();
        let packet = Ipv4 { from: self.address, to, ttl: TTL, protocol: Ipv4::ICMP, payload: &echo };
        Ok(Ethernet::new(mac, self.mac, EtherType::Ipv4, &packet.bytes()?).bytes())
    }
}
