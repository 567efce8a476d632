//! Fuzzing of recovery: arbitrary bytes as the files of a store.

use machinery_objects::Revision;

use super::file_name::FileName;
use super::format::{FORMAT, FileKind, Header};
use super::frame::{self, FRAME, FrameKind};
use super::recover::recover;
use crate::faulty;
use crate::memory::FIRST;
use crate::options::Options;

/// A store in format 1.
const SAMPLE: &[(&str, &[u8])] = &[
    ("checkpoint-0000000000000029", include_bytes!("../../samples/v1/store/checkpoint-0000000000000029")),
    ("log-0000000000000002", include_bytes!("../../samples/v1/store/log-0000000000000002")),
    ("log-0000000000000003", include_bytes!("../../samples/v1/store/log-0000000000000003")),
];

/// Opens a store made of these bytes. It must not panic.
///
/// The first byte selects the mode. Even: the rest patches a valid store (file, two bytes of
/// offset, value), which checksums detect. Odd: the rest is the payload of a batch with valid
/// checksums.
pub fn recovery(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let disk = faulty::FaultyDisk::new();
    if choice % 2 == 0 {
        let mut files: Vec<_> = SAMPLE.iter().map(|(name, bytes)| (*name, bytes.to_vec())).collect();
        for patch in rest.chunks_exact(4) {
            let (_, bytes) = &mut files[usize::from(patch[0]) % SAMPLE.len()];
            let place = usize::from(u16::from_le_bytes([patch[1], patch[2]])) % bytes.len();
            bytes[place] = patch[3];
        }
        files.iter().for_each(|(name, bytes)| disk.put(name, bytes));
    } else {
        disk.put(&FileName::Log(1).to_string(), &log(rest));
    }
    // Either result is allowed, but a store that opened must open again.
    if recover(&disk, &Options::default()).is_ok() {
        recover(&disk, &Options::default()).expect("what was read once is read again");
    }
}

/// Returns a log with one batch.
fn log(payload: &[u8]) -> Vec<u8> {
    let (salt, from) = (7, FIRST.0);
    let header = Header { format: FORMAT, kind: FileKind::Log, salt, number: 1, from, count: from };
    let mut batch = vec![0; FRAME];
    batch.extend_from_slice(payload);
    frame::finish(&mut batch, FrameKind::Batch, Revision(from), salt, 0);
    let mut bytes = header.encode().to_vec();
    bytes.append(&mut batch);
    bytes.resize(bytes.len() + FRAME, 0);
    bytes
}
