//! The number of flows of a bridge, by OpenFlow table statistics: a request that costs the switch
//! nothing per flow, and no process.

use anyhow::{bail, ensure};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const VERSION: u8 = 6; // OpenFlow 1.5
const HELLO: u8 = 0;
const ECHO_REQUEST: u8 = 2;
const ECHO_REPLY: u8 = 3;
const MULTIPART_REQUEST: u8 = 18;
const MULTIPART_REPLY: u8 = 19;
/// The kind of multipart message with table statistics.
const TABLE: u16 = 3;
const MORE: u16 = 1;
const HEADER: usize = 8;
/// Bytes of a multipart message before its body.
const MULTIPART: usize = 16;
/// Bytes of the statistics of one table.
const ENTRY: usize = 24;
const TIMEOUT: Duration = Duration::from_secs(30);

/// A connection to the management socket of a bridge.
pub(super) struct TableStats(UnixStream);

impl TableStats {
    pub(super) fn new(mut stream: UnixStream) -> anyhow::Result<Self> {
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.write_all(&message(HELLO, &[]))?;
        Ok(Self(stream))
    }

    /// Returns the number of flows in all tables.
    pub(super) fn flows(&mut self) -> anyhow::Result<usize> {
        let mut body = TABLE.to_be_bytes().to_vec();
        body.extend([0; 6]);
        self.0.write_all(&message(MULTIPART_REQUEST, &body))?;
        let mut flows = 0;
        loop {
            let message_bytes = self.receive()?;
            match message_bytes.get(1) {
                Some(&MULTIPART_REPLY) => {
                    let (sum, is_last) = active(&message_bytes)?;
                    flows += sum;
                    if is_last {
                        return Ok(flows);
                    }
                }
                Some(&ECHO_REQUEST) => self.0.write_all(&message(ECHO_REPLY, &[]))?,
                Some(&HELLO) => {}
                other => bail!("the switch sent a message of type {other:?}"),
            }
        }
    }

    fn receive(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut header = [0; HEADER];
        self.0.read_exact(&mut header)?;
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        ensure!(length >= HEADER, "the switch sent a message of {length} bytes");
        let mut message_bytes = header.to_vec();
        message_bytes.resize(length, 0);
        self.0.read_exact(&mut message_bytes[HEADER..])?;
        Ok(message_bytes)
    }
}

/// Returns the active flows in a reply, and whether it is the last one.
fn active(reply: &[u8]) -> anyhow::Result<(usize, bool)> {
    ensure!(reply.len() >= MULTIPART, "the switch sent a short reply");
    let flags = u16::from_be_bytes([reply[10], reply[11]]);
    let counts = reply[MULTIPART..].chunks_exact(ENTRY);
    let sum = counts.map(|entry| u32::from_be_bytes([entry[4], entry[5], entry[6], entry[7]])).sum::<u32>();
    Ok((usize::try_from(sum)?, flags & MORE == 0))
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(HEADER + body.len()).unwrap_or(u16::MAX);
    let mut message = vec![VERSION, kind];
    message.extend(length.to_be_bytes());
    message.extend([0, 0, 0, 1]);
    message.extend(body);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_flows_of_all_tables_are_added() {
        let mut reply = vec![VERSION, MULTIPART_REPLY, 0, 64, 0, 0, 0, 1, 0, 3, 0, 1, 0, 0, 0, 0];
        for flows in [3_u32, 4] {
            reply.extend([0; 4]);
            reply.extend(flows.to_be_bytes());
            reply.extend([0; 16]);
        }
        assert_eq!(active(&reply).expect("it is whole"), (7, false));
        reply[11] = 0;
        assert_eq!(active(&reply).expect("it is whole"), (7, true));
        assert!(active(&reply[..10]).is_err());
    }

    #[test]
    fn messages_have_their_length_in_the_header() {
        assert_eq!(message(HELLO, &[]), [6, 0, 0, 8, 0, 0, 0, 1]);
        assert_eq!(message(ECHO_REPLY, &[7])[..4], [6, 3, 0, 9]);
    }
}
