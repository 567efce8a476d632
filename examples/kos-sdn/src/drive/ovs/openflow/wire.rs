//! Big-endian fields, consecutively written and read.

use std::net::Ipv4Addr;

use super::OpenFlowError;
use crate::plan::Mac;

/// Reads consecutive fields; every read past the end is an error.
#[derive(Clone, Debug)]
pub(super) struct WireReader<'a> {
    message: &'static str,
    rest: &'a [u8],
}

impl<'a> WireReader<'a> {
    /// Creates a reader of the bytes of a message, which errors name.
    pub(super) const fn new(message: &'static str, bytes: &'a [u8]) -> Self {
        Self { message, rest: bytes }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], OpenFlowError> {
        let Some((bytes, rest)) = self.rest.split_first_chunk::<N>() else { return Err(self.short(N)) };
        self.rest = rest;
        Ok(*bytes)
    }

    pub(super) fn bytes(&mut self, length: usize) -> Result<&'a [u8], OpenFlowError> {
        let Some((bytes, rest)) = self.rest.split_at_checked(length) else { return Err(self.short(length)) };
        self.rest = rest;
        Ok(bytes)
    }

    /// Reads a nested structure of a total length, of which `read` bytes were read already.
    pub(super) fn nested(&mut self, length: u16, read: usize) -> Result<Self, OpenFlowError> {
        let Some(length) = usize::from(length).checked_sub(read) else {
            return Err(self.fault(format!("a structure of {length} bytes is shorter than its head")));
        };
        Ok(Self { message: self.message, rest: self.bytes(length)? })
    }

    /// Skips the padding after a structure of this length to a multiple of eight.
    pub(super) fn skip_padding(&mut self, length: u16) -> Result<(), OpenFlowError> {
        let length = usize::from(length);
        self.bytes(length.next_multiple_of(8) - length).map(|_| ())
    }

    pub(super) fn u8(&mut self) -> Result<u8, OpenFlowError> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Result<u16, OpenFlowError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, OpenFlowError> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, OpenFlowError> {
        self.array().map(u64::from_be_bytes)
    }

    pub(super) fn mac(&mut self) -> Result<Mac, OpenFlowError> {
        self.array().map(Mac)
    }

    pub(super) fn address(&mut self) -> Result<Ipv4Addr, OpenFlowError> {
        self.array::<4>().map(Ipv4Addr::from)
    }

    pub(super) const fn fault(&self, reason: String) -> OpenFlowError {
        OpenFlowError::Malformed { message: self.message, reason }
    }

    fn short(&self, needs: usize) -> OpenFlowError {
        self.fault(format!("it ends {} bytes early", needs.saturating_sub(self.rest.len())))
    }
}

/// Appends zeroes up to a multiple of eight bytes after `start`.
pub(super) fn pad(out: &mut Vec<u8>, start: usize) {
    let length = out.len().saturating_sub(start);
    out.resize(start + length.next_multiple_of(8), 0);
}

/// Writes the length of the structure from `start` into its field at `start + offset`.
pub(super) fn set_length(out: &mut [u8], start: usize, offset: usize) {
    let length = out.len().saturating_sub(start);
    // All structures that are written have bounded lengths of some hundred bytes.
    let length = u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes();
    if let Some(field) = out.get_mut(start + offset..start + offset + 2) {
        field.copy_from_slice(&length);
    }
}
