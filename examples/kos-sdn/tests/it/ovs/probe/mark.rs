//! The mark in each frame of the probe.

use std::net::Ipv4Addr;

/// The mark of a frame: its sender, its kind and the attachment it is meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) kind: FrameKind,
    /// Number of the sending attachment.
    pub(crate) sender: u32,
    /// VNI of the sending attachment.
    pub(crate) vni: u32,
    /// VNI of the destination.
    pub(crate) to_vni: u32,
    /// Address of the destination.
    pub(crate) to: Ipv4Addr,
    /// Number of the frame.
    pub(crate) number: u32,
}

/// The kinds of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// To a MAC address and an address, from the attachment's own.
    Unicast,
    /// An ARP request.
    ArpRequest,
    /// To the broadcast addresses.
    Broadcast,
    /// With the source of another attachment.
    Forged,
}

const MAGIC: [u8; 8] = *b"KOSPROBE";
const KINDS: [FrameKind; 4] =
    [FrameKind::Unicast, FrameKind::ArpRequest, FrameKind::Broadcast, FrameKind::Forged];

impl Mark {
    /// The mark as bytes, part of a frame's payload.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let kind = KINDS.iter().position(|kind| *kind == self.kind).unwrap();
        let numbers =
            [u32::try_from(kind).unwrap(), self.sender, self.vni, self.to_vni, self.to.into(), self.number];
        let bytes = numbers.into_iter().flat_map(u32::to_be_bytes);
        MAGIC.into_iter().chain(bytes).collect()
    }

    /// Finds the mark in a frame, whatever surrounds it.
    pub(crate) fn find(frame: &[u8]) -> Option<Self> {
        let start = frame.windows(MAGIC.len()).position(|window| window == MAGIC)? + MAGIC.len();
        let number = |index: usize| {
            let at = start + index * 4;
            Some(u32::from_be_bytes(frame.get(at..at + 4)?.try_into().unwrap()))
        };
        Some(Self {
            kind: *KINDS.get(usize::try_from(number(0)?).unwrap())?,
            sender: number(1)?,
            vni: number(2)?,
            to_vni: number(3)?,
            to: number(4)?.into(),
            number: number(5)?,
        })
    }
}
