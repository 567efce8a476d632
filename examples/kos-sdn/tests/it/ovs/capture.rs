//! Captures of the underlay.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use kos::drive::packet::{Arp, Ethernet, Ipv4};
use kos::plan::EtherType;
use rustix::process::{Pid, Signal, kill_process};

/// A running capture of an interface.
pub(super) struct Capture {
    child: Child,
    file: PathBuf,
}

/// A frame on the underlay.
#[derive(Debug, PartialEq)]
pub(super) enum UnderlayFrame {
    Arp { sender: Ipv4Addr, target: Ipv4Addr },
    Vxlan { vni: u32, from: Ipv4Addr, to: Ipv4Addr, inner: Vec<u8> },
    Other(Vec<u8>),
}

const UDP: u8 = 17;
const VXLAN: [u8; 2] = 4789_u16.to_be_bytes();

impl Capture {
    /// Starts a capture, and waits until it captures.
    pub(super) fn start(namespace: &str, interface: &str, folder: &Path) -> Self {
        let file = folder.join("underlay.pcap");
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", namespace, "tcpdump", "-Z", "root", "-U", "-s0", "-i", interface, "-w"]);
        let mut child = command.arg(&file).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let is_capturing = lines.map_while(Result::ok).any(|line| line.contains("listening on"));
        assert!(is_capturing, "tcpdump does not capture");
        Self { child, file }
    }

    /// Ends the capture, and returns its frames.
    pub(super) fn stop(mut self) -> Vec<UnderlayFrame> {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
        self.child.wait().unwrap();
        read(&fs::read(&self.file).unwrap())
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a file of `tcpdump`, in the byte order of this machine.
fn read(file: &[u8]) -> Vec<UnderlayFrame> {
    let mut rest = &file[24..];
    let mut frames = Vec::new();
    loop {
        let mut head = [0; 16];
        if rest.read_exact(&mut head).is_err() {
            return frames;
        }
        let length = usize::try_from(u32::from_ne_bytes(head[8..12].try_into().unwrap())).unwrap();
        frames.push(UnderlayFrame::of(&rest[..length]));
        rest = &rest[length..];
    }
}

impl UnderlayFrame {
    fn of(bytes: &[u8]) -> Self {
        let frame = Ethernet::read(bytes).unwrap();
        let known = match frame.of() {
            Some(EtherType::Arp) => {
                Arp::read(frame.payload).ok().map(|arp| Self::Arp { sender: arp.sender, target: arp.target })
            }
            Some(EtherType::Ipv4) => Ipv4::read(frame.payload).ok().and_then(|packet| Self::vxlan(&packet)),
            None => None,
        };
        known.unwrap_or_else(|| Self::Other(bytes.into()))
    }

    fn vxlan(packet: &Ipv4<'_>) -> Option<Self> {
        let (udp, payload) = packet.payload.split_at_checked(8)?;
        if packet.protocol != UDP || udp[2..4] != VXLAN {
            return None;
        }
        let (head, inner) = payload.split_at_checked(8)?;
        let vni = u32::from_be_bytes([0, head[4], head[5], head[6]]);
        Some(Self::Vxlan { vni, from: packet.from, to: packet.to, inner: inner.into() })
    }
}

/// Returns a frame with a VXLAN packet around a frame. It has no UDP checksum: Open vSwitch drops
/// packets with a wrong one, which would prove nothing.
pub(super) fn vxlan_frame(
    to: &Ethernet<'_>,
    addresses: (Ipv4Addr, Ipv4Addr),
    vni: u32,
    inner: &[u8],
) -> Vec<u8> {
    let length = u16::try_from(inner.len() + 16).unwrap().to_be_bytes();
    let [_, high, middle, low] = vni.to_be_bytes();
    let udp =
        [&[0xd4, 0x31], &VXLAN[..], &length, &[0, 0], &[8, 0, 0, 0, high, middle, low, 0], inner].concat();
    let packet = Ipv4 { from: addresses.0, to: addresses.1, ttl: 64, protocol: UDP, payload: &udp };
    Ethernet { payload: &packet.bytes().unwrap(), ..*to }.bytes()
}
